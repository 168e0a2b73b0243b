//! cuBLAS and cuSPARSE on the stream of a space, loaded at run time; what is missing says so. The bench `gpu` uses this folder, too.

#![allow(unsafe_code)]

pub mod product;

pub use product::Product;

use cudarc::{cublas, cusparse};
use minifenl::space::{Cuda, CudaArray, Item};
use minifenl::{Error, Result};
use std::ptr::null_mut;

/// Turns a status of cuSPARSE into a result.
pub fn sparse(what: &str, status: cusparse::sys::cusparseStatus_t) -> Result<()> {
    status.result().map_err(|error| Error::Device(format!("cuSPARSE, {what}: {error:?}")))
}

/// Turns a status of cuBLAS into a result.
pub fn dense(what: &str, status: cublas::sys::cublasStatus_t) -> Result<()> {
    status.result().map_err(|error| Error::Device(format!("cuBLAS, {what}: {error:?}")))
}

/// The address of an array, as these libraries take it.
pub fn pointer<T: Item, P>(array: &CudaArray<T>) -> *mut P {
    array.address() as *mut P
}

fn check(fits: bool) -> Result<()> {
    let expected = "expected arrays that hold all items, 2^31 - 1 at most";
    if fits { Ok(()) } else { Err(Error::Invalid(format!("cuBLAS or cuSPARSE: {expected}"))) }
}

/// Both libraries on one stream.
#[derive(Debug)]
pub struct Libraries {
    /// The space of the stream.
    pub space: Cuda,
    /// The handle of cuSPARSE.
    pub sparse: cusparse::sys::cusparseHandle_t,
    /// The handle of cuBLAS.
    pub dense: cublas::sys::cublasHandle_t,
    /// Versions of cuSPARSE and cuBLAS.
    pub versions: (i32, i32),
}

impl Libraries {
    /// The libraries, or which one is missing.
    pub fn new(space: &Cuda) -> Result<Self> {
        let missing =
            |name: &str| Error::Device(format!("no {name} ({}): not on the library path", name.to_lowercase()));
        // SAFETY: the libraries are there when they are called; they write a handle or a number to what they are given.
        unsafe {
            if !cusparse::sys::is_culib_present() {
                return Err(missing("libcusparse"));
            }
            if !cublas::sys::is_culib_present() {
                return Err(missing("libcublas"));
            }
            // A failure below destroys the handles that are there.
            let mut made = Libraries { space: space.clone(), sparse: null_mut(), dense: null_mut(), versions: (0, 0) };
            sparse("create", cusparse::sys::cusparseCreate(&mut made.sparse))?;
            sparse("stream", cusparse::sys::cusparseSetStream(made.sparse, space.raw_stream().cast()))?;
            sparse("version", cusparse::sys::cusparseGetVersion(made.sparse, &mut made.versions.0))?;
            dense("create", cublas::sys::cublasCreate_v2(&mut made.dense))?;
            dense("stream", cublas::sys::cublasSetStream_v2(made.dense, space.raw_stream().cast()))?;
            dense("version", cublas::sys::cublasGetVersion_v2(made.dense, &mut made.versions.1))?;
            Ok(made)
        }
    }

    /// y += alpha x
    pub fn axpy(&self, n: usize, alpha: f64, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        check(x.len().min(y.len()) >= n && n <= i32::MAX as usize)?;
        // SAFETY: both arrays have n items; alpha is read during the call.
        dense("daxpy", unsafe {
            cublas::sys::cublasDaxpy_v2(self.dense, n as i32, &alpha, pointer(x), 1, pointer(y), 1)
        })
    }

    /// x.y, on the host: waits.
    pub fn dot(&self, n: usize, x: &CudaArray<f64>, y: &CudaArray<f64>) -> Result<f64> {
        check(x.len().min(y.len()) >= n && n <= i32::MAX as usize)?;
        let mut sum = 0.0;
        // SAFETY: both arrays have n items; the sum is written during the call.
        dense("ddot", unsafe {
            cublas::sys::cublasDdot_v2(self.dense, n as i32, pointer(x), 1, pointer(y), 1, &mut sum)
        })?;
        Ok(sum)
    }
}

impl Drop for Libraries {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and destroyed once.
        unsafe {
            if !self.sparse.is_null() {
                let _ = cusparse::sys::cusparseDestroy(self.sparse);
            }
            if !self.dense.is_null() {
                let _ = cublas::sys::cublasDestroy_v2(self.dense);
            }
        }
    }
}
