//! Products and transposes of sparse matrices, on every space.
//!
//! ```text
//! plan     per row i of A: columns of the rows A[i, :] of B, each once, sorted; count, scan, allocate, fill
//! values   C[i, :] = sum over k of A[i, k] B[k, :]                                                          2 flops per pair
//! ```
//! (Gustavson 1978.) A plan serves all values on its graphs. Rows do not depend on one another, and each entry is summed in the order of
//! A's entries without fused operations, so all spaces give the same bits.
//!
//! Columns of B may come in groups of `width`, as those of a prolongator with several coarse unknowns per aggregate: the plan then looks
//! for groups, and sums add whole groups.

mod by_rows;
#[cfg(feature = "cuda")]
mod cuda;
mod host;
#[cfg(test)]
mod tests;
mod transpose;

pub(crate) use by_rows::graph_by_rows;
#[cfg(feature = "cuda")]
pub(crate) use cuda::ByColumn;

use super::{CrsGraph, CrsMatrix, GraphOf, MatrixOf};
use crate::blas::Blas;
use crate::error::{check_at_least, check_length};
use crate::space::{HostMemory, MemorySpace, Slice};
use crate::{Error, Result};
use std::sync::Arc;

/// A space that multiplies and transposes sparse matrices.
pub trait MatrixAlgebra: Blas {
    /// Returns the graph of A B, for shapes that [`Spgemm::new`] has checked.
    ///
    /// # Errors
    /// As [`Spgemm::new`].
    fn product_graph(&self, a: &GraphOf<Self>, b: &GraphOf<Self>, width: usize) -> Result<GraphOf<Self>>;

    /// Overwrites the first items of `c` with the values of A B on its graph, for matrices that [`Spgemm::values`] has checked.
    ///
    /// # Errors
    /// As [`Spgemm::values`].
    fn product_values(
        &self,
        graph: &GraphOf<Self>,
        factors: [&MatrixOf<Self>; 2],
        width: usize,
        c: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// Returns A^T. Sorted as every graph.
    ///
    /// # Errors
    /// [`Error::Invalid`] for 2^32 entries or more on a GPU; [`Error::OutOfMemory`]; a device's failure.
    fn transpose(&self, a: &MatrixOf<Self>) -> Result<MatrixOf<Self>>;
}

/// The graph of a product, for values on the graphs that it was planned for.
#[derive(Clone, Debug)]
pub struct Spgemm<M: MemorySpace = HostMemory> {
    graph: Arc<CrsGraph<M>>,
    factors: [u64; 2],
    width: usize,
}

impl<M: MemorySpace> Spgemm<M> {
    /// Plans A B. The entries of each row of B are whole groups of `width` columns from multiples of `width` on; 1 for any B.
    ///
    /// # Errors
    /// [`Error::Shape`] unless B has a row per column of A, [`Error::Invalid`] for a row of B that is not whole groups,
    /// [`Error::OutOfMemory`]; a device's failure.
    pub fn new<S: MatrixAlgebra<Memory = M>>(
        space: &S,
        a: &CrsGraph<M>,
        b: &CrsGraph<M>,
        width: usize,
    ) -> Result<Self> {
        check_length("Spgemm::new", "rows of b", b.rows(), a.columns())?;
        if width == 0 {
            return Err(Error::Invalid("Spgemm::new: width is 0, expected at least 1".into()));
        }
        let graph = space.product_graph(a, b, width)?;
        Ok(Spgemm { graph: Arc::new(graph), factors: [a.number(), b.number()], width })
    }

    /// Returns the graph of C.
    pub fn graph(&self) -> &Arc<CrsGraph<M>> {
        &self.graph
    }

    /// Overwrites the first items of `c`, one per entry of the graph, with the values of A B.
    ///
    /// # Errors
    /// [`Error::Invalid`] for matrices on other graphs than those of the plan, [`Error::Shape`] for too few values,
    /// [`Error::OutOfMemory`]; a device's failure.
    pub fn values<S: MatrixAlgebra<Memory = M>>(
        &self,
        space: &S,
        a: &CrsMatrix<f64, M>,
        b: &CrsMatrix<f64, M>,
        c: &mut M::Slice<f64>,
    ) -> Result<()> {
        if [a.graph().number(), b.graph().number()] != self.factors {
            return Err(Error::Invalid("Spgemm::values: expected matrices on the graphs of the plan".into()));
        }
        check_at_least("Spgemm::values", "c", M::len(c), self.graph.nnz())?;
        space.product_values(&self.graph, [a, b], self.width, c)
    }
}
