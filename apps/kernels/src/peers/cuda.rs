//! cuBLAS and cuSPARSE on the stream of a space, loaded at run time; what is missing says so. The bench `gpu` uses this file, too.

#![allow(unsafe_code)]

use cudarc::{cublas, cusparse};
use cusparse::sys::{
    cudaDataType::CUDA_R_64F, cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO, cusparseIndexType_t::CUSPARSE_INDEX_32I,
    cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE, cusparseSpMVAlg_t as Algorithm,
};
use minifenl::space::{Cuda, CudaArray, ExecutionSpace, Item};
use minifenl::sparse::{CrsGraph, CrsMatrix};
use minifenl::{Error, Result};
use std::ffi::c_void;
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

/// A matrix as cuSPARSE holds it, with the arrays that it points to.
#[derive(Debug)]
pub struct Product<'a> {
    libraries: &'a Libraries,
    matrix: cusparse::sys::cusparseSpMatDescr_t,
    vectors: [cusparse::sys::cusparseDnVecDescr_t; 2],
    lengths: [usize; 2],
    algorithm: Algorithm,
    buffer: CudaArray<u8>,
    _arrays: Arrays,
}

/// Offsets, columns and values.
pub type Arrays = (CudaArray<i32>, CudaArray<i32>, CudaArray<f64>);

/// The addresses of the arrays of a matrix.
pub fn addresses(arrays: &Arrays) -> [*mut c_void; 3] {
    [pointer(&arrays.0), pointer(&arrays.1), pointer(&arrays.2)]
}

impl Libraries {
    /// The libraries, or which one is missing.
    pub fn new(space: &Cuda) -> Result<Self> {
        let missing =
            |name: &str| Error::Device(format!("no {name} ({}): not on the library path", name.to_lowercase()));
        let (mut sparse_handle, mut dense_handle, mut versions) = (null_mut(), null_mut(), (0, 0));
        // SAFETY: the libraries are there when they are called; they write a handle or a number to what they are given.
        unsafe {
            if !cusparse::sys::is_culib_present() {
                return Err(missing("libcusparse"));
            }
            if !cublas::sys::is_culib_present() {
                return Err(missing("libcublas"));
            }
            sparse("create", cusparse::sys::cusparseCreate(&mut sparse_handle))?;
            sparse("stream", cusparse::sys::cusparseSetStream(sparse_handle, space.raw_stream().cast()))?;
            sparse("version", cusparse::sys::cusparseGetVersion(sparse_handle, &mut versions.0))?;
            dense("create", cublas::sys::cublasCreate_v2(&mut dense_handle))?;
            dense("stream", cublas::sys::cublasSetStream_v2(dense_handle, space.raw_stream().cast()))?;
            dense("version", cublas::sys::cublasGetVersion_v2(dense_handle, &mut versions.1))?;
        }
        Ok(Libraries { space: space.clone(), sparse: sparse_handle, dense: dense_handle, versions })
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

    /// The matrix in compressed rows; offsets of 32 bits.
    pub fn csr(&self, a: &CrsMatrix, algorithm: Algorithm, is_preprocessed: bool) -> Result<Product<'_>> {
        let graph = a.graph();
        check(graph.nnz() <= i32::MAX as usize)?;
        let offsets: Vec<i32> = graph.row_map().iter().map(|&offset| offset as i32).collect();
        let columns: Vec<i32> = graph.entries().iter().map(|&column| column as i32).collect();
        let arrays = self.upload(&offsets, &columns, a.values())?;
        let (rows, nnz, mut matrix) = (graph.rows() as i64, graph.nnz() as i64, null_mut());
        let columns = graph.columns() as i64;
        let [o, c, v] = addresses(&arrays);
        // SAFETY: the arrays are as long as a graph's are, and live as long as the product.
        sparse("csr", unsafe {
            cusparse::sys::cusparseCreateCsr(
                &mut matrix,
                rows,
                columns,
                nnz,
                o,
                c,
                v,
                CUSPARSE_INDEX_32I,
                CUSPARSE_INDEX_32I,
                CUSPARSE_INDEX_BASE_ZERO,
                CUDA_R_64F,
            )
        })?;
        self.product(matrix, graph, algorithm, is_preprocessed, arrays)
    }

    /// Copies the arrays of a matrix.
    pub fn upload(&self, offsets: &[i32], columns: &[i32], values: &[f64]) -> Result<Arrays> {
        Ok((self.space.upload(offsets)?, self.space.upload(columns)?, self.space.upload(values)?))
    }

    /// y = A x with a matrix that cuSPARSE knows, whose arrays these are.
    pub fn product(
        &self,
        matrix: cusparse::sys::cusparseSpMatDescr_t,
        graph: &CrsGraph,
        algorithm: Algorithm,
        is_preprocessed: bool,
        arrays: Arrays,
    ) -> Result<Product<'_>> {
        let (x, y) = (self.space.zeros::<f64>(graph.columns())?, self.space.zeros::<f64>(graph.rows())?);
        let (mut vectors, mut bytes) = ([null_mut(); 2], 0);
        for (vector, array) in vectors.iter_mut().zip([&x, &y]) {
            // SAFETY: the vector is as long as its array.
            sparse("vector", unsafe {
                cusparse::sys::cusparseCreateDnVec(vector, array.len() as i64, pointer(array), CUDA_R_64F)
            })?;
        }
        let none = self.space.zeros::<u8>(1)?;
        let lengths = [x.len(), y.len()];
        let mut product =
            Product { libraries: self, matrix, vectors, lengths, algorithm, buffer: none, _arrays: arrays };
        product.call("buffer", cusparse::sys::cusparseSpMV_bufferSize, &mut bytes)?;
        product.buffer = self.space.zeros::<u8>(bytes.max(1))?;
        if is_preprocessed {
            product.call("preprocess", cusparse::sys::cusparseSpMV_preprocess, pointer(&product.buffer))?;
        }
        Ok(product)
    }
}

/// A function of cuSPARSE's about y = alpha A x + beta y; they differ in what comes last.
type Call<L> = unsafe fn(
    cusparse::sys::cusparseHandle_t,
    cusparse::sys::cusparseOperation_t,
    *const c_void,
    cusparse::sys::cusparseConstSpMatDescr_t,
    cusparse::sys::cusparseConstDnVecDescr_t,
    *const c_void,
    cusparse::sys::cusparseDnVecDescr_t,
    cusparse::sys::cudaDataType,
    Algorithm,
    *mut L,
) -> cusparse::sys::cusparseStatus_t;

impl Product<'_> {
    /// Calls for y = A x; `last` is where a number goes, or the buffer.
    fn call<L>(&self, what: &str, function: Call<L>, last: *mut L) -> Result<()> {
        let (alpha, beta, [x, y]) = (1.0f64, 0.0f64, self.vectors);
        let (alpha, beta) = ((&raw const alpha).cast::<c_void>(), (&raw const beta).cast::<c_void>());
        let (handle, operation) = (self.libraries.sparse, CUSPARSE_OPERATION_NON_TRANSPOSE);
        // SAFETY: vectors as long as the matrix asks; scalars live during the call; the buffer is as long as asked for.
        let status =
            unsafe { function(handle, operation, alpha, self.matrix, x, beta, y, CUDA_R_64F, self.algorithm, last) };
        sparse(what, status)
    }

    /// y = A x
    pub fn apply(&self, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        let [dx, dy] = self.vectors;
        check(x.len() >= self.lengths[0] && y.len() >= self.lengths[1])?;
        // SAFETY: vectors as long as at the product's making.
        unsafe {
            sparse("x", cusparse::sys::cusparseDnVecSetValues(dx, pointer(x)))?;
            sparse("y", cusparse::sys::cusparseDnVecSetValues(dy, pointer(y)))?;
        }
        self.call("spmv", cusparse::sys::cusparseSpMV, pointer(&self.buffer))
    }
}

impl Drop for Product<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `product`, and destroyed once.
        unsafe {
            for vector in self.vectors {
                let _ = cusparse::sys::cusparseDestroyDnVec(vector.cast_const());
            }
            let _ = cusparse::sys::cusparseDestroySpMat(self.matrix.cast_const());
        }
    }
}

impl Drop for Libraries {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and destroyed once.
        unsafe {
            let _ = cusparse::sys::cusparseDestroy(self.sparse);
            let _ = cublas::sys::cublasDestroy_v2(self.dense);
        }
    }
}
