//! Compilation of CUDA C++ to machine code by NVRTC; results are cached on disk.

use super::probe::{DeviceInfo, dotted};
use super::{cache, library};
use crate::{Error, Result};
use cudarc::nvrtc::{result, sys};
use std::ffi::CString;

/// The architecture that NVRTC compiles for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// `sm_90` for machine code, `compute_90` for PTX, which the driver translates.
    pub name: String,
    /// Version of NVRTC.
    pub nvrtc: (i32, i32),
}

/// Options besides the architecture.
const OPTIONS: [&str; 3] = ["--std=c++17", "--generate-line-info", "--extra-device-vectorization"];

/// Returns the version of NVRTC, major and minor.
///
/// # Errors
/// [`Error::Device`] if NVRTC is missing, with what to install.
pub fn nvrtc_version() -> Result<(i32, i32)> {
    // SAFETY: loads a library by NVIDIA's names.
    if !unsafe { sys::is_culib_present() } {
        if let Some(reason) = library::broken(&["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]) {
            let advice = "repair the installation, or run on the cpu";
            return Err(Error::Device(format!("NVRTC cannot be loaded: {reason}: {advice}")));
        }
        let advice =
            "install CUDA's runtime compiler (package cuda-nvrtc, or pip's nvidia-cuda-nvrtc on LD_LIBRARY_PATH)";
        return Err(Error::Device(format!("no NVRTC (libnvrtc.so): {advice}, or run on the cpu")));
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two integers.
    let got = unsafe { sys::nvrtcVersion(&mut major, &mut minor) }.result();
    got.map_err(|error| Error::Device(format!("NVRTC: {error}")))?;
    Ok((major, minor))
}

/// Returns the architectures that NVRTC compiles to machine code for, as numbers (90 for `sm_90`).
///
/// # Errors
/// [`Error::Device`] if NVRTC is missing, with what to install.
pub fn architectures() -> Result<Vec<i32>> {
    nvrtc_version()?;
    let failed = |error| Error::Device(format!("NVRTC: {error}"));
    let mut count = 0;
    // SAFETY: writes one integer, then that many.
    unsafe {
        sys::nvrtcGetNumSupportedArchs(&mut count).result().map_err(failed)?;
        let mut found = vec![0; count as usize];
        sys::nvrtcGetSupportedArchs(found.as_mut_ptr()).result().map_err(failed)?;
        Ok(found)
    }
}

impl Architecture {
    /// The architecture of a device, or PTX for the newest older one that NVRTC supports.
    pub(super) fn of(info: &DeviceInfo) -> Result<Self> {
        let (known, wanted) = (architectures()?, info.capability.0 * 10 + info.capability.1);
        let nvrtc = nvrtc_version()?;
        if known.contains(&wanted) {
            return Ok(Architecture { name: format!("sm_{wanted}"), nvrtc });
        }
        let older = known.into_iter().filter(|&number| number < wanted).max();
        let older = older.ok_or_else(|| {
            let found = dotted(nvrtc.0 * 1000 + nvrtc.1 * 10);
            Error::Device(format!("{}: NVRTC {found} does not know sm_{wanted}", info.name))
        })?;
        Ok(Architecture { name: format!("compute_{older}"), nvrtc })
    }

    /// The architecture with this name, such as `sm_90`. No device is needed.
    ///
    /// # Errors
    /// [`Error::Device`] if NVRTC is missing, with what to install.
    pub fn new(name: &str) -> Result<Self> {
        Ok(Architecture { name: name.into(), nvrtc: nvrtc_version()? })
    }

    fn options(&self) -> Vec<String> {
        let architecture = format!("--gpu-architecture={}", self.name);
        std::iter::once(architecture).chain(OPTIONS.map(String::from)).collect()
    }

    /// Compiles `source`. Messages call it `name`.
    ///
    /// # Errors
    /// [`Error::Device`] with NVRTC's log.
    pub fn compile(&self, name: &str, source: &str) -> Result<Vec<u8>> {
        let failed = |what: String| Error::Device(format!("{name}.cu for {}: {what}", self.name));
        let text = CString::new(source).map_err(|_| failed("a zero byte in the source".into()))?;
        let file = CString::new(format!("{name}.cu")).map_err(|_| failed("its name".into()))?;
        let program = result::create_program(&text, Some(&file)).map_err(|e| failed(e.to_string()))?;
        // SAFETY: the program was made above and is destroyed once, at the end; buffers are as long as NVRTC says.
        unsafe {
            let compiled = result::compile_program(program, &self.options());
            let image = match compiled {
                Ok(()) => self.image(program).map_err(|e| failed(e.to_string())),
                Err(error) => {
                    let log = result::get_program_log(program).unwrap_or_default();
                    let log: String = log.iter().map(|&c| c as u8 as char).filter(|&c| c != '\0').collect();
                    Err(failed(format!("{error}\n{log}")))
                }
            };
            let _ = result::destroy_program(program);
            image
        }
    }

    /// Returns the machine code or PTX of a program.
    ///
    /// # Safety
    /// `program` is a compiled program.
    unsafe fn image(&self, program: sys::nvrtcProgram) -> std::result::Result<Vec<u8>, result::NvrtcError> {
        let mut length = 0;
        // SAFETY: the caller passes a compiled program; NVRTC writes as many bytes as it announced.
        unsafe {
            if self.name.starts_with("compute") {
                sys::nvrtcGetPTXSize(program, &mut length).result()?;
                let mut image = vec![0u8; length];
                sys::nvrtcGetPTX(program, image.as_mut_ptr().cast()).result()?;
                return Ok(image);
            }
            sys::nvrtcGetCUBINSize(program, &mut length).result()?;
            let mut image = vec![0u8; length];
            sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result()?;
            Ok(image)
        }
    }

    /// Returns the result of [`compile`](Self::compile) from the cache on disk, or compiles and stores it.
    pub(super) fn cached(&self, name: &str, source: &str, driver: i32) -> Result<Vec<u8>> {
        let version = env!("CARGO_PKG_VERSION");
        let key = cache::key(version, name, &self.options(), self.nvrtc, driver, source);
        let Some(folder) = cache::folder() else { return self.compile(name, source) };
        if let Some(image) = cache::load(&folder, name, &key) {
            return Ok(image);
        }
        let image = self.compile(name, source)?;
        cache::store(&folder, name, &key, &image);
        Ok(image)
    }
}
