//! Arrays in device memory, allocated and freed in the order of their stream.

use super::error::OrDevice;
use super::stream::Stream;
use crate::space::Item;
use crate::{Error, Result};
use cudarc::driver::{result, sys};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// An owned array of `T` in the memory of a GPU. Freed when the work queued on its stream is done.
pub struct CudaArray<T: Item> {
    stream: Arc<Stream>,
    pointer: sys::CUdeviceptr,
    len: usize,
    items: PhantomData<T>,
}

impl<T: Item> CudaArray<T> {
    /// Memory with arbitrary content; the caller writes it before anything reads it.
    pub(super) fn unfilled(stream: &Arc<Stream>, len: usize) -> Result<Self> {
        stream.device.bind()?;
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| too_large(stream, usize::MAX))?;
        // SAFETY: the stream lives; the memory is freed in `drop`, on the same stream. (The driver refuses 0 bytes.)
        let pointer = unsafe { result::malloc_async(stream.handle, bytes.max(1)) };
        let pointer = pointer.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => too_large(stream, bytes),
            _ => Err::<(), _>(error).or_device("cuMemAllocAsync").unwrap_err(),
        })?;
        Ok(CudaArray { stream: stream.clone(), pointer, len, items: PhantomData })
    }

    pub(super) fn zeros(stream: &Arc<Stream>, len: usize) -> Result<Self> {
        let array = Self::unfilled(stream, len)?;
        if len > 0 {
            // SAFETY: inside the array; `Item`s are numbers, for which zero bytes are zero.
            unsafe { result::memset_d8_async(array.pointer, 0, array.bytes(), stream.handle) }
                .or_device("cuMemsetD8Async")?;
        }
        Ok(array)
    }

    pub(super) fn copied(&self, stream: &Arc<Stream>) -> Result<Self> {
        let array = Self::unfilled(stream, self.len)?;
        if self.len > 0 {
            // SAFETY: both arrays are as long.
            unsafe { result::memcpy_dtod_async(array.pointer, self.pointer, self.bytes(), stream.handle) }
                .or_device("cuMemcpyDtoDAsync")?;
        }
        Ok(array)
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets the items from `len` on; their memory stays with the array.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Address on the device, for other libraries' calls; kernels and copies that use it go on the array's stream.
    pub fn address(&self) -> u64 {
        self.pointer
    }
}

fn too_large(stream: &Stream, bytes: usize) -> Error {
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    let limit = stream.device.memory().map_or("unknown".into(), |(free, total)| {
        format!("{} free of {} on {}", mib(free), mib(total), stream.device.info().name)
    });
    Error::TooLarge { what: "an array on the GPU".into(), needed: mib(bytes as u64), limit }
}

impl<T: Item> fmt::Debug for CudaArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaArray<{}>[{}] on {:?}", std::any::type_name::<T>(), self.len, self.stream.device)
    }
}

impl<T: Item> Clone for CudaArray<T> {
    /// Copies on the device.
    ///
    /// # Panics
    /// Where the memory cannot be had, as a `Vec` aborts.
    fn clone(&self) -> Self {
        self.copied(&self.stream).expect("memory for a copy of an array on the GPU")
    }
}

impl<T: Item> Drop for CudaArray<T> {
    fn drop(&mut self) {
        if self.stream.device.bind().is_ok() {
            // SAFETY: allocated by `unfilled` on this stream.
            let _ = unsafe { result::free_async(self.pointer, self.stream.handle) };
        }
    }
}
