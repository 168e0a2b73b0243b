//! Arrays that another library allocated on the GPU, and work in order with that of the library.

use super::array::CudaArray;
use super::device::Device;
use super::error::OrDevice;
use super::pinned::PinnedPool;
use super::stream::Stream;
use super::{Cuda, Item};
use crate::{Error, Result};
use cudarc::driver::{result, sys};
use std::sync::Arc;
use sys::CUpointer_attribute as Attribute;

impl Cuda {
    /// Returns the default stream of GPU `ordinal`. Its work is in order with that of other libraries, except on streams that they made
    /// non-blocking. It takes no part in a [`Recording`](super::Recording).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn on_default_stream(ordinal: usize) -> Result<Self> {
        let stream = Arc::new(Stream::default_of(Device::get(ordinal)?));
        let pinned = Arc::new(PinnedPool::new(stream.device.clone()));
        Self::on(stream, pinned)
    }

    /// Waits for all work of this process on the GPU, that of other libraries included.
    ///
    /// # Errors
    /// [`Error::Device`] if the work failed.
    pub fn fence_all(&self) -> Result<()> {
        self.device().bind()?;
        result::ctx::synchronize().or_device("work on the GPU")
    }

    /// Calls `work` with `len` items at a device address that another library allocated. The caller keeps them allocated until their
    /// stream has done the work; the array must not leave `work`.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless one allocation on this GPU holds all items; the errors of `work`.
    pub fn with_foreign<T: Item, R>(
        &self,
        address: u64,
        len: usize,
        work: impl FnOnce(&mut CudaArray<T>) -> Result<R>,
    ) -> Result<R> {
        self.check_foreign(address, len.saturating_mul(size_of::<T>()), align_of::<T>())?;
        work(&mut CudaArray::borrowed(&self.stream, address, len))
    }

    /// Refuses an address unless the driver knows an allocation on this GPU that has so many bytes from there on.
    fn check_foreign(&self, address: u64, bytes: usize, alignment: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.device().bind()?;
        let (mut ordinal, mut start, mut size) = (-1i32, 0u64, 0usize);
        let mut which = [
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        ];
        let mut found = [(&raw mut ordinal).cast(), (&raw mut start).cast(), (&raw mut size).cast()];
        // SAFETY: writes three numbers of the attributes' types; any address may be asked about.
        unsafe { sys::cuPointerGetAttributes(3, which.as_mut_ptr(), found.as_mut_ptr(), address) }
            .or_device("cuPointerGetAttributes")?;
        let is_inside =
            address >= start && (address - start).checked_add(bytes as u64).is_some_and(|end| end <= size as u64);
        let is_here = ordinal == self.device().info().ordinal as i32;
        if is_here && is_inside && address.is_multiple_of(alignment as u64) {
            return Ok(());
        }
        let what = format!("{bytes} bytes at address {address:#x}");
        Err(Error::Invalid(format!("{what}: expected aligned memory of GPU {}", self.device().info().ordinal)))
    }
}
