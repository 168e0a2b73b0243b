//! An array on the host and its copy in the memory of a space. Only the side that is out of date is copied.
//!
//! ```text
//! modify_host    host newer      -> sync_device copies, 8 n bytes for f64
//! modify_device  device newer    -> sync_host copies
//! in step        neither newer   -> both do nothing
//! ```
//! A side that is out of date cannot be read, and a side cannot be modified while the other one is newer. On a host space both sides
//! are arrays of the host, so a forgotten copy shows there, too. Kokkos has the same under this name (Edwards, Trott, Sunderland 2014).

use super::{Array, ExecutionSpace, Item, MemorySpace, Slice, try_zeroed};
use crate::{Error, Result};

/// The side that holds changes which the other side lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newer {
    Neither,
    Host,
    Device,
}

/// An array on the host and in the memory of a space.
///
/// ```
/// use minifenl::space::{DualView, Serial};
///
/// let mut view = DualView::new(&Serial, vec![1.0, 2.0, 3.0])?;
/// view.modify_host()?[1] = 5.0;
/// // The space has the old values, and says so.
/// assert!(view.device().is_err() && view.modify_device().is_err());
/// assert!(view.sync_device()? && !view.sync_device()?);
/// view.modify_device()?[0] = 7.0;
/// assert!(view.sync_host()?);
/// assert_eq!(view.host()?, [7.0, 5.0, 3.0]);
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Debug)]
pub struct DualView<T: Item, S: ExecutionSpace> {
    space: S,
    host: Vec<T>,
    device: Array<S, T>,
    newer: Newer,
}

impl<T: Item, S: ExecutionSpace> DualView<T, S> {
    /// Copies an array of the host to the space.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the space lacks the memory.
    pub fn new(space: &S, host: Vec<T>) -> Result<Self> {
        let device = space.upload(&host)?;
        Ok(DualView { space: space.clone(), host, device, newer: Newer::Neither })
    }

    /// Makes `len` zeros on both sides.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when either side lacks the memory.
    pub fn zeros(space: &S, len: usize) -> Result<Self> {
        let (host, device) = (try_zeroed("the host's side of a DualView", len)?, space.zeros(len)?);
        Ok(DualView { space: space.clone(), host, device, newer: Newer::Neither })
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.host.len()
    }

    /// Returns true if there are no items.
    pub fn is_empty(&self) -> bool {
        self.host.is_empty()
    }

    /// Returns true if the space holds changes that the host lacks.
    pub fn needs_sync_host(&self) -> bool {
        self.newer == Newer::Device
    }

    /// Returns true if the host holds changes that the space lacks.
    pub fn needs_sync_device(&self) -> bool {
        self.newer == Newer::Host
    }

    /// Returns the host's side.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the space's side is newer.
    pub fn host(&self) -> Result<&[T]> {
        self.check("host", Newer::Device).map(|()| &self.host[..])
    }

    /// Returns the space's side.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the host's side is newer.
    pub fn device(&self) -> Result<&Slice<S, T>> {
        self.check("device", Newer::Host).map(|()| S::Memory::slice(&self.device))
    }

    /// Returns the host's side, writable, and marks it as newer.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the space's side is newer: both would be modified.
    pub fn modify_host(&mut self) -> Result<&mut [T]> {
        self.check("modify_host", Newer::Device)?;
        self.newer = Newer::Host;
        Ok(&mut self.host)
    }

    /// Returns the space's side, writable, and marks it as newer.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the host's side is newer: both would be modified.
    pub fn modify_device(&mut self) -> Result<&mut Slice<S, T>> {
        self.check("modify_device", Newer::Host)?;
        self.newer = Newer::Device;
        Ok(S::Memory::slice_mut(&mut self.device))
    }

    /// Copies the device's data to the host if newer; returns whether it did. Waits for the kernels that write it.
    ///
    /// # Errors
    /// A failure of the device, if there is one; the host's side then stays out of date.
    pub fn sync_host(&mut self) -> Result<bool> {
        let is_stale = self.needs_sync_host();
        if is_stale {
            self.space.read(&self.device, &mut self.host)?;
            self.newer = Newer::Neither;
        }
        Ok(is_stale)
    }

    /// Copies the host's data to the device if newer; returns whether it did. Later kernels of the space see the
    /// copy.
    ///
    /// # Errors
    /// A failure of the device, if there is one; the space's side then stays out of date.
    pub fn sync_device(&mut self) -> Result<bool> {
        let is_stale = self.needs_sync_device();
        if is_stale {
            self.space.overwrite(&self.host, &mut self.device)?;
            self.newer = Newer::Neither;
        }
        Ok(is_stale)
    }

    /// Refuses access to a side while the other one is `newer`.
    fn check(&self, operation: &str, newer: Newer) -> Result<()> {
        if self.newer != newer {
            return Ok(());
        }
        let (side, copy) = match newer {
            Newer::Device => (self.space.label(), "sync_host"),
            _ => ("the host".into(), "sync_device"),
        };
        Err(Error::Invalid(format!(
            "DualView::{operation}: {side} holds changes that are not copied; expected {copy} before"
        )))
    }
}
