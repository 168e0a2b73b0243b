//! OpenBLAS, loaded at run time, for vectors, and sprs, which multiplies on one thread.

#![allow(unsafe_code)]

use super::Peers;
use libloading::Library;
use minifenl::space::{ExecutionSpace, Threads};
use minifenl::sparse::CrsMatrix;
use minifenl::{Error, Result};
use std::ffi::{CStr, c_char};

/// Names of the library, whose integers have 32 bits.
const NAMES: [&str; 2] = ["libopenblas.so.0", "libopenblas.so"];

type Axpy = unsafe extern "C" fn(i32, f64, *const f64, i32, *mut f64, i32);
type Dot = unsafe extern "C" fn(i32, *const f64, i32, *const f64, i32) -> f64;
type SetThreads = unsafe extern "C" fn(i32);
type Config = unsafe extern "C" fn() -> *const c_char;

/// The functions of OpenBLAS.
#[derive(Clone, Copy, Debug)]
struct OpenBlas {
    axpy: Axpy,
    dot: Dot,
    config: Config,
}

impl OpenBlas {
    /// The library with so many threads, if it is there.
    fn new(threads: usize) -> Option<Self> {
        // SAFETY: the initialisers of the library run, as they do when it is used; it stays loaded, since its threads run on. The
        // types are those of cblas.h.
        unsafe {
            let library = NAMES.iter().find_map(|name| Library::new(*name).ok())?;
            let library: &'static Library = Box::leak(Box::new(library));
            library.get::<SetThreads>(b"openblas_set_num_threads\0").ok()?(threads as i32);
            let (axpy, dot) = (library.get(b"cblas_daxpy\0").ok()?, library.get(b"cblas_ddot\0").ok()?);
            let config = library.get(b"openblas_get_config\0").ok()?;
            Some(OpenBlas { axpy: *axpy, dot: *dot, config: *config })
        }
    }
}

/// The libraries of a host.
#[derive(Debug)]
pub struct HostLibraries {
    blas: Option<OpenBlas>,
    threads: usize,
}

impl HostLibraries {
    fn blas(&self) -> Result<OpenBlas> {
        self.blas.ok_or_else(|| Error::Invalid("no OpenBLAS".into()))
    }
}

impl Peers<Threads> for HostLibraries {
    type Product<'a> = &'a CrsMatrix;

    fn new(space: &Threads) -> (Self, Option<String>) {
        let threads = space.threads();
        let blas = OpenBlas::new(threads);
        let missing = blas.is_none().then(|| format!("OpenBLAS: no {}", NAMES[0]));
        (HostLibraries { blas, threads }, missing)
    }

    fn versions(&self) -> Vec<String> {
        // SAFETY: a string that the library keeps.
        let config = self.blas.map(|blas| unsafe { CStr::from_ptr((blas.config)()) }.to_string_lossy().into_owned());
        config.into_iter().collect()
    }

    fn of_vectors(&self) -> Option<&'static str> {
        self.blas.map(|_| "OpenBLAS")
    }

    fn of_products(&self) -> Option<&'static str> {
        (self.threads == 1).then_some("sprs")
    }

    fn axpy(&self, n: usize, a: f64, x: &[f64], y: &mut [f64]) -> Result<()> {
        let (blas, x, y) = (self.blas()?, &x[..n], &mut y[..n]);
        // SAFETY: both slices have n items.
        unsafe { (blas.axpy)(n as i32, a, x.as_ptr(), 1, y.as_mut_ptr(), 1) };
        Ok(())
    }

    fn dot(&self, n: usize, x: &[f64], y: &[f64]) -> Result<f64> {
        let (blas, x, y) = (self.blas()?, &x[..n], &y[..n]);
        // SAFETY: both slices have n items.
        Ok(unsafe { (blas.dot)(n as i32, x.as_ptr(), 1, y.as_ptr(), 1) })
    }

    fn product<'a>(&'a self, matrix: &'a CrsMatrix) -> Result<&'a CrsMatrix> {
        Ok(matrix)
    }

    fn apply(&self, matrix: &&CrsMatrix, x: &[f64], y: &mut [f64]) -> Result<()> {
        y.fill(0.0);
        sprs::prod::mul_acc_mat_vec_csr(matrix.as_sprs(), x, y);
        Ok(())
    }
}
