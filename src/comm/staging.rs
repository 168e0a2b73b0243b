//! Values of a space on their way to and from the messages of the host: the contract, and host spaces.
//!
//! MPI sends host memory. A host space packs straight into the message; a device packs on the device and copies through
//! page-locked memory, 8 bytes per value each way over the bus.

use crate::blas::{Blas, Reductions};
use crate::error::check_at_least;
use crate::space::{HostSpace, Slice};
use crate::{LocalOrdinal, Result};
use std::ops::Range;

/// A space whose values can be sent by a host transport.
pub trait Staging: Blas {
    /// Local indices of the values to send, and a device's buffer for them.
    type SendList: std::fmt::Debug;

    /// Whether packing and unpacking work without the host, so that they may be part of recorded work ([`repeat`](crate::space::ExecutionSpace::repeat)).
    const IS_RECORDABLE: bool;

    /// Prepares to send the values at the local indices `send`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    fn send_list(&self, send: Vec<LocalOrdinal>) -> Result<Self::SendList>;

    /// `message[k] = x[send[k]]`; returns when the message may be sent.
    ///
    /// # Errors
    /// A device's failure.
    fn pack(&self, list: &mut Self::SendList, x: &Slice<Self, f64>, message: &mut [f64]) -> Result<()>;

    /// `x[first + k] = message[k]`; returns when the message may be overwritten.
    ///
    /// # Errors
    /// A device's failure.
    fn unpack(&self, message: &[f64], first: usize, x: &mut Slice<Self, f64>) -> Result<()>;

    /// Replaces `sums.scalars[slots]` by `change` of them, unless `sums` is stopped.
    ///
    /// # Errors
    /// A device's failure.
    fn change_scalars(
        &self,
        sums: &mut Reductions<Self>,
        slots: Range<usize>,
        change: &mut dyn FnMut(&mut [f64]),
    ) -> Result<()>;

    /// Length of a vector in this space.
    fn vector_len(x: &Slice<Self, f64>) -> usize;
}

/// The memory of host spaces is what the transport sends.
impl<S: HostSpace> Staging for S {
    type SendList = Vec<LocalOrdinal>;

    /// A host's "recording" is the work itself.
    const IS_RECORDABLE: bool = true;

    fn send_list(&self, send: Vec<LocalOrdinal>) -> Result<Vec<LocalOrdinal>> {
        Ok(send)
    }

    fn pack(&self, list: &mut Vec<LocalOrdinal>, x: &[f64], message: &mut [f64]) -> Result<()> {
        message.iter_mut().zip(list).for_each(|(value, &mut index)| *value = x[index as usize]);
        Ok(())
    }

    fn unpack(&self, message: &[f64], first: usize, x: &mut [f64]) -> Result<()> {
        x[first..first + message.len()].copy_from_slice(message);
        Ok(())
    }

    fn change_scalars(
        &self,
        sums: &mut Reductions<S>,
        slots: Range<usize>,
        change: &mut dyn FnMut(&mut [f64]),
    ) -> Result<()> {
        // All ranks hold the same state, so either all of them skip the all-reduce or none does.
        if !sums.is_stopped()? {
            check_at_least("change_scalars", "scalars", sums.scalars.len(), slots.end)?;
            change(&mut sums.scalars[slots]);
        }
        Ok(())
    }

    fn vector_len(x: &[f64]) -> usize {
        x.len()
    }
}
