//! Loops by hand on a GPU: `kernels.cu`, compiled and launched without the layer.

#![allow(unsafe_code)]

use super::{Native, Neighbours, Way};
use crate::functions::VECTORS;
use crate::rows::Rows;
use cudarc::driver::{result, sys};
use minifenl::space::cuda::Architecture;
use minifenl::space::{Cuda, CudaArray, ExecutionSpace};
use minifenl::{Error, Result};
use std::cell::RefCell;
use std::ffi::{CString, c_void};

/// The kernels.
pub const TEXT: &str = include_str!("kernels.cu");
const THREADS: u32 = 256;
/// Threads of a row, as in the kernel.
const LANES: usize = 8;
/// Items of a block of products, as in the kernel.
const ITEMS: usize = 2048;
/// Blocks of a sum per multiprocessor.
const BLOCKS: usize = 8;

/// The compiled kernels, and the memory of sums.
#[derive(Debug)]
pub struct DeviceLoops {
    space: Cuda,
    functions: [sys::CUfunction; 10],
    partials: RefCell<[CudaArray<f64>; 2]>,
}

/// The kernels in the order of the functions.
#[derive(Clone, Copy)]
enum Kernel {
    Axpby,
    Triad,
    Dot,
    Total,
    Gram,
    Spmv,
    Forces,
    Racy,
    Atomic,
    Exchange,
}

fn failed(what: &str, error: result::DriverError) -> Error {
    Error::Device(format!("{what}: {error}"))
}

impl DeviceLoops {
    fn blocks(&self, n: usize) -> usize {
        let resident = BLOCKS * self.space.device().info().multiprocessors as usize;
        n.div_ceil(THREADS as usize).clamp(1, resident)
    }

    fn launch(&self, kernel: Kernel, blocks: usize, arguments: &mut [*mut c_void]) -> Result<()> {
        if blocks == 0 {
            return Ok(());
        }
        let (function, stream) = (self.functions[kernel as usize], self.space.raw_stream().cast());
        // SAFETY: the arguments have the types of the kernel's parameters, and callers check that arrays are long enough.
        let done =
            unsafe { result::launch_kernel(function, (blocks as u32, 1, 1), (THREADS, 1, 1), 0, stream, arguments) };
        done.map_err(|error| failed("a kernel by hand", error))
    }
}

/// Pointers to the arguments.
macro_rules! pointers {
    ($($argument:ident),*) => { &mut [$((&raw const $argument).cast_mut().cast::<c_void>()),*] };
}

fn check(is_long: bool) -> Result<()> {
    if is_long { Ok(()) } else { Err(Error::Invalid("a kernel by hand: an array is too short".into())) }
}

impl Native<Cuda> for DeviceLoops {
    fn new(space: &Cuda) -> Result<Self> {
        let (major, minor) = space.device().info().capability;
        let mut image = Architecture::new(&format!("sm_{major}{minor}"))?.compile("by_hand", TEXT)?;
        image.push(0);
        let partials =
            RefCell::new([space.zeros(BLOCKS * space.device().info().multiprocessors as usize)?, space.zeros(1)?]);
        // SAFETY: a whole image; the space has made its context current on this thread.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) };
        let module = module.map_err(|error| failed("loading kernels by hand", error))?;
        let mut functions = [std::ptr::null_mut(); 10];
        let names =
            [c"axpby", c"triad", c"dot", c"total", c"gram", c"spmv", c"forces", c"racy", c"atomic", c"exchange"];
        for (function, name) in functions.iter_mut().zip(names) {
            // SAFETY: the module is loaded, and stays so.
            let found = unsafe { result::module::get_function(module, CString::from(name)) };
            *function = found.map_err(|error| failed("a kernel by hand", error))?;
        }
        Ok(DeviceLoops { space: space.clone(), functions, partials })
    }

    fn axpby(&self, n: usize, a: f64, x: &CudaArray<f64>, b: f64, y: &mut CudaArray<f64>) -> Result<()> {
        check(x.len().min(y.len()) >= n)?;
        let (count, x, y) = (n as u64, x.address(), y.address());
        self.launch(Kernel::Axpby, n.div_ceil(THREADS as usize), pointers![count, a, x, b, y])
    }

    fn dot(&self, n: usize, x: &CudaArray<f64>, y: &CudaArray<f64>) -> Result<f64> {
        check(x.len().min(y.len()) >= n)?;
        let partials = self.partials.borrow_mut();
        let (count, blocks) = (n as u64, self.blocks(n) as u64);
        let (x, y, sums, sum) = (x.address(), y.address(), partials[0].address(), partials[1].address());
        self.launch(Kernel::Dot, blocks as usize, pointers![count, x, y, sums])?;
        self.launch(Kernel::Total, 1, pointers![blocks, sums, sum])?;
        let mut found = [0.0];
        self.space.read(&partials[1], &mut found)?;
        Ok(found[0])
    }

    fn triad(&self, n: usize, x: &CudaArray<f64>, a: f64, y: &CudaArray<f64>, z: &mut CudaArray<f64>) -> Result<()> {
        check(x.len().min(y.len()).min(z.len()) >= n)?;
        let (count, x, y, z) = (n as u64, x.address(), y.address(), z.address());
        self.launch(Kernel::Triad, n.div_ceil(THREADS as usize), pointers![count, x, a, y, z])
    }

    fn gram(&self, n: usize, vectors: [&CudaArray<f64>; VECTORS], products: &mut CudaArray<f64>) -> Result<()> {
        check(vectors.iter().all(|vector| vector.len() >= n) && products.len() >= VECTORS * VECTORS)?;
        let (count, vectors, products) = (n as u64, vectors.map(|vector| vector.address()), products.address());
        self.launch(Kernel::Gram, n.div_ceil(ITEMS), pointers![count, vectors, products])
    }

    fn spmv(&self, rows: usize, a: &Rows<Cuda>, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        check(a.starts.len() > rows && x.len().min(y.len()) >= rows)?;
        let (count, starts, columns, values) =
            (rows as u64, a.starts.address(), a.columns.address(), a.values.address());
        let (x, y) = (x.address(), y.address());
        let blocks = (LANES * rows).div_ceil(THREADS as usize);
        self.launch(Kernel::Spmv, blocks, pointers![count, starts, columns, values, x, y])
    }

    fn add(&self, way: Way, list: &CudaArray<u32>, cells: &mut CudaArray<f64>) -> Result<()> {
        let kernel = match way {
            Way::Racy => Kernel::Racy,
            Way::Atomic => Kernel::Atomic,
            Way::Exchange => Kernel::Exchange,
        };
        let (count, list, cells) = (list.len() as u64 / 8, list.address(), cells.address());
        self.launch(kernel, (count as usize).div_ceil(THREADS as usize), pointers![count, list, cells])
    }

    fn forces(&self, n: usize, of: &Neighbours<'_, Cuda>, f: &mut CudaArray<f64>) -> Result<()> {
        check(of.counts.len() >= n && of.x.len().min(f.len()) >= 3 * n)?;
        let [atom_step, neighbour_step] = of.steps.map(|step| step as u64);
        let (count, x, counts, list, cutoff, f) =
            (n as u64, of.x.address(), of.counts.address(), of.list.address(), of.cutoff, f.address());
        self.launch(
            Kernel::Forces,
            n.div_ceil(THREADS as usize),
            pointers![count, x, counts, list, atom_step, neighbour_step, cutoff, f],
        )
    }
}
