//! Detection of usable GPUs. A missing driver or device is an error value, never a panic.

use super::error::checked;
use super::library;
use crate::{Error, Result};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{result, sys};
use std::path::Path;
use std::sync::OnceLock;

/// Oldest driver that has every function that a run needs, as 1000 major + 10 minor; a few calls need 12.4.
const OLDEST_DRIVER: i32 = 12_000;

/// Properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Number of the device within this process (after `CUDA_VISIBLE_DEVICES`).
    pub ordinal: usize,
    /// Hash of the id that NVIDIA gave to the GPU, or to its part: the same in every process. None if the driver fails.
    pub id: Option<u64>,
    /// Product name.
    pub name: String,
    /// Compute capability, for example (9, 0).
    pub capability: (i32, i32),
    /// Number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// Device memory in bytes.
    pub memory: u64,
    /// Version of CUDA that the driver supports, for example 13000 for CUDA 13.0.
    pub driver: i32,
}

/// The message where there is neither a driver nor a GPU.
pub const NO_GPU: &str = "this machine has no NVIDIA GPU: run on the cpu";

/// Returns whether this machine has a device of NVIDIA: files of its driver, or a PCI device with its vendor's number.
fn has_nvidia_device(root: &Path) -> bool {
    const VENDOR: &str = "0x10de";
    if ["proc/driver/nvidia", "dev/nvidiactl", "dev/dxg"].iter().any(|file| root.join(file).exists()) {
        return true;
    }
    let devices = std::fs::read_dir(root.join("sys/bus/pci/devices")).into_iter().flatten().flatten();
    let vendors = devices.filter_map(|device| std::fs::read_to_string(device.path().join("vendor")).ok());
    vendors.into_iter().any(|vendor| vendor.trim() == VENDOR)
}

/// Initialises the driver once per process and returns its version.
fn driver() -> Result<i32> {
    static DRIVER: OnceLock<Result<i32, String>> = OnceLock::new();
    let found = DRIVER.get_or_init(|| {
        // SAFETY: loads a library by NVIDIA's names and calls into it only if that succeeded.
        let unusable = if unsafe { sys::is_culib_present() } {
            library::lacking(&["libcuda.so", "libcuda.so.1"], &["cuInit", "cuDriverGetVersion"])
        } else {
            let absent = match has_nvidia_device(Path::new("/")) {
                true => "no CUDA driver (libcuda.so.1): install NVIDIA's driver, or run on the cpu",
                false => NO_GPU,
            };
            let broken = library::broken(&["libcuda.so.1", "libcuda.so"]).ok_or(absent)?;
            Some(broken)
        };
        if let Some(reason) = unusable {
            return Err(format!(
                "the CUDA driver cannot be loaded: {reason}: repair the installation, or run on the cpu"
            ));
        }
        let start = || -> Result<i32> {
            checked(result::init(), "CUDA driver")?;
            let mut version = 0;
            // SAFETY: writes one integer.
            checked(unsafe { sys::cuDriverGetVersion(&mut version).result() }, "CUDA driver version")?;
            Ok(version)
        };
        match start() {
            Ok(version) if version < OLDEST_DRIVER => {
                Err(format!("the CUDA driver is for CUDA {}: install one for 12.0 or later", dotted(version)))
            }
            Ok(version) => Ok(version),
            Err(error) => Err(error.to_string()),
        }
    });
    found.clone().map_err(Error::Device)
}

/// Formats a version: "13.0" for 13000.
pub(super) fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// Returns the GPUs that this process may use.
///
/// # Errors
/// [`Error::Device`] that names what is missing: the driver, a device, or a newer driver.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    let driver = driver()?;
    let count = checked(result::device::get_count(), "CUDA devices")?;
    if count == 0 {
        return Err(Error::Device("the CUDA driver finds no GPU".into()));
    }
    (0..count).map(|ordinal| info(ordinal, driver)).collect()
}

fn info(ordinal: i32, driver: i32) -> Result<DeviceInfo> {
    let device = checked(result::device::get(ordinal), "cuDeviceGet")?;
    // SAFETY: `device` comes from the driver.
    let attribute = |which| checked(unsafe { result::device::get_attribute(device, which) }, "cuDeviceGetAttribute");
    Ok(DeviceInfo {
        ordinal: ordinal as usize,
        id: result::device::get_uuid(device)
            .map(|id| xxhash_rust::xxh3::xxh3_64(&id.bytes.map(|byte| byte as u8)))
            .ok(),
        name: checked(result::device::get_name(device), "cuDeviceGetName")?,
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        // SAFETY: as above.
        memory: checked(unsafe { result::device::total_mem(device) }, "cuDeviceTotalMem")? as u64,
        driver,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_driver_or_its_vendor() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert!(!has_nvidia_device(root.path()));
        write("sys/bus/pci/devices/0000:00:01.0/vendor", "0x8086\n");
        write("sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
        assert!(!has_nvidia_device(root.path()));
        write("sys/bus/pci/devices/0000:00:03.0/vendor", "0x10de\n");
        assert!(has_nvidia_device(root.path()));
        let other = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(other.path().join("proc/driver/nvidia")).unwrap();
        assert!(has_nvidia_device(other.path()));
    }
}
