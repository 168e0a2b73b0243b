//! One GPU: its context and its loaded kernels.

use super::error::{before, checked, made};
use super::kernels::Modules;
use super::probe::{DeviceInfo, devices};
use crate::error::count;
use crate::{Error, Result};
use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUmemPool_attribute as PoolAttribute};
use cudarc::driver::{result, sys};
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

/// The context of a GPU and its loaded kernels, shared by its streams.
pub struct Device {
    handle: sys::CUdevice,
    context: sys::CUcontext,
    pub(super) modules: Modules,
}

// SAFETY: any thread may use a context that it made current, as every call here does first.
unsafe impl Send for Device {}
// SAFETY: as above; the driver synchronises its own state, and our tables have locks.
unsafe impl Sync for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {})", self.info().ordinal, self.info().name)
    }
}

impl Device {
    /// Returns the device with this number. All callers share one object.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no such device, or it cannot be used.
    pub fn get(ordinal: usize) -> Result<Arc<Self>> {
        static OPEN: Mutex<Vec<Weak<Device>>> = Mutex::new(Vec::new());
        let mut all = devices()?;
        if ordinal >= all.len() {
            let found = count(all.len(), "GPU");
            return Err(Error::Device(format!("cuda:{ordinal}: this machine has {found} (cuda:0 is the first)")));
        }
        let mut open = OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        open.retain(|device| device.strong_count() > 0);
        if let Some(device) = open.iter().filter_map(Weak::upgrade).find(|device| device.info().ordinal == ordinal) {
            device.bind()?;
            return Ok(device);
        }
        let device = Arc::new(Self::open(all.swap_remove(ordinal))?);
        open.push(Arc::downgrade(&device));
        Ok(device)
    }

    fn open(info: DeviceInfo) -> Result<Self> {
        let handle = checked(result::device::get(info.ordinal as i32), "cuDeviceGet")?;
        before("cuDevicePrimaryCtxRetain")?;
        // SAFETY: the handle comes from the driver; `drop` releases what is retained here.
        let context = made(unsafe { result::primary_ctx::retain(handle) }, "cuDevicePrimaryCtxRetain")?;
        let device = Device { modules: Modules::new(info), handle, context };
        device.bind()?;
        device.keep_pool_memory()?;
        Ok(device)
    }

    /// Keeps freed memory with this process for the next arrays, so that allocations do not reach the operating system.
    fn keep_pool_memory(&self) -> Result<()> {
        if self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? == 0 {
            let name = &self.info().name;
            return Err(Error::Device(format!("{name}: no stream-ordered memory: a newer driver or GPU is needed")));
        }
        let mut all = u64::MAX;
        let threshold = PoolAttribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the pool belongs to the device; the attribute is a 64-bit number.
        let done = unsafe { sys::cuMemPoolSetAttribute(self.pool()?, threshold, (&raw mut all).cast()).result() };
        checked(done, "cuMemPoolSetAttribute")
    }

    /// Makes the context current on this thread, as every call into the driver requires.
    pub(super) fn bind(&self) -> Result<()> {
        // Destructors call this too, so no test makes it fail: what they leave would be no leak of ours.
        // SAFETY: the context lives as long as `self`.
        made(unsafe { result::ctx::set_current(self.context) }, "cuCtxSetCurrent")
    }

    /// Returns the properties of the device.
    pub fn info(&self) -> &DeviceInfo {
        &self.modules.info
    }

    /// Returns a device attribute.
    pub(super) fn attribute(&self, which: Attribute) -> Result<i32> {
        // SAFETY: the handle comes from the driver.
        checked(unsafe { result::device::get_attribute(self.handle, which) }, "cuDeviceGetAttribute")
    }

    /// Returns the free and the total bytes of device memory. Memory that this process keeps for its next arrays is free.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn memory(&self) -> Result<(u64, u64)> {
        self.bind()?;
        let (free, total) = checked(result::mem_get_info(), "cuMemGetInfo")?;
        let reserved = self.pool_attribute(PoolAttribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        Ok((free as u64 + reserved.saturating_sub(self.used_bytes()?), total as u64))
    }

    /// Returns the bytes of all arrays of this process now.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn used_bytes(&self) -> Result<u64> {
        self.pool_attribute(PoolAttribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    }

    /// Returns the peak bytes of all arrays since the last [`reset_peak`](Self::reset_peak).
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn peak_bytes(&self) -> Result<u64> {
        self.pool_attribute(PoolAttribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)
    }

    /// Begins a new measurement of the peak with the bytes in use now.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn reset_peak(&self) -> Result<()> {
        let (mut zero, which) = (0u64, PoolAttribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH);
        // SAFETY: as in `keep_pool_memory`.
        let done = unsafe { sys::cuMemPoolSetAttribute(self.pool()?, which, (&raw mut zero).cast()).result() };
        checked(done, "cuMemPoolSetAttribute")
    }

    fn pool(&self) -> Result<sys::CUmemoryPool> {
        // SAFETY: the handle comes from the driver.
        checked(unsafe { result::device::get_default_mem_pool(self.handle) }, "cuDeviceGetDefaultMemPool")
    }

    fn pool_attribute(&self, which: PoolAttribute) -> Result<u64> {
        let mut bytes = 0u64;
        // SAFETY: as in `keep_pool_memory`.
        let done = unsafe { sys::cuMemPoolGetAttribute(self.pool()?, which, (&raw mut bytes).cast()).result() };
        checked(done, "cuMemPoolGetAttribute")?;
        Ok(bytes)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.bind().is_ok() {
            self.modules.unload();
            // SAFETY: `open` retained it; the last user of the context is gone.
            let _ = unsafe { result::primary_ctx::release(self.handle) };
        }
    }
}
