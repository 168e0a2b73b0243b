//! The kernels: their sources, their compiled modules, their entry points.

use super::compile::Target;
use super::device::Device;
use super::error::OrDevice;
use crate::{Error, Result};
use cudarc::driver::sys::CUfunction_attribute as Attribute;
use cudarc::driver::{result, sys};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, OnceLock};

/// What every kernel file may use.
const COMMON: &str = include_str!("../../../kernels/common.cuh");

/// Name and text of a kernel file, one a room.
macro_rules! sources {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../kernels/", $name, ".cu")))),*]
    };
}
const SOURCES: &[(&str, &str)] = &sources!(
    "space"
    "blas"
    "mesh"
    "sparse"
    "slices"
    "cg"
    "contraction"
    "contraction_team"
    "contraction_tile"
    "peak"
    "workset"
    "graph"
    "graph_map"
    "fill"
    "heat"
    "colour"
    "dirichlet"
    "sweep"
);

/// Files that are compiled for the sizes of a call, behind the defines that tell them.
const SPECIALISED: &[(&str, &str)] = &sources!(
    "contraction_lanes"
    "contraction_rows"
    "contraction_staged"
    "contraction_blocked"
    "contraction_dmma"
    "contraction_dmma_blocked"
);

/// Parts that stand between the common one and the files whose name begins so: that, the part's name and text.
const PARTS: [(&str, &str, &str); 3] = [
    ("heat", "element.cuh", include_str!("../../../kernels/element.cuh")),
    ("contraction", "contraction.cuh", include_str!("../../../kernels/contraction.cuh")),
    ("contraction_dmma", "dmma.cuh", include_str!("../../../kernels/dmma.cuh")),
];

/// The kernel files: name, and text as it is compiled.
pub fn sources() -> impl Iterator<Item = (&'static str, String)> {
    SOURCES.iter().copied().map(|(name, text)| (name, whole(name, "", text)))
}

/// The text, as it is compiled, of a file for the sizes that `defines` tells; `None` where there is no such file.
pub(crate) fn specialised(name: &str, defines: &str) -> Option<String> {
    SPECIALISED.iter().find(|(known, _)| *known == name).map(|(_, text)| whole(name, defines, text))
}

/// The common part, the file's other parts, its defines, then the file, with line numbers of their own in messages.
fn whole(name: &str, defines: &str, text: &str) -> String {
    let mut whole = format!("#line 1 \"common.cuh\"\n{COMMON}\n");
    for (_, part, text) in PARTS.iter().filter(|(file, _, _)| name.starts_with(file)) {
        whole += &format!("#line 1 \"{part}\"\n{text}\n");
    }
    whole + &format!("{defines}#line 1 \"{name}.cu\"\n{text}")
}

/// The modules loaded so far on one device.
#[derive(Debug, Default)]
pub(super) struct Modules {
    target: OnceLock<Target>,
    /// By name; those of files that are compiled for sizes by name, end of line, defines.
    loaded: Mutex<HashMap<Cow<'static, str>, Loaded>>,
}

#[derive(Debug)]
struct Loaded {
    module: sys::CUmodule,
    functions: HashMap<&'static str, Function>,
}

/// An entry point, with what a launch checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub handle: sys::CUfunction,
    /// Sizes of the parameters; `None` where the driver is too old to tell.
    pub parameters: Option<([u8; Function::MOST], usize)>,
}

impl Function {
    /// Most parameters of a kernel.
    pub const MOST: usize = 32;

    /// Blocks that one multiprocessor holds at once.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared: usize) -> Result<usize> {
        if shared > 48 << 10 {
            let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the handle is of a loaded module.
            unsafe { result::function::set_function_attribute(self.handle, which, shared as i32) }
                .or_device("cuFuncSetAttribute")?;
        }
        // SAFETY: as above.
        let blocks =
            unsafe { result::occupancy::max_active_block_per_multiprocessor(self.handle, threads as i32, shared) };
        Ok(blocks.or_device("cuOccupancyMaxActiveBlocksPerMultiprocessor")? as usize)
    }

    /// An attribute of the compiled kernel.
    fn attribute(&self, which: Attribute) -> Result<i32> {
        // SAFETY: the handle is of a loaded module.
        unsafe { result::function::get_function_attribute(self.handle, which) }.or_device("cuFuncGetAttribute")
    }
}

/// What the compiler made of a kernel.
#[derive(Clone, Debug)]
pub struct KernelInfo {
    /// Its file.
    pub module: &'static str,
    /// Its name.
    pub name: String,
    /// Registers of a thread.
    pub registers: i32,
    /// Bytes of a thread's local memory: spilled registers and indexed arrays.
    pub local_bytes: i32,
    /// Bytes of a block's static shared memory.
    pub shared_bytes: i32,
    /// Threads of the largest block it can have.
    pub max_threads: i32,
    /// Share of a multiprocessor's threads that can be resident, in blocks of up to 256 threads without dynamic memory.
    pub occupancy: f64,
}

impl Modules {
    /// The entry point `name` of file `module`, compiled with `defines` where it is for the sizes of a call; compiles and
    /// loads the file at its first use.
    pub fn function(
        &self,
        device: &Device,
        module: &'static str,
        defines: Option<&str>,
        name: &'static str,
    ) -> Result<Function> {
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let entry = self.module(device, &mut loaded, module, defines)?;
        if let Some(function) = entry.functions.get(name) {
            return Ok(*function);
        }
        let symbol = CString::new(name).map_err(|_| Error::Device(format!("{name}: no name of a kernel")))?;
        // SAFETY: the module is loaded.
        let handle = unsafe { result::module::get_function(entry.module, symbol) };
        let handle = handle.or_device(&format!("kernel {name} of {module}.cu"))?;
        let function = Function { handle, parameters: parameters(handle, device.info().driver)? };
        entry.functions.insert(name, function);
        Ok(function)
    }

    fn module<'a>(
        &self,
        device: &Device,
        loaded: &'a mut HashMap<Cow<'static, str>, Loaded>,
        name: &'static str,
        defines: Option<&str>,
    ) -> Result<&'a mut Loaded> {
        let missing = || Error::Device(format!("no kernel file {name}.cu"));
        let key = defines.map_or(Cow::Borrowed(name), |defines| Cow::Owned(format!("{name}\n{defines}")));
        if !loaded.contains_key(&key) {
            let text = match defines {
                Some(defines) => specialised(name, defines),
                None => SOURCES.iter().find(|(known, _)| *known == name).map(|(_, text)| whole(name, "", text)),
            };
            let target = match self.target.get() {
                Some(target) => target,
                None => {
                    let target = Target::of(device.info())?;
                    self.target.get_or_init(|| target)
                }
            };
            let mut image = target.cached(name, &text.ok_or_else(missing)?, device.info().driver)?;
            image.push(0);
            // SAFETY: a whole image (PTX ends with a zero), read during the call only.
            let module = unsafe { result::module::load_data(image.as_ptr().cast::<c_void>()) };
            let module = module.or_device(&format!("loading {name}.cu"))?;
            loaded.insert(key.clone(), Loaded { module, functions: HashMap::new() });
        }
        loaded.get_mut(&key).ok_or_else(missing)
    }

    /// What the compiler made of every kernel of every file.
    pub fn info(&self, device: &Device) -> Result<Vec<KernelInfo>> {
        if device.info().driver < ENUMERATES {
            return Err(Error::Device("listing kernels needs a driver for CUDA 12.4 or later".into()));
        }
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut all = Vec::new();
        for &(module, _) in SOURCES {
            let handle = self.module(device, &mut loaded, module, None)?.module;
            let mut count = 0;
            // SAFETY: the module is loaded; the driver writes a count, and then that many handles.
            let functions = unsafe {
                sys::cuModuleGetFunctionCount(&mut count, handle).or_device("cuModuleGetFunctionCount")?;
                let mut functions = vec![std::ptr::null_mut(); count as usize];
                sys::cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, handle)
                    .or_device("cuModuleEnumerateFunctions")?;
                functions
            };
            for handle in functions {
                // SAFETY: the driver's own handle; it loads what it had put off.
                unsafe { sys::cuFuncLoad(handle) }.or_device("cuFuncLoad")?;
                all.push(kernel_info(device, module, Function { handle, parameters: None })?);
            }
        }
        all.sort_by(|a, b| (a.module, &a.name).cmp(&(b.module, &b.name)));
        Ok(all)
    }

    /// Unloads all; nothing runs any more.
    pub fn unload(&self) {
        for (_, loaded) in self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).drain() {
            // SAFETY: loaded by `module`, used by nobody.
            let _ = unsafe { result::module::unload(loaded.module) };
        }
    }
}

/// Driver version from which a kernel's parameters and a module's kernels can be listed.
const ENUMERATES: i32 = 12_040;

fn parameters(function: sys::CUfunction, driver: i32) -> Result<Option<([u8; Function::MOST], usize)>> {
    if driver < ENUMERATES {
        return Ok(None);
    }
    let mut sizes = [0; Function::MOST];
    for (index, slot) in sizes.iter_mut().enumerate() {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: writes two numbers.
        match unsafe { sys::cuFuncGetParamInfo(function, index, &mut offset, &mut size) } {
            sys::CUresult::CUDA_ERROR_INVALID_VALUE => return Ok(Some((sizes, index))),
            other => other.or_device("cuFuncGetParamInfo")?,
        }
        *slot = size as u8;
    }
    Ok(Some((sizes, Function::MOST)))
}

fn kernel_info(device: &Device, module: &'static str, function: Function) -> Result<KernelInfo> {
    let mut name = std::ptr::null();
    // SAFETY: the function is loaded; the name lives as long as it.
    let name = unsafe {
        sys::cuFuncGetName(&mut name, function.handle).or_device("cuFuncGetName")?;
        CStr::from_ptr(name).to_string_lossy().into_owned()
    };
    let max_threads = function.attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    let block = max_threads.min(256);
    let blocks = function.blocks_per_multiprocessor(block as u32, 0)? as i32;
    let resident = device.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
    Ok(KernelInfo {
        module,
        name,
        registers: function.attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        local_bytes: function.attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        shared_bytes: function.attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        max_threads,
        occupancy: f64::from(blocks * block) / f64::from(resident),
    })
}
