//! cuSPARSE and cuBLAS on the stream of a space, loaded at run time; what is missing says so.

#![allow(unsafe_code)]

use crate::clock::{Timing, median};
use crate::groups::{self, Case};
use crate::rows::{Row, Table};
use cudarc::{cublas, cusparse};
use cusparse::sys::{
    cudaDataType::CUDA_R_64F, cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO, cusparseIndexType_t::CUSPARSE_INDEX_32I,
    cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE, cusparseSpMVAlg_t as Algorithm,
};
use minifenl::run::cost;
use minifenl::space::{Cuda, CudaArray, ExecutionSpace};
use minifenl::sparse::{CrsGraph, CrsMatrix};
use minifenl::{Error, Result};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Rows of a slice of cuSPARSE's sliced ELLPACK.
const SLICE: usize = 32;

fn sparse(what: &str, status: cusparse::sys::cusparseStatus_t) -> Result<()> {
    status.result().map_err(|error| Error::Device(format!("cuSPARSE, {what}: {error:?}")))
}

fn dense(what: &str, status: cublas::sys::cublasStatus_t) -> Result<()> {
    status.result().map_err(|error| Error::Device(format!("cuBLAS, {what}: {error:?}")))
}

fn pointer<T: minifenl::space::Item, P>(array: &CudaArray<T>) -> *mut P {
    array.address() as *mut P
}

/// Both libraries on one stream.
#[derive(Debug)]
pub struct Peers<'a> {
    space: &'a Cuda,
    sparse: cusparse::sys::cusparseHandle_t,
    dense: cublas::sys::cublasHandle_t,
    /// Their versions.
    pub versions: (i32, i32),
}

/// A matrix as cuSPARSE holds it, with the arrays that it points to.
#[derive(Debug)]
pub struct Product<'a> {
    peers: &'a Peers<'a>,
    matrix: cusparse::sys::cusparseSpMatDescr_t,
    vectors: [cusparse::sys::cusparseDnVecDescr_t; 2],
    algorithm: Algorithm,
    buffer: CudaArray<u8>,
    _arrays: (CudaArray<i32>, CudaArray<i32>, CudaArray<f64>),
}

impl<'a> Peers<'a> {
    /// The libraries, or which one is missing.
    pub fn new(space: &'a Cuda) -> Result<Self> {
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
        Ok(Peers { space, sparse: sparse_handle, dense: dense_handle, versions })
    }

    /// y += alpha x
    fn axpy(&self, n: usize, alpha: f64, x: &CudaArray<f64>, y: &CudaArray<f64>) -> Result<()> {
        // SAFETY: both arrays have n items; alpha is read during the call.
        dense("daxpy", unsafe {
            cublas::sys::cublasDaxpy_v2(self.dense, n as i32, &alpha, pointer(x), 1, pointer(y), 1)
        })
    }

    /// x.y, on the host: waits.
    fn dot(&self, n: usize, x: &CudaArray<f64>, y: &CudaArray<f64>) -> Result<f64> {
        let mut sum = 0.0;
        // SAFETY: both arrays have n items; the sum is written during the call.
        dense("ddot", unsafe {
            cublas::sys::cublasDdot_v2(self.dense, n as i32, pointer(x), 1, pointer(y), 1, &mut sum)
        })?;
        Ok(sum)
    }

    /// `sum` = x.y, on the device.
    fn dot_on_device(&self, n: usize, x: &CudaArray<f64>, y: &CudaArray<f64>, sum: &mut CudaArray<f64>) -> Result<()> {
        use cublas::sys::cublasPointerMode_t::{CUBLAS_POINTER_MODE_DEVICE, CUBLAS_POINTER_MODE_HOST};
        // SAFETY: as above; the sum has room for one number.
        unsafe {
            dense("mode", cublas::sys::cublasSetPointerMode_v2(self.dense, CUBLAS_POINTER_MODE_DEVICE))?;
            let status = cublas::sys::cublasDdot_v2(self.dense, n as i32, pointer(x), 1, pointer(y), 1, pointer(sum));
            dense("mode", cublas::sys::cublasSetPointerMode_v2(self.dense, CUBLAS_POINTER_MODE_HOST))?;
            dense("ddot", status)
        }
    }

    fn scale(&self, n: usize, alpha: f64, x: &CudaArray<f64>) -> Result<()> {
        // SAFETY: the array has n items.
        dense("dscal", unsafe { cublas::sys::cublasDscal_v2(self.dense, n as i32, &alpha, pointer(x), 1) })
    }

    /// The matrix in compressed rows; offsets of 32 bits.
    pub fn csr(&self, a: &CrsMatrix, algorithm: Algorithm, is_preprocessed: bool) -> Result<Product<'_>> {
        let graph = a.graph();
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

    /// The matrix in slices of 32 rows, padded with column -1.
    pub fn sell(&self, a: &CrsMatrix) -> Result<Product<'_>> {
        let graph = a.graph();
        let (mut offsets, mut columns, mut values) = (vec![0i32], Vec::new(), Vec::new());
        for first in (0..graph.rows()).step_by(SLICE) {
            let rows = first..graph.rows().min(first + SLICE);
            let (width, start) = (rows.clone().map(|row| graph.row(row).len()).max().unwrap_or(0), columns.len());
            columns.resize(start + width * SLICE, -1i32);
            values.resize(start + width * SLICE, 0.0);
            for row in rows {
                for (k, entry) in graph.row_range(row).enumerate() {
                    columns[start + k * SLICE + row - first] = graph.entries()[entry] as i32;
                    values[start + k * SLICE + row - first] = a.values()[entry];
                }
            }
            offsets.push(columns.len() as i32);
        }
        let arrays = self.upload(&offsets, &columns, &values)?;
        let mut matrix = null_mut();
        let [o, c, v] = addresses(&arrays);
        // SAFETY: as above, with the padded length.
        sparse("sell", unsafe {
            cusparse::sys::cusparseCreateSlicedEll(
                &mut matrix,
                graph.rows() as i64,
                graph.columns() as i64,
                graph.nnz() as i64,
                values.len() as i64,
                SLICE as i64,
                o,
                c,
                v,
                CUSPARSE_INDEX_32I,
                CUSPARSE_INDEX_32I,
                CUSPARSE_INDEX_BASE_ZERO,
                CUDA_R_64F,
            )
        })?;
        self.product(matrix, graph, Algorithm::CUSPARSE_SPMV_SELL_ALG1, false, arrays)
    }

    fn upload(&self, offsets: &[i32], columns: &[i32], values: &[f64]) -> Result<Arrays> {
        Ok((self.space.upload(offsets)?, self.space.upload(columns)?, self.space.upload(values)?))
    }

    fn product(
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
        let mut product = Product { peers: self, matrix, vectors, algorithm, buffer: none, _arrays: arrays };
        product.call("buffer", cusparse::sys::cusparseSpMV_bufferSize, &mut bytes)?;
        product.buffer = self.space.zeros::<u8>(bytes.max(1))?;
        if is_preprocessed {
            product.call("preprocess", cusparse::sys::cusparseSpMV_preprocess, pointer(&product.buffer))?;
        }
        Ok(product)
    }
}

type Arrays = (CudaArray<i32>, CudaArray<i32>, CudaArray<f64>);

fn addresses(arrays: &Arrays) -> [*mut c_void; 3] {
    [pointer(&arrays.0), pointer(&arrays.1), pointer(&arrays.2)]
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
        let (handle, operation) = (self.peers.sparse, CUSPARSE_OPERATION_NON_TRANSPOSE);
        // SAFETY: vectors as long as the matrix asks; scalars live during the call; the buffer is as long as asked for.
        let status =
            unsafe { function(handle, operation, alpha, self.matrix, x, beta, y, CUDA_R_64F, self.algorithm, last) };
        sparse(what, status)
    }

    /// y = A x
    pub fn apply(&self, x: &CudaArray<f64>, y: &CudaArray<f64>) -> Result<()> {
        let [dx, dy] = self.vectors;
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

impl Drop for Peers<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and destroyed once.
        unsafe {
            let _ = cusparse::sys::cusparseDestroy(self.sparse);
            let _ = cublas::sys::cublasDestroy_v2(self.dense);
        }
    }
}

/// The table's last row is theirs.
fn mark(table: &mut Table) {
    if let Some(row) = table.rows.last_mut() {
        row.is_peer = true;
    }
}

/// dot and axpy of `n` items.
pub fn vectors(peers: &Peers<'_>, table: &mut Table, n: usize) -> Result<()> {
    let space = peers.space;
    let (x, y) = (space.upload(&vec![1.0; n])?, space.zeros::<f64>(n)?);
    let mut sum = space.zeros(1)?;
    let row = |variant: &str, timing: Timing, item| Row {
        group: "vector",
        variant: variant.into(),
        is_peer: true,
        edge: 0,
        nodes: n,
        timing,
        bytes: item * n as u64,
        own: None,
    };
    table.add(row("cuBLAS ddot", median(space, || peers.dot_on_device(n, &x, &y, &mut sum))?, 16));
    table.add(row("cuBLAS daxpy", median(space, || peers.axpy(n, 1e-3, &x, &y))?, 24));
    Ok(())
}

/// Products by cuSPARSE, and an iteration of CG as its documentation would have one write it: scalars on the host.
pub fn solve(peers: &Peers<'_>, table: &mut Table, case: &Case, expected: &[f64]) -> Result<()> {
    let space = peers.space;
    let variants = [
        ("cuSPARSE CSR default", Algorithm::CUSPARSE_SPMV_ALG_DEFAULT, false),
        ("cuSPARSE CSR ALG1 preprocessed", Algorithm::CUSPARSE_SPMV_CSR_ALG1, true),
        ("cuSPARSE CSR ALG2 preprocessed", Algorithm::CUSPARSE_SPMV_CSR_ALG2, true),
    ];
    for (name, algorithm, is_preprocessed) in variants {
        let product = peers.csr(&case.matrix, algorithm, is_preprocessed)?;
        groups::spmv(space, table, case, name, expected, |x, y| product.apply(x, y))?;
        mark(table);
    }
    let product = peers.sell(&case.matrix)?;
    groups::spmv(space, table, case, "cuSPARSE SELL-32", expected, |x, y| product.apply(x, y))?;
    mark(table);
    drop(product);

    let product = peers.csr(&case.matrix, Algorithm::CUSPARSE_SPMV_CSR_ALG1, true)?;
    let (n, b) = (case.nodes(), space.upload(&case.x)?);
    let [x, p, q, r] = [space.zeros(n)?, b.try_clone()?, space.zeros(n)?, b.try_clone()?];
    let mut rr = peers.dot(n, &r, &r)?;
    let timing = median(space, || {
        // q = A p, alpha = r.r / p.q
        product.apply(&p, &q)?;
        let alpha = rr / peers.dot(n, &p, &q)?;
        // x += alpha p, r -= alpha q
        peers.axpy(n, alpha, &p, &x)?;
        peers.axpy(n, -alpha, &q, &r)?;
        let before = std::mem::replace(&mut rr, peers.dot(n, &r, &r)?);
        // p = r + beta p
        peers.scale(n, rr / before, &p)?;
        peers.axpy(n, 1.0, &r, &p)
    })?;
    table.add(case.row("cg", "cuSPARSE CSR + cuBLAS", timing, cost::cg_iteration(case.sizes).bytes));
    mark(table);
    Ok(())
}
