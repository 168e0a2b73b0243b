//! Compiled kernel files: their modules, loaded at first use, and their entry points.

use super::compile::Architecture;
use super::error::{before, checked, made};
use super::probe::DeviceInfo;
use super::source::KernelFile;
use crate::space::allowed_cores;
use crate::{Error, Result};
use cudarc::driver::sys::CUfunction_attribute as Attribute;
use cudarc::driver::{result, sys};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

/// The modules loaded so far on one device.
#[derive(Debug)]
pub(super) struct Modules {
    pub info: DeviceInfo,
    architecture: OnceLock<Architecture>,
    loaded: Mutex<ByFile>,
    /// Entry points of files without defines, by the addresses of the file and of the name and the length of the name. A launch
    /// costs the host about 3 us, which is as long as a small kernel runs, so it finds its entry point by one cheap hash.
    known: Mutex<HashMap<(usize, usize, usize), Function, FixedState>>,
    /// Entry points compiled for functions of a user, found without making the source text.
    used: Mutex<HashMap<UseKey, Function, FixedState>>,
}

/// Identifies the text in front of a kernel file: the functions of a user, the loop, its numbers of arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub text: &'static str,
    pub name: &'static str,
    pub operation: &'static str,
    pub arrays: [usize; 3],
}

impl Use {
    /// Addresses and lengths of the texts, which a launch hashes in place of their bytes.
    fn key(&self) -> [usize; 9] {
        let [[a, b], [c, d], [e, f]] =
            [self.text, self.name, self.operation].map(|text| [text.as_ptr() as usize, text.len()]);
        let [g, h, i] = self.arrays;
        [a, b, c, d, e, f, g, h, i]
    }
}

/// Address of a file, [`Use::key`], address of a kernel's name.
type UseKey = (usize, [usize; 9], usize);

/// The modules of each file by the defines that it was compiled with. The key is the address of the file's `static`.
type ByFile = HashMap<usize, HashMap<String, Loaded>>;

#[derive(Debug)]
struct Loaded {
    module: sys::CUmodule,
    functions: HashMap<&'static str, Function>,
}

/// An entry point, with the sizes that a launch checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub handle: sys::CUfunction,
    /// Bytes of each parameter and their number; `None` if the driver is too old to report them.
    pub parameters: Option<([u8; Function::MOST], usize)>,
}

impl Function {
    /// Largest number of parameters of a kernel.
    pub const MOST: usize = 32;

    /// Returns how many blocks one multiprocessor holds at once. `shared` is in bytes.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared: usize) -> Result<usize> {
        if shared > 48 << 10 {
            let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the handle is of a loaded module.
            let done = unsafe { result::function::set_function_attribute(self.handle, which, shared as i32) };
            checked(done, "cuFuncSetAttribute")?;
        }
        // SAFETY: as above.
        let blocks =
            unsafe { result::occupancy::max_active_block_per_multiprocessor(self.handle, threads as i32, shared) };
        Ok(checked(blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor")? as usize)
    }

    /// Returns an attribute of the compiled kernel.
    fn attribute(&self, which: Attribute) -> Result<i32> {
        // SAFETY: the handle is of a loaded module.
        checked(unsafe { result::function::get_function_attribute(self.handle, which) }, "cuFuncGetAttribute")
    }
}

/// Resources of a compiled kernel.
#[derive(Clone, Debug)]
pub struct KernelInfo {
    /// Name of its file.
    pub module: &'static str,
    /// Its name.
    pub name: String,
    /// Registers per thread.
    pub registers: i32,
    /// Bytes of local memory per thread: spilled registers and indexed arrays.
    pub local_bytes: i32,
    /// Bytes of static shared memory per block.
    pub shared_bytes: i32,
    /// Threads in the largest possible block.
    pub max_threads: i32,
    /// Fraction of resident threads for blocks of up to 256 threads without dynamic shared memory.
    pub occupancy: f64,
}

impl Modules {
    pub fn new(info: DeviceInfo) -> Self {
        let (architecture, loaded) = (OnceLock::new(), Mutex::default());
        Modules { info, architecture, loaded, known: Mutex::default(), used: Mutex::default() }
    }

    /// Returns the entry point `name` of `file` compiled with `defines`; compiles and loads the file at its first use.
    pub fn function(&self, file: &'static KernelFile, defines: &str, name: &'static str) -> Result<Function> {
        let key = (std::ptr::from_ref(file) as usize, name.as_ptr() as usize, name.len());
        let known = || self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if defines.is_empty()
            && let Some(function) = known().get(&key)
        {
            return Ok(*function);
        }
        let function = self.loaded_function(file, defines, name)?;
        if defines.is_empty() {
            known().insert(key, function);
        }
        Ok(function)
    }

    /// Returns the entry point `name` of `file` compiled for functions of a user, whose text is made at the first use.
    pub fn used(
        &self,
        file: &'static KernelFile,
        of: &Use,
        text: impl FnOnce() -> String,
        name: &'static str,
    ) -> Result<Function> {
        let key = (std::ptr::from_ref(file) as usize, of.key(), name.as_ptr() as usize);
        let known = || self.used.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(function) = known().get(&key) {
            return Ok(*function);
        }
        let function = self.loaded_function(file, &text(), name)?;
        known().insert(key, function);
        Ok(function)
    }

    /// Returns the entry point of a file that may have to be compiled, loaded or searched.
    fn loaded_function(&self, file: &'static KernelFile, defines: &str, name: &'static str) -> Result<Function> {
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let entry = self.module(&mut loaded, file, defines)?;
        if let Some(function) = entry.functions.get(name) {
            return Ok(*function);
        }
        let symbol = CString::new(name)
            .map_err(|_| Error::Device(format!("{name}: a kernel name without zero bytes is expected")))?;
        // SAFETY: the module is loaded.
        let handle = unsafe { result::module::get_function(entry.module, symbol) };
        let handle = checked(handle, &format!("kernel {name} of {}.cu", file.name()))?;
        let function = Function { handle, parameters: parameters(handle, self.info.driver)? };
        entry.functions.insert(name, function);
        Ok(function)
    }

    fn architecture(&self) -> Result<&Architecture> {
        match self.architecture.get() {
            Some(architecture) => Ok(architecture),
            None => {
                let architecture = Architecture::of(&self.info)?;
                Ok(self.architecture.get_or_init(|| architecture))
            }
        }
    }

    fn module<'a>(&self, loaded: &'a mut ByFile, file: &'static KernelFile, defines: &str) -> Result<&'a mut Loaded> {
        let of_file = loaded.entry(std::ptr::from_ref(file) as usize).or_default();
        if !of_file.contains_key(defines) {
            let image = self.architecture()?.cached(file.name(), &file.source(defines), self.info.driver)?;
            of_file.insert(defines.into(), module_of(file, image)?);
        }
        of_file.get_mut(defines).ok_or_else(|| Error::Device(format!("{}.cu: not loaded", file.name())))
    }

    /// Returns the resources of every kernel of `files`, sorted by file and name.
    /// `resident` is the number of threads that a multiprocessor of the device can hold.
    pub fn listed(&self, resident: i32, files: &[&'static KernelFile]) -> Result<Vec<KernelInfo>> {
        if self.info.driver < ENUMERATES {
            return Err(Error::Device("listing kernels needs a driver for CUDA 12.4 or later".into()));
        }
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut all = Vec::new();
        for file in files {
            for handle in load_all(self.module(&mut loaded, file, "")?.module)? {
                all.push(kernel_info(resident, file.name(), Function { handle, parameters: None })?);
            }
        }
        all.sort_by(|a, b| (a.module, &a.name).cmp(&(b.module, &b.name)));
        Ok(all)
    }

    /// Compiles and loads all kernels of a file with these defines; those loaded before cost nothing.
    pub fn load(&self, file: &'static KernelFile, defines: &str) -> Result<()> {
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let module = self.module(&mut loaded, file, defines)?.module;
        if self.info.driver >= ENUMERATES {
            load_all(module)?;
        }
        Ok(())
    }

    /// As [`load`](Self::load) for several files without defines, which the cores that this process may use compile side by side.
    pub fn load_files(&self, files: &[&'static KernelFile]) -> Result<()> {
        let lock = || self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let is_missing = |file: &&&'static KernelFile| {
            !lock().get(&(std::ptr::from_ref(**file) as usize)).is_some_and(|of_file| of_file.contains_key(""))
        };
        let missing: Vec<&'static KernelFile> = files.iter().filter(is_missing).copied().collect();
        let (architecture, driver) = (self.architecture()?, self.info.driver);
        let (next, images) = (AtomicUsize::new(0), missing.iter().map(|_| OnceLock::new()).collect::<Vec<_>>());
        let compile = || {
            while let Some((file, image)) = { missing.iter().zip(&images).nth(next.fetch_add(1, Relaxed)) } {
                image.get_or_init(|| architecture.cached(file.name(), &file.source(""), driver));
            }
        };
        std::thread::scope(|scope| {
            // Threads that the system refuses leave their files to the others.
            let more = 1..allowed_cores().min(missing.len());
            more.for_each(|_| drop(std::thread::Builder::new().spawn_scoped(scope, compile)));
            compile();
        });
        for (&file, image) in missing.iter().zip(images) {
            let image =
                image.into_inner().ok_or_else(|| Error::Device(format!("{}.cu: not compiled", file.name())))??;
            let mut loaded = lock();
            let of_file = loaded.entry(std::ptr::from_ref(file) as usize).or_default();
            if !of_file.contains_key("") {
                of_file.insert(String::new(), module_of(file, image)?);
            }
        }
        files.iter().try_for_each(|file| self.load(file, ""))
    }

    /// Unloads all modules. No kernel may be running.
    pub fn unload(&self) {
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for loaded in loaded.drain().flat_map(|(_, of_file)| of_file.into_values()) {
            // SAFETY: `module` loaded it, and no kernel of it runs.
            let _ = unsafe { result::module::unload(loaded.module) };
        }
    }
}

/// Loads the machine code of a file.
fn module_of(file: &KernelFile, mut image: Vec<u8>) -> Result<Loaded> {
    image.push(0);
    let loading = format!("loading {}.cu", file.name());
    before(&loading)?;
    // SAFETY: a whole image (PTX ends with a zero), read during the call only.
    let module = unsafe { result::module::load_data(image.as_ptr().cast::<c_void>()) };
    Ok(Loaded { module: made(module, &loading)?, functions: HashMap::new() })
}

/// Returns the kernels of a loaded module, and completes the loads that the driver has deferred.
fn load_all(module: sys::CUmodule) -> Result<Vec<sys::CUfunction>> {
    let mut count = 0;
    // SAFETY: the module is loaded; the driver writes a count, then that many handles, which it takes back.
    unsafe {
        checked(sys::cuModuleGetFunctionCount(&mut count, module).result(), "cuModuleGetFunctionCount")?;
        let mut functions = vec![std::ptr::null_mut(); count as usize];
        checked(
            sys::cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, module).result(),
            "cuModuleEnumerateFunctions",
        )?;
        functions.iter().try_for_each(|&function| checked(sys::cuFuncLoad(function).result(), "cuFuncLoad"))?;
        Ok(functions)
    }
}

/// First driver version that lists the parameters of a kernel and the kernels of a module.
const ENUMERATES: i32 = 12_040;

/// Returns the parameter sizes of a kernel.
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
            other => checked(other.result(), "cuFuncGetParamInfo")?,
        }
        *slot = size as u8;
    }
    Ok(Some((sizes, Function::MOST)))
}

fn kernel_info(resident: i32, module: &'static str, function: Function) -> Result<KernelInfo> {
    let mut name = std::ptr::null();
    // SAFETY: the function is loaded; the name lives as long as it.
    let name = unsafe {
        checked(sys::cuFuncGetName(&mut name, function.handle).result(), "cuFuncGetName")?;
        CStr::from_ptr(name).to_string_lossy().into_owned()
    };
    let max_threads = function.attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    let block = max_threads.min(256);
    let blocks = function.blocks_per_multiprocessor(block as u32, 0)? as i32;
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
