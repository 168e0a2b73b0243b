//! A pool of page-locked host buffers for asynchronous copies.

use super::device::Device;
use super::error::{before, checked, made};
use super::stream::{Event, Stream};
use crate::Result;
use crate::space::Item;
use cudarc::driver::result;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Buffers for reuse. A caller takes a buffer ([`PinnedArray`]), enqueues copies on one stream, and gives it back; an event marks the
/// last copy.
#[derive(Debug)]
pub(super) struct PinnedPool {
    device: Arc<Device>,
    free: Mutex<Vec<Pinned>>,
}

/// One buffer.
#[derive(Debug)]
struct Pinned {
    device: Arc<Device>,
    pointer: *mut c_void,
    bytes: usize,
    last_use: Option<Event>,
}

// SAFETY: plain memory with one owner at a time.
unsafe impl Send for Pinned {}

/// Bytes of all buffers of this process.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Returns the bytes of page-locked memory that this process holds for copies.
pub fn pinned_bytes() -> usize {
    HELD.load(Relaxed)
}

/// Bytes per piece of a long copy.
pub(super) const PIECE: usize = 8 << 20;

impl PinnedPool {
    /// An empty pool.
    pub fn new(device: Arc<Device>) -> Self {
        PinnedPool { device, free: Mutex::default() }
    }

    /// Returns a buffer of at least `bytes` bytes that no copy uses.
    fn take(&self, bytes: usize) -> Result<Pinned> {
        let wanted = bytes.next_power_of_two().max(4096);
        let mut free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let idle = |buffer: &Pinned| buffer.last_use.as_ref().is_none_or(|event| event.is_passed().unwrap_or(true));
        if let Some(at) = free.iter().position(|buffer| buffer.bytes == wanted && idle(buffer)) {
            return Ok(free.swap_remove(at));
        }
        // Two pieces in flight overlap copying to the buffer with copying to the GPU; more would only use memory.
        let busy = free.iter().filter(|buffer| buffer.bytes == wanted).count();
        if wanted >= PIECE
            && busy >= 2
            && let Some(at) = free.iter().position(|buffer| buffer.bytes == wanted)
        {
            let buffer = free.remove(at);
            drop(free);
            buffer.last_use.as_ref().map_or(Ok(()), Event::wait)?;
            return Ok(buffer);
        }
        self.device.bind()?;
        before("cuMemHostAlloc")?;
        // SAFETY: `drop` frees it. No flags: memory that the CPU caches, since it reads what the GPU wrote.
        let pointer = made(unsafe { result::malloc_host(wanted, 0) }, "cuMemHostAlloc")?;
        HELD.fetch_add(wanted, Relaxed);
        Ok(Pinned { device: self.device.clone(), pointer, bytes: wanted, last_use: None })
    }

    /// Gives a buffer back, which was marked behind its last copy.
    fn put(&self, buffer: Pinned) {
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(buffer);
    }
}

impl Drop for Pinned {
    /// Frees the buffer with its pool, or on the way out after a failure, when a copy that no event marks may still use it.
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // Not the whole context if it can be avoided: that would end the recordings of other threads.
            let _ = match self.last_use.take() {
                Some(event) => event.wait(),
                None => checked(result::ctx::synchronize(), "kernels on the GPU"),
            };
            // SAFETY: `take` allocated it, and no copy uses it any more.
            let _ = unsafe { result::free_host(self.pointer) };
            HELD.fetch_sub(self.bytes, Relaxed);
        }
    }
}

/// A copy between page-locked memory and an array.
#[derive(Debug)]
pub struct Copying<T: Item>(pub(super) PinnedArray<T>);

/// An array in page-locked host memory, which goes back to the pool of its space.
#[derive(Debug)]
pub struct PinnedArray<T: Item> {
    buffer: Option<Pinned>,
    pool: Arc<PinnedPool>,
    len: usize,
    items: PhantomData<T>,
}

impl<T: Item> PinnedArray<T> {
    /// Takes an array with arbitrary content.
    pub(super) fn unfilled(pool: &Arc<PinnedPool>, len: usize) -> Result<Self> {
        let buffer = Some(pool.take(len * size_of::<T>())?);
        Ok(PinnedArray { buffer, pool: pool.clone(), len, items: PhantomData })
    }

    /// Marks the last copy of the array, which a stream holds, also one that failed: part of it may have been enqueued.
    pub(super) fn mark(&mut self, stream: &Stream) -> Result<()> {
        // A buffer that cannot be marked waits for its copies and is freed.
        let Some(mut buffer) = self.buffer.take() else { return Ok(()) };
        let event = buffer.last_use.take().map_or_else(|| Event::new(&stream.device), Ok)?;
        event.record(stream)?;
        buffer.last_use = Some(event);
        self.buffer = Some(buffer);
        Ok(())
    }

    /// Waits for the last copy.
    pub(super) fn wait(&self) -> Result<()> {
        let last_use = self.buffer.as_ref().and_then(|buffer| buffer.last_use.as_ref());
        last_use.map_or(Ok(()), Event::wait)
    }
}

impl<T: Item> Deref for PinnedArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let Some(buffer) = &self.buffer else { return &[] };
        assert!(self.len * size_of::<T>() <= buffer.bytes);
        // SAFETY: long enough (asserted), page-aligned, owned; any bytes are an `Item`.
        unsafe { std::slice::from_raw_parts(buffer.pointer.cast(), self.len) }
    }
}

impl<T: Item> DerefMut for PinnedArray<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let Some(buffer) = &mut self.buffer else { return &mut [] };
        assert!(self.len * size_of::<T>() <= buffer.bytes);
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(buffer.pointer.cast(), self.len) }
    }
}

impl<T: Item> Drop for PinnedArray<T> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.pool.put(buffer);
        }
    }
}
