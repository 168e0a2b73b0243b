//! cuSPARSE and cuBLAS beside the library's products and vectors.

#![allow(unsafe_code)]

use crate::clock::{Timing, median};
use crate::groups::{self, Case};
use crate::libraries::product::addresses;
use crate::libraries::{Libraries, Product, dense, pointer, sparse};
use crate::rows::{Row, Table};
use cudarc::{cublas, cusparse};
use cusparse::sys::{
    cudaDataType::CUDA_R_64F, cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO, cusparseIndexType_t::CUSPARSE_INDEX_32I,
    cusparseSpMVAlg_t as Algorithm,
};
use minifenl::Result;
use minifenl::run::cost;
use minifenl::space::{CudaArray, ExecutionSpace};
use minifenl::sparse::CrsMatrix;
use std::ptr::null_mut;

/// Rows of a slice of cuSPARSE's sliced ELLPACK.
const SLICE: usize = 32;

/// `sum` = x.y, on the device.
fn dot_on_device(
    of: &Libraries,
    n: usize,
    x: &CudaArray<f64>,
    y: &CudaArray<f64>,
    sum: &mut CudaArray<f64>,
) -> Result<()> {
    use cublas::sys::cublasPointerMode_t::{CUBLAS_POINTER_MODE_DEVICE, CUBLAS_POINTER_MODE_HOST};
    // SAFETY: as above; the sum has room for one number.
    unsafe {
        dense("mode", cublas::sys::cublasSetPointerMode_v2(of.dense, CUBLAS_POINTER_MODE_DEVICE))?;
        let status = cublas::sys::cublasDdot_v2(of.dense, n as i32, pointer(x), 1, pointer(y), 1, pointer(sum));
        dense("mode", cublas::sys::cublasSetPointerMode_v2(of.dense, CUBLAS_POINTER_MODE_HOST))?;
        dense("ddot", status)
    }
}

/// x *= alpha
fn scale(of: &Libraries, n: usize, alpha: f64, x: &mut CudaArray<f64>) -> Result<()> {
    // SAFETY: the array has n items.
    dense("dscal", unsafe { cublas::sys::cublasDscal_v2(of.dense, n as i32, &alpha, pointer(x), 1) })
}

/// The matrix in slices of 32 rows, padded with column -1.
fn sell<'a>(of: &'a Libraries, a: &CrsMatrix) -> Result<Product<'a>> {
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
    let arrays = of.upload(&offsets, &columns, &values)?;
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
    of.product(matrix, graph, Algorithm::CUSPARSE_SPMV_SELL_ALG1, false, arrays)
}

/// The table's last row is theirs.
fn mark(table: &mut Table) {
    if let Some(row) = table.rows.last_mut() {
        row.is_peer = true;
    }
}

/// dot and axpy of `n` items.
pub fn vectors(peers: &Libraries, table: &mut Table, n: usize) -> Result<()> {
    let space = &peers.space;
    let (x, mut y) = (space.upload(&vec![1.0; n])?, space.zeros::<f64>(n)?);
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
    table.add(row("cuBLAS ddot", median(space, || dot_on_device(peers, n, &x, &y, &mut sum))?, 16));
    table.add(row("cuBLAS daxpy", median(space, || peers.axpy(n, 1e-3, &x, &mut y))?, 24));
    Ok(())
}

/// Products by cuSPARSE, and an iteration of CG as its documentation would have one write it: scalars on the host.
pub fn solve(peers: &Libraries, table: &mut Table, case: &Case, expected: &[f64]) -> Result<()> {
    let space = &peers.space;
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
    let product = sell(peers, &case.matrix)?;
    groups::spmv(space, table, case, "cuSPARSE SELL-32", expected, |x, y| product.apply(x, y))?;
    mark(table);
    drop(product);

    let product = peers.csr(&case.matrix, Algorithm::CUSPARSE_SPMV_CSR_ALG1, true)?;
    let (n, b) = (case.nodes(), space.upload(&case.x)?);
    let [mut x, mut p, mut q, mut r] = [space.zeros(n)?, b.try_clone()?, space.zeros(n)?, b.try_clone()?];
    let mut rr = peers.dot(n, &r, &r)?;
    let timing = median(space, || {
        // q = A p, alpha = r.r / p.q
        product.apply(&p, &mut q)?;
        let alpha = rr / peers.dot(n, &p, &q)?;
        // x += alpha p, r -= alpha q
        peers.axpy(n, alpha, &p, &mut x)?;
        peers.axpy(n, -alpha, &q, &mut r)?;
        let before = std::mem::replace(&mut rr, peers.dot(n, &r, &r)?);
        // p = r + beta p
        scale(peers, n, rr / before, &mut p)?;
        peers.axpy(n, 1.0, &r, &mut p)
    })?;
    table.add(case.row("cg", "cuSPARSE CSR + cuBLAS", timing, cost::cg_iteration(case.sizes).bytes));
    mark(table);
    Ok(())
}
