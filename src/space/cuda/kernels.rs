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
use std::sync::{Mutex, MutexGuard, OnceLock};
use xxhash_rust::xxh3::xxh3_128;

/// The modules loaded so far on one device.
#[derive(Debug)]
pub(super) struct Modules {
    pub info: DeviceInfo,
    architecture: OnceLock<Architecture>,
    loaded: Mutex<HashMap<FileKey, sys::CUmodule>>,
    /// Entry points with address and length of their names. A launch costs the host about 3 us, which is as long as a small kernel
    /// runs, so it finds its entry point by one cheap hash.
    known: Mutex<HashMap<(FileKey, usize, usize), Function, FixedState>>,
}

/// Identifies a compiled file: the address of its `static` and the key of the text in front.
type FileKey = (usize, u128);

fn file_key(file: &'static KernelFile, front: u128) -> FileKey {
    (std::ptr::from_ref(file) as usize, front)
}

/// The key of defines in front of a kernel file; they are empty for a file that is compiled as it is.
pub(super) fn key_of(defines: &str) -> u128 {
    xxh3_128(defines.as_bytes())
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
    /// The key of the text: hashes addresses and lengths of its parts in place of their bytes.
    pub fn key(&self) -> u128 {
        let [[a, b], [c, d], [e, f]] =
            [self.text, self.name, self.operation].map(|text| [text.as_ptr() as usize, text.len()]);
        let [g, h, i] = self.arrays;
        xxh3_128([a, b, c, d, e, f, g, h, i].map(usize::to_ne_bytes).as_flattened())
    }
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
        Modules { info, architecture: OnceLock::new(), loaded: Mutex::default(), known: Mutex::default() }
    }

    /// Returns the entry point `name` of `file` compiled with the text in front that `key` identifies; makes the text, compiles and
    /// loads the file at its first use.
    pub fn function(
        &self,
        file: &'static KernelFile,
        key: u128,
        front: impl FnOnce() -> String,
        name: &'static str,
    ) -> Result<Function> {
        let entry = (file_key(file, key), name.as_ptr() as usize, name.len());
        if let Some(function) = locked(&self.known).get(&entry) {
            return Ok(*function);
        }
        let symbol = CString::new(name)
            .map_err(|_| Error::Device(format!("{name}: a kernel name without zero bytes is expected")))?;
        let module = self.module(file, key, || self.image(file, &front()))?;
        // SAFETY: the module is loaded.
        let handle = unsafe { result::module::get_function(module, symbol) };
        let handle = checked(handle, &format!("kernel {name} of {}.cu", file.name()))?;
        let function = Function { handle, parameters: parameters(handle, self.info.driver)? };
        locked(&self.known).insert(entry, function);
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

    /// Returns the machine code of a file, from the cache on disk or compiled.
    fn image(&self, file: &KernelFile, defines: &str) -> Result<Vec<u8>> {
        self.architecture()?.cached(file.name(), &file.source(defines), self.info.driver)
    }

    /// Returns a module, loaded from its machine code at the first use.
    fn module(
        &self,
        file: &'static KernelFile,
        key: u128,
        image: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<sys::CUmodule> {
        let mut loaded = locked(&self.loaded);
        if let Some(module) = loaded.get(&file_key(file, key)) {
            return Ok(*module);
        }
        let module = module_of(file, image()?)?;
        loaded.insert(file_key(file, key), module);
        Ok(module)
    }

    /// Returns the resources of every kernel of `files`, sorted by file and name.
    /// `resident` is the number of threads that a multiprocessor of the device can hold.
    pub fn listed(&self, resident: i32, files: &[&'static KernelFile]) -> Result<Vec<KernelInfo>> {
        if self.info.driver < ENUMERATES {
            return Err(Error::Device("listing kernels needs a driver for CUDA 12.4 or later".into()));
        }
        let mut all = Vec::new();
        for file in files {
            for handle in load_all(self.module(file, key_of(""), || self.image(file, ""))?)? {
                all.push(kernel_info(resident, file.name(), Function { handle, parameters: None })?);
            }
        }
        all.sort_by(|a, b| (a.module, &a.name).cmp(&(b.module, &b.name)));
        Ok(all)
    }

    /// Compiles and loads all kernels of a file with these defines; those loaded before cost nothing.
    pub fn load(&self, file: &'static KernelFile, defines: &str) -> Result<()> {
        let module = self.module(file, key_of(defines), || self.image(file, defines))?;
        if self.info.driver >= ENUMERATES {
            load_all(module)?;
        }
        Ok(())
    }

    /// As [`load`](Self::load) for several files without defines, which the cores that this process may use compile side by side.
    pub fn load_files(&self, files: &[&'static KernelFile]) -> Result<()> {
        let is_missing = |file: &&&'static KernelFile| !locked(&self.loaded).contains_key(&file_key(file, key_of("")));
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
            let not_compiled = || Err(Error::Device(format!("{}.cu: not compiled", file.name())));
            self.module(file, key_of(""), || image.into_inner().unwrap_or_else(not_compiled))?;
        }
        files.iter().try_for_each(|file| self.load(file, ""))
    }

    /// Unloads all modules. No kernel may be running.
    pub fn unload(&self) {
        for (_, module) in locked(&self.loaded).drain() {
            // SAFETY: `module` loaded it, and no kernel of it runs.
            let _ = unsafe { result::module::unload(module) };
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Loads the machine code of a file.
fn module_of(file: &KernelFile, mut image: Vec<u8>) -> Result<sys::CUmodule> {
    image.push(0);
    let loading = format!("loading {}.cu", file.name());
    before(&loading)?;
    // SAFETY: a whole image (PTX ends with a zero), read during the call only.
    made(unsafe { result::module::load_data(image.as_ptr().cast::<c_void>()) }, &loading)
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
