//! One GPU: its context and its kernels.

use super::error::OrDevice;
use super::kernels::Modules;
use super::probe::{DeviceInfo, devices};
use crate::{Error, Result};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{result, sys};
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

/// The context of a GPU and what hangs on it; shared by all streams and arrays on it.
pub struct Device {
    info: DeviceInfo,
    handle: sys::CUdevice,
    context: sys::CUcontext,
    pub(super) modules: Modules,
}

// SAFETY: a context may be used by any thread that makes it current, which every call here does first.
unsafe impl Send for Device {}
// SAFETY: as above; the driver locks what it shares, and our own tables have locks.
unsafe impl Sync for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {})", self.info.ordinal, self.info.name)
    }
}

impl Device {
    /// The device with this number; the same object for all who hold one.
    ///
    /// # Errors
    /// [`Error::Device`] when there is none, or it cannot be used.
    pub fn get(ordinal: usize) -> Result<Arc<Self>> {
        static OPEN: Mutex<Vec<Weak<Device>>> = Mutex::new(Vec::new());
        let mut all = devices()?;
        if ordinal >= all.len() {
            return Err(Error::Device(format!("cuda:{ordinal}: there are {} GPUs (cuda:0 is the first)", all.len())));
        }
        let mut open = OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        open.retain(|device| device.strong_count() > 0);
        if let Some(device) = open.iter().filter_map(Weak::upgrade).find(|device| device.info.ordinal == ordinal) {
            device.bind()?;
            return Ok(device);
        }
        let device = Arc::new(Self::open(all.swap_remove(ordinal))?);
        open.push(Arc::downgrade(&device));
        Ok(device)
    }

    fn open(info: DeviceInfo) -> Result<Self> {
        let handle = result::device::get(info.ordinal as i32).or_device("cuDeviceGet")?;
        // SAFETY: the handle is the driver's; each retain has its release in `drop`.
        let context = unsafe { result::primary_ctx::retain(handle) }.or_device("cuDevicePrimaryCtxRetain")?;
        let device = Device { modules: Modules::default(), info, handle, context };
        device.bind()?;
        device.keep_pool_memory()?;
        Ok(device)
    }

    /// Memory that arrays give back stays with this process, for the next arrays.
    fn keep_pool_memory(&self) -> Result<()> {
        if self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? == 0 {
            let name = &self.info.name;
            return Err(Error::Device(format!("{name}: no stream-ordered memory; a newer driver or GPU is needed")));
        }
        let mut all = u64::MAX;
        let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the pool is the device's own, the attribute is a 64-bit number.
        unsafe {
            let pool = result::device::get_default_mem_pool(self.handle).or_device("cuDeviceGetDefaultMemPool")?;
            sys::cuMemPoolSetAttribute(pool, threshold, (&raw mut all).cast()).or_device("cuMemPoolSetAttribute")
        }
    }

    /// Makes the context current on this thread; every call into the driver needs it.
    pub(super) fn bind(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        unsafe { result::ctx::set_current(self.context) }.or_device("cuCtxSetCurrent")
    }

    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub(super) fn attribute(&self, which: Attribute) -> Result<i32> {
        // SAFETY: the handle is the driver's.
        unsafe { result::device::get_attribute(self.handle, which) }.or_device("cuDeviceGetAttribute")
    }

    /// Free and total bytes of device memory; what this process keeps for its next arrays counts as free.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver fails.
    pub fn memory(&self) -> Result<(u64, u64)> {
        self.bind()?;
        let (free, total) = result::mem_get_info().or_device("cuMemGetInfo")?;
        let of_pool = |which| -> Result<u64> {
            let mut bytes = 0u64;
            // SAFETY: as in `keep_pool_memory`.
            unsafe {
                let pool = result::device::get_default_mem_pool(self.handle).or_device("cuDeviceGetDefaultMemPool")?;
                sys::cuMemPoolGetAttribute(pool, which, (&raw mut bytes).cast()).or_device("cuMemPoolGetAttribute")?;
            }
            Ok(bytes)
        };
        let reserved = of_pool(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        let used = of_pool(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        Ok((free as u64 + reserved.saturating_sub(used), total as u64))
    }

    /// Most bytes that arrays of this process have held at once.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver fails.
    pub fn peak_bytes(&self) -> Result<u64> {
        let mut bytes = 0u64;
        let which = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        // SAFETY: as in `keep_pool_memory`.
        unsafe {
            let pool = result::device::get_default_mem_pool(self.handle).or_device("cuDeviceGetDefaultMemPool")?;
            sys::cuMemPoolGetAttribute(pool, which, (&raw mut bytes).cast()).or_device("cuMemPoolGetAttribute")?;
        }
        Ok(bytes)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.bind().is_ok() {
            self.modules.unload();
            // SAFETY: retained in `open`; nothing that uses it is left.
            let _ = unsafe { result::primary_ctx::release(self.handle) };
        }
    }
}
