//! Products with a sparse matrix by cuSPARSE.

use super::{Libraries, check, pointer, sparse};
use cudarc::cusparse;
use cusparse::sys::{
    cudaDataType::CUDA_R_64F, cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO, cusparseIndexType_t::CUSPARSE_INDEX_32I,
    cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE, cusparseSpMVAlg_t as Algorithm,
};
use minifenl::Result;
use minifenl::space::{CudaArray, ExecutionSpace};
use minifenl::sparse::{CrsGraph, CrsMatrix};
use std::ffi::c_void;
use std::ptr::null_mut;

/// A matrix as cuSPARSE holds it, with the arrays that it points to.
#[derive(Debug)]
pub struct Product<'a> {
    libraries: &'a Libraries,
    matrix: cusparse::sys::cusparseSpMatDescr_t,
    vectors: [cusparse::sys::cusparseDnVecDescr_t; 2],
    lengths: [usize; 2],
    algorithm: Algorithm,
    buffer: Option<CudaArray<u8>>,
    _arrays: Arrays,
}

/// Offsets, columns and values.
pub type Arrays = (CudaArray<i32>, CudaArray<i32>, CudaArray<f64>);

/// The addresses of the arrays of a matrix.
pub fn addresses(arrays: &Arrays) -> [*mut c_void; 3] {
    [pointer(&arrays.0), pointer(&arrays.1), pointer(&arrays.2)]
}

impl Libraries {
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
        let (mut bytes, lengths) = (0, [graph.columns(), graph.rows()]);
        // A failure below destroys the descriptors that are there.
        let mut product = Product {
            libraries: self,
            matrix,
            vectors: [null_mut(); 2],
            lengths,
            algorithm,
            buffer: None,
            _arrays: arrays,
        };
        let (x, y) = (self.space.zeros::<f64>(graph.columns())?, self.space.zeros::<f64>(graph.rows())?);
        for (vector, array) in product.vectors.iter_mut().zip([&x, &y]) {
            // SAFETY: the vector is as long as its array.
            sparse("vector", unsafe {
                cusparse::sys::cusparseCreateDnVec(vector, array.len() as i64, pointer(array), CUDA_R_64F)
            })?;
        }
        product.call("buffer", cusparse::sys::cusparseSpMV_bufferSize, &mut bytes)?;
        product.buffer = Some(self.space.zeros::<u8>(bytes.max(1))?);
        if is_preprocessed {
            product.call("preprocess", cusparse::sys::cusparseSpMV_preprocess, product.work())?;
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

    /// The address of the buffer.
    fn work(&self) -> *mut c_void {
        self.buffer.as_ref().map_or(null_mut(), pointer)
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
        self.call("spmv", cusparse::sys::cusparseSpMV, self.work())
    }
}

impl Drop for Product<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `product`, and destroyed once.
        unsafe {
            for vector in self.vectors.into_iter().filter(|vector| !vector.is_null()) {
                let _ = cusparse::sys::cusparseDestroyDnVec(vector.cast_const());
            }
            let _ = cusparse::sys::cusparseDestroySpMat(self.matrix.cast_const());
        }
    }
}
