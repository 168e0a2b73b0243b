//! Memory of other processes' GPUs (CUDA IPC), and host words that kernels write.
//!
//! ```text
//! owner     Window          device memory that another process may map; the handle travels to it as 64 bytes
//! neighbour Mapped          the same memory at an address of this process, over NVLink or PCIe
//! host      HostWord        page-locked words that kernels write and the host reads without a call
//! ```
//! The driver wants every mapping closed before its memory is freed, and a process cannot know when its neighbours have done so.
//! Windows are therefore never freed while the process lives: a dropped window is kept and used again.

use super::Cuda;
use super::device::Device;
use super::error::{before, checked, made};
use super::stream::Stream;
use crate::{Error, Result};
use cudarc::driver::{result, sys};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Bytes of a handle.
pub(crate) const HANDLE: usize = 64;
/// Windows are multiples of that many bytes, so that no other data shares their pages.
const PAGE: usize = 2 << 20;

/// Device memory that other processes of this host can map. Zero at first.
#[derive(Debug)]
pub(crate) struct Window {
    device: Arc<Device>,
    pointer: sys::CUdeviceptr,
    bytes: usize,
}

/// Dropped windows: GPU, address, bytes. They keep the GPU's context, in which the addresses are valid.
static KEPT: Mutex<Vec<(Arc<Device>, sys::CUdeviceptr, usize)>> = Mutex::new(Vec::new());

impl Window {
    /// Allocates at least `bytes` bytes and clears them. Waits for the GPU.
    pub fn new(space: &Cuda, bytes: usize) -> Result<Self> {
        let device = space.device().clone();
        device.bind()?;
        let bytes = bytes.max(1).next_multiple_of(PAGE);
        let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let found = kept.iter().position(|(other, _, size)| Arc::ptr_eq(other, &device) && *size == bytes);
        let pointer = match found {
            Some(at) => kept.swap_remove(at).1,
            None => {
                before("cuMemAlloc")?;
                // SAFETY: never freed, see above.
                unsafe { result::malloc_sync(bytes) }.map_err(|error| match error.0 {
                    sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory {
                        rank: None,
                        stage: None,
                        what: format!("a window for other GPUs on {}", device.info().name),
                        wanted: bytes as u64,
                        free: device.memory().map_or(0, |(free, _)| free),
                    },
                    _ => super::error::failed(error, "cuMemAlloc"),
                })?
            }
        };
        // Dropped windows are locked again where the window is dropped.
        drop(kept);
        let window = Window { device, pointer, bytes };
        // SAFETY: inside the allocation; nothing uses it yet.
        checked(unsafe { result::memset_d8_sync(pointer, 0, bytes) }, "cuMemsetD8")?;
        Ok(window)
    }

    /// Returns the address in this process.
    pub fn address(&self) -> u64 {
        self.pointer
    }

    /// Returns the handle by which another process maps the window.
    pub fn handle(&self) -> Result<[u8; HANDLE]> {
        self.device.bind()?;
        let mut handle = sys::CUipcMemHandle { reserved: [0; HANDLE] };
        before("cuIpcGetMemHandle")?;
        // SAFETY: the base of an allocation of cuMemAlloc; the handle is a plain struct.
        made(unsafe { sys::cuIpcGetMemHandle(&mut handle, self.pointer) }.result(), "cuIpcGetMemHandle")?;
        Ok(handle.reserved.map(|byte| byte as u8))
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.push((self.device.clone(), self.pointer, self.bytes));
    }
}

/// A window of another process at an address of this one.
#[derive(Debug)]
pub(crate) struct Mapped {
    stream: Arc<Stream>,
    pointer: sys::CUdeviceptr,
}

impl Mapped {
    /// Maps a window of another process.
    ///
    /// # Errors
    /// [`Error::Device`] if the GPUs cannot reach each other, or if the owner is a process of another host or of this one.
    pub fn new(space: &Cuda, handle: [u8; HANDLE]) -> Result<Self> {
        let device = space.device().clone();
        device.bind()?;
        let mut pointer = 0;
        let handle = sys::CUipcMemHandle { reserved: handle.map(|byte| byte as std::ffi::c_char) };
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        before("cuIpcOpenMemHandle")?;
        // SAFETY: any 64 bytes may be tried; the driver refuses those that are no handle. `drop` closes the mapping.
        let opened = unsafe { sys::cuIpcOpenMemHandle_v2(&mut pointer, handle, flags) };
        made(opened.result(), "cuIpcOpenMemHandle")?;
        Ok(Mapped { stream: space.stream.clone(), pointer })
    }

    /// Returns the address in this process.
    pub fn address(&self) -> u64 {
        self.pointer
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.stream.device.bind().is_ok() {
            // Kernels that store into the window may still run.
            let _ = self.stream.fence();
            // SAFETY: `new` opened it, and nothing uses it any more.
            let _ = unsafe { sys::cuIpcCloseMemHandle(self.pointer) };
        }
    }
}

/// A word of page-locked host memory that kernels write and the host reads.
#[derive(Debug)]
pub(crate) struct HostWord {
    stream: Arc<Stream>,
    pointer: *mut AtomicU32,
}

impl HostWord {
    /// Allocates the word.
    pub fn new(space: &Cuda) -> Result<Self> {
        let device = space.device().clone();
        device.bind()?;
        before("cuMemHostAlloc")?;
        // SAFETY: `drop` frees it. Unified addressing: the host address is valid on the device.
        let pointer =
            made(unsafe { result::malloc_host(size_of::<AtomicU32>(), 0) }, "cuMemHostAlloc")?.cast::<AtomicU32>();
        // SAFETY: allocated just now with this size, aligned to a page.
        unsafe { pointer.write(AtomicU32::new(0)) };
        Ok(HostWord { stream: space.stream.clone(), pointer })
    }

    /// Returns the address, the same on the host and the device.
    pub fn address(&self) -> u64 {
        self.pointer as u64
    }

    /// Returns the value now.
    pub fn get(&self) -> u32 {
        // SAFETY: it lives as long as `self`; the device writes whole words.
        unsafe { &*self.pointer }.load(Ordering::Relaxed)
    }
}

impl Drop for HostWord {
    fn drop(&mut self) {
        if self.stream.device.bind().is_ok() {
            let _ = self.stream.fence();
            // SAFETY: `new` allocated it, and no kernel runs that writes it.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}
