//! Streams of one GPU side by side, with copies from and to page-locked memory.

use super::error::checked;
use super::pinned::{Copying, PinnedArray};
use super::stream::Stream;
use super::{Cuda, CudaArray, DeviceView, DeviceViewMut};
use crate::error::check_at_least;
use crate::space::{Item, Streams};
use crate::{Error, Result};
use cudarc::driver::result;
use std::sync::Arc;

impl Cuda {
    /// Refuses an array of another stream, which may free it earlier, and binds the context.
    fn check_own<T: Item>(&self, operation: &str, array: &CudaArray<T>) -> Result<()> {
        if !array.is_of(&self.stream) {
            return Err(Error::Invalid(format!("{operation}: an array of another space: expected one of this stream")));
        }
        // A replay would copy to and from memory that has another owner by then.
        if self.stream.is_capturing()? {
            return Err(Error::Invalid(format!("{operation}: within `repeat`: expected outside")));
        }
        self.device().bind()
    }

    /// Starts to copy an array from item `first` on to host memory. The context is current.
    pub(super) fn begin_copy<T: Item>(
        &self,
        from: &CudaArray<T>,
        first: usize,
        mut to: PinnedArray<T>,
    ) -> Result<Copying<T>> {
        check_at_least("copy to the host", "from", from.len(), first + to.len())?;
        let mut copied = Ok(());
        if !to.is_empty() {
            let from = from.address() + (first * size_of::<T>()) as u64;
            // SAFETY: inside the array, as checked; the copy holds the host memory until the mark behind it has passed.
            copied = unsafe { result::memcpy_dtoh_async(&mut to, from, self.stream.handle) };
        }
        let marked = to.mark(&self.stream);
        checked(copied, "cuMemcpyDtoHAsync")?;
        marked?;
        Ok(Copying(to))
    }
}

impl Streams for Cuda {
    type Staging<T: Item> = PinnedArray<T>;
    type Copying<T: Item> = Copying<T>;

    fn fork(&self) -> Result<Self> {
        Self::on(Arc::new(Stream::new(self.stream.device.clone())?), self.pinned.clone())
    }

    fn staging<T: Item>(&self, len: usize) -> Result<PinnedArray<T>> {
        let mut array = PinnedArray::unfilled(&self.pinned, len)?;
        array.fill(T::default());
        Ok(array)
    }

    fn begin_upload<T: Item>(&self, mut from: PinnedArray<T>, to: &mut CudaArray<T>) -> Result<Copying<T>> {
        check_at_least("begin_upload", "to", to.len(), from.len())?;
        self.check_own("begin_upload", to)?;
        let mut copied = Ok(());
        if !from.is_empty() {
            // SAFETY: as above.
            copied = unsafe { result::memcpy_htod_async(to.address(), &from, self.stream.handle) };
        }
        let marked = from.mark(&self.stream);
        checked(copied, "cuMemcpyHtoDAsync")?;
        marked?;
        Ok(Copying(from))
    }

    fn begin_download<T: Item>(&self, from: &CudaArray<T>, to: PinnedArray<T>) -> Result<Copying<T>> {
        check_at_least("begin_download", "from", from.len(), to.len())?;
        self.check_own("begin_download", from)?;
        self.begin_copy(from, 0, to)
    }

    fn finish<T: Item>(&self, copying: Copying<T>) -> Result<PinnedArray<T>> {
        copying.0.wait()?;
        Ok(copying.0)
    }

    fn is_done(&self) -> Result<bool> {
        self.stream.is_done()
    }

    fn remap<T: Item, const R: usize>(
        &self,
        from: &DeviceView<'_, T, R>,
        to: &mut DeviceViewMut<'_, T, R>,
    ) -> Result<()> {
        self.copy_view(from, to)
    }
}
