//! Arrays in device memory. Allocation and release are stream-ordered: they take effect in the order of the stream's work.

use super::error::{checked, failed};
use super::stream::Stream;
use crate::faults::{self, Kind};
use crate::space::Item;
use crate::{Error, Result};
use cudarc::driver::{result, sys};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// An owned array of `T` in device memory. Its memory is freed after the work that its stream holds at the time of the drop.
pub struct CudaArray<T: Item> {
    stream: Arc<Stream>,
    pointer: sys::CUdeviceptr,
    len: usize,
    /// Items that its memory holds.
    capacity: usize,
    /// Whether another library owns the memory.
    is_borrowed: bool,
    items: PhantomData<T>,
}

impl<T: Item> CudaArray<T> {
    /// Allocates memory with arbitrary content. The caller writes it before a kernel reads it.
    pub(super) fn unfilled(stream: &Arc<Stream>, len: usize) -> Result<Self> {
        stream.device.bind()?;
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| too_large(stream, usize::MAX))?;
        if faults::fails(Kind::Driver, "cuMemAllocAsync") {
            return Err(too_large(stream, bytes));
        }
        // SAFETY: the stream lives; `drop` frees the memory on the same stream. (The driver refuses 0 bytes.)
        let pointer = unsafe { result::malloc_async(stream.handle, bytes.max(1)) };
        let pointer = pointer.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => too_large(stream, bytes),
            _ => failed(error, "cuMemAllocAsync"),
        })?;
        Ok(CudaArray { stream: stream.clone(), pointer, len, capacity: len, is_borrowed: false, items: PhantomData })
    }

    /// Takes memory of another library, which stays that library's.
    pub(super) fn borrowed(stream: &Arc<Stream>, pointer: sys::CUdeviceptr, len: usize) -> Self {
        CudaArray { stream: stream.clone(), pointer, len, capacity: len, is_borrowed: true, items: PhantomData }
    }

    pub(super) fn zeros(stream: &Arc<Stream>, len: usize) -> Result<Self> {
        let mut array = Self::unfilled(stream, len)?;
        array.fill_bytes(stream, 0)?;
        Ok(array)
    }

    /// Sets every byte. The context is current.
    pub(super) fn fill_bytes(&mut self, stream: &Stream, byte: u8) -> Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        // SAFETY: inside the array; any bytes are a number, and the zero of an `Item` is all zero bytes.
        checked(unsafe { result::memset_d8_async(self.pointer, byte, self.bytes(), stream.handle) }, "cuMemsetD8Async")
    }

    /// Copies the first `count` items of an array; both have as many. The context is current.
    pub(super) fn copy(&mut self, stream: &Stream, from: &Self, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        assert!(count <= self.len.min(from.len));
        // SAFETY: both arrays are long enough, as asserted.
        checked(
            unsafe { result::memcpy_dtod_async(self.pointer, from.pointer, count * size_of::<T>(), stream.handle) },
            "cuMemcpyDtoDAsync",
        )
    }

    /// Copies the array on the device, after the work enqueued so far.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available, [`Error::Device`] when the GPU fails.
    pub fn try_clone(&self) -> Result<Self> {
        let mut array = Self::unfilled(&self.stream, self.len)?;
        array.copy(&self.stream, self, self.len)?;
        Ok(array)
    }

    /// Returns whether the array was allocated on this stream, which will free it.
    pub(super) fn is_of(&self, stream: &Arc<Stream>) -> bool {
        Arc::ptr_eq(&self.stream, stream)
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the array has no items.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Drops the items from `len` on. The array keeps their memory.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Copies a truncated array to one without the memory of the dropped items.
    pub(crate) fn exact(self) -> Result<Self> {
        if self.len == self.capacity { Ok(self) } else { self.try_clone() }
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Returns the device address, for calls of other libraries. Kernels and copies that use it belong on the array's stream.
    pub fn address(&self) -> u64 {
        self.pointer
    }
}

fn too_large(stream: &Stream, bytes: usize) -> Error {
    let free = stream.device.memory().map_or(0, |(free, _)| free);
    let what = format!("an array on {}", stream.device.info().name);
    Error::OutOfMemory { rank: None, stage: None, what, wanted: bytes as u64, free }
}

impl<T: Item> fmt::Debug for CudaArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaArray<{}>[{}] on {:?}", std::any::type_name::<T>(), self.len, self.stream.device)
    }
}

impl<T: Item> Drop for CudaArray<T> {
    fn drop(&mut self) {
        if !self.is_borrowed && self.stream.device.bind().is_ok() {
            // SAFETY: `unfilled` allocated it on this stream.
            let _ = unsafe { result::free_async(self.pointer, self.stream.handle) };
        }
    }
}
