//! Streams of one GPU side by side, with copies from and to page-locked memory.

use super::error::checked;
use super::pinned::{Pinned, PinnedPool};
use super::stream::{Event, Stream};
use super::{Cuda, CudaArray, DeviceView, DeviceViewMut};
use crate::error::check_at_least;
use crate::space::{Item, Streams};
use crate::{Error, Result};
use cudarc::driver::result;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// An array in page-locked host memory, which goes back to the pool of its space.
#[derive(Debug)]
pub struct PinnedArray<T: Item> {
    buffer: Option<Pinned>,
    pool: Arc<PinnedPool>,
    /// The stream of the last copy.
    stream: Arc<Stream>,
    len: usize,
    items: PhantomData<T>,
}

impl<T: Item> Deref for PinnedArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.buffer.as_ref().map_or(&[], |buffer| buffer.items(self.len))
    }
}

impl<T: Item> DerefMut for PinnedArray<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.buffer.as_mut().map_or(&mut [], |buffer| buffer.as_slice(self.len))
    }
}

impl<T: Item> Drop for PinnedArray<T> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            // A buffer that cannot be given back waits for its copies and is freed.
            let _ = self.pool.give(buffer, &self.stream);
        }
    }
}

/// A copy between page-locked memory and an array.
#[derive(Debug)]
pub struct Copying<T: Item> {
    host: PinnedArray<T>,
    arrived: Event,
}

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
}

impl Streams for Cuda {
    type Staging<T: Item> = PinnedArray<T>;
    type Copying<T: Item> = Copying<T>;

    fn fork(&self) -> Result<Self> {
        Self::on(Arc::new(Stream::new(self.stream.device.clone())?), self.pinned.clone())
    }

    fn staging<T: Item>(&self, len: usize) -> Result<PinnedArray<T>> {
        let buffer = Some(self.pinned.take(len * size_of::<T>())?);
        let (pool, stream) = (self.pinned.clone(), self.stream.clone());
        let mut array = PinnedArray { buffer, pool, stream, len, items: PhantomData };
        array.fill(T::default());
        Ok(array)
    }

    fn begin_upload<T: Item>(&self, mut from: PinnedArray<T>, to: &mut CudaArray<T>) -> Result<Copying<T>> {
        check_at_least("begin_upload", "to", to.len(), from.len())?;
        self.check_own("begin_upload", to)?;
        from.stream = self.stream.clone();
        if !from.is_empty() {
            // SAFETY: inside the array, as checked; the copy holds the host memory until it is done.
            let done = unsafe { result::memcpy_htod_async(to.address(), &from, self.stream.handle) };
            checked(done, "cuMemcpyHtoDAsync")?;
        }
        Ok(Copying { arrived: self.record()?, host: from })
    }

    fn begin_download<T: Item>(&self, from: &CudaArray<T>, mut to: PinnedArray<T>) -> Result<Copying<T>> {
        check_at_least("begin_download", "from", from.len(), to.len())?;
        self.check_own("begin_download", from)?;
        to.stream = self.stream.clone();
        if !to.is_empty() {
            // SAFETY: as above.
            let done = unsafe { result::memcpy_dtoh_async(&mut to, from.address(), self.stream.handle) };
            checked(done, "cuMemcpyDtoHAsync")?;
        }
        Ok(Copying { arrived: self.record()?, host: to })
    }

    fn finish<T: Item>(&self, copying: Copying<T>) -> Result<PinnedArray<T>> {
        copying.arrived.wait()?;
        Ok(copying.host)
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
