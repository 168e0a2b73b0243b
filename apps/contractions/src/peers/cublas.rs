//! cuBLAS on the stream of a space, loaded at run time; what is missing says so.
//!
//! Per cell, in its column-major eyes: out (R x L) = right (K x R) transposed x left (K x L). Strided batches: a call for
//! all cells. Only the right layout has matrices with a packed dimension.

#![allow(unsafe_code)]

use crate::sweep::case::Case;
use cudarc::cublas::sys as blas;
use minifenl::space::lanes::Real;
use minifenl::space::{Cuda, CudaArray, Layout};
use minifenl::{Error, Result};
use std::any::TypeId;
use std::ptr::null_mut;
use std::sync::OnceLock;

use blas::cublasOperation_t::{CUBLAS_OP_N as PLAIN, CUBLAS_OP_T as TRANSPOSED};

/// A handle, made at the first call.
#[derive(Debug, Default)]
pub struct Handles(OnceLock<std::result::Result<usize, String>>);

fn done(what: &str, status: blas::cublasStatus_t) -> Result<()> {
    status.result().map_err(|error| Error::Device(format!("cuBLAS {what}: {error:?}")))
}

impl Handles {
    fn handle(&self, space: &Cuda) -> Result<blas::cublasHandle_t> {
        let made = self.0.get_or_init(|| {
            // SAFETY: the library is there when it is called; it writes a handle to what it is given.
            unsafe {
                if !blas::is_culib_present() {
                    return Err("no libcublas on the library path".into());
                }
                let mut handle = null_mut();
                done("create", blas::cublasCreate_v2(&mut handle)).map_err(|error| error.to_string())?;
                let status = blas::cublasSetStream_v2(handle, space.raw_stream().cast());
                done("stream", status).map_err(|error| error.to_string())?;
                Ok(handle as usize)
            }
        });
        made.clone().map(|handle| handle as blas::cublasHandle_t).map_err(Error::Device)
    }

    /// One call for all cells.
    pub fn contract<T: Real>(
        &self,
        name: &str,
        space: &Cuda,
        case: &Case,
        layout: Layout,
        left: &CudaArray<T>,
        right: &CudaArray<T>,
        out: &mut CudaArray<T>,
    ) -> Result<()> {
        let is_vector = name == "cublas-gemv";
        if layout != Layout::Right {
            return Err(Error::Invalid("only in the right layout".into()));
        }
        if is_vector && case.fields[0] > 1 {
            return Err(Error::Invalid("a product of matrices".into()));
        }
        let handle = self.handle(space)?;
        let sizes = [case.fields[0], case.fields[1], case.terms(), case.cells];
        let [l, r, k, cells] = sizes.map(|size| size as i32);
        if sizes.iter().any(|size| *size > i32::MAX as usize) {
            return Err(Error::Invalid("sizes of 32 bits".into()));
        }
        let [sl, sr, so] = [l * k, r * k, l * r].map(i64::from);
        // SAFETY: arrays of a case, so as long as cells times the strides; scalars are read during the call.
        let status = unsafe {
            if TypeId::of::<T>() == TypeId::of::<f32>() {
                let [a, b, c] = [left, right, out].map(|array| array.address() as *mut f32);
                let (one, zero) = (1.0f32, 0.0f32);
                if is_vector {
                    blas::cublasSgemvStridedBatched(
                        handle, TRANSPOSED, k, r, &one, b, k, sr, a, 1, sl, &zero, c, 1, so, cells,
                    )
                } else {
                    blas::cublasSgemmStridedBatched(
                        handle, TRANSPOSED, PLAIN, r, l, k, &one, b, k, sr, a, k, sl, &zero, c, r, so, cells,
                    )
                }
            } else {
                let [a, b, c] = [left, right, out].map(|array| array.address() as *mut f64);
                let (one, zero) = (1.0f64, 0.0f64);
                if is_vector {
                    blas::cublasDgemvStridedBatched(
                        handle, TRANSPOSED, k, r, &one, b, k, sr, a, 1, sl, &zero, c, 1, so, cells,
                    )
                } else {
                    blas::cublasDgemmStridedBatched(
                        handle, TRANSPOSED, PLAIN, r, l, k, &one, b, k, sr, a, k, sl, &zero, c, r, so, cells,
                    )
                }
            }
        };
        done(name, status)
    }
}
