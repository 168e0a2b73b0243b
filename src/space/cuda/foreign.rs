//! Arrays that another library allocated on the GPU, and work in order with that of the library.

use super::array::CudaArray;
use super::device::Device;
use super::error::checked;
use super::pinned::PinnedPool;
use super::stream::Stream;
use super::{Cuda, Item};
use crate::{Error, Result};
use cudarc::driver::{result, sys};
use std::sync::Arc;

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
        checked(result::ctx::synchronize(), "work on the GPU")
    }

    /// Calls `work` with `len` items at a device address that another library allocated.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless the first and the last item are in memory of this GPU; the errors of `work`.
    ///
    /// # Safety
    /// All `len` items are in one allocation, which lives until the stream has done what `work` enqueued. Until then nothing else writes
    /// them, and nothing else reads them if `work` writes them. The array does not leave `work`, neither by a move nor by a swap.
    pub unsafe fn with_foreign<T: Item, R>(
        &self,
        address: u64,
        len: usize,
        work: impl FnOnce(&mut CudaArray<T>) -> Result<R>,
    ) -> Result<R> {
        self.check_foreign(address, len.saturating_mul(size_of::<T>()), align_of::<T>())?;
        work(&mut CudaArray::borrowed(&self.stream, address, len))
    }

    /// Refuses an address unless the driver knows memory of this GPU there and `bytes` further on.
    fn check_foreign(&self, address: u64, bytes: usize, alignment: usize) -> Result<()> {
        let Some(before_last) = bytes.checked_sub(1) else { return Ok(()) };
        self.device().bind()?;
        let here = self.device().info().ordinal as i32;
        let is_fine = match address.checked_add(before_last as u64) {
            Some(last) => gpu_of(address)? == Some(here) && gpu_of(last)? == Some(here),
            None => false,
        };
        if is_fine && address.is_multiple_of(alignment as u64) {
            return Ok(());
        }
        Err(Error::Invalid(format!("{bytes} bytes at address {address:#x}: expected aligned memory of GPU {here}")))
    }
}

/// Returns the number of the GPU whose memory is at an address. The context is current.
fn gpu_of(address: u64) -> Result<Option<i32>> {
    let mut ordinal = -1i32;
    let which = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    // SAFETY: writes one number; any address may be asked about.
    match unsafe { sys::cuPointerGetAttribute((&raw mut ordinal).cast(), which, address) } {
        sys::CUresult::CUDA_ERROR_INVALID_VALUE => Ok(None),
        other => checked(other.result(), "cuPointerGetAttribute").map(|()| Some(ordinal)),
    }
}
