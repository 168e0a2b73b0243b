//! Sparse matrix times vector, on every space.
//!
//! A product reads 12 bytes per entry (value and column), and per row 8 for the offset and 8 for each vector: 348 bytes for a
//! row of 27 entries in f64. It does 2 flops per entry. Each row is summed in an order that depends on its length alone, so the
//! result does not depend on the space's concurrency.

#[cfg(feature = "cuda")]
mod cuda;
mod host;
mod lanes;

pub(super) use host::dot_of_pieces;
pub use lanes::Lanes;

use super::{CrsGraph, CrsMatrix, RowProduct, StoredValue};
use crate::Result;
use crate::blas::Blas;
use crate::error::check_at_least;
use crate::space::{Item, MemorySpace, Slice};

/// Products of a CRS matrix whose values have type `V` with f64 vectors.
pub trait Spmv<V: Item = f64>: Blas {
    /// Rows whose products share one partial sum in [`spmv_dot`](Self::spmv_dot).
    const ROW_BLOCK: usize;

    /// y = A x
    ///
    /// `x`: at least columns long, `y`: at least rows long.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors.
    fn spmv(&self, a: &CrsMatrix<V, Self::Memory>, x: &Slice<Self, f64>, y: &mut Slice<Self, f64>) -> Result<()>;

    /// y = A x over `rows` and `sums.scalars[slot]` = x.y over all rows up to `rows.end`; nothing once `sums` is stopped.
    ///
    /// The sums of blocks of [`ROW_BLOCK`](Self::ROW_BLOCK) rows go to `sums.partials`. `rows` starts at a block and ends at a block
    /// or at the last row. Callers that split a product pass its ranges in ascending order; the scalar is complete after the
    /// range that contains the last row.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors and rows that begin inside a block, [`Error::Invalid`](crate::Error::Invalid) for rows
    /// outside the matrix, and on hosts for an exchange.
    fn spmv_dot(&self, a: &CrsMatrix<V, Self::Memory>, product: RowProduct<'_, Self>) -> Result<()>;
}

/// Refuses vectors x and y of these lengths that are too short for a matrix.
pub(super) fn check_vectors<M: MemorySpace>(
    operation: &'static str,
    graph: &CrsGraph<M>,
    [x, y]: [usize; 2],
) -> Result<()> {
    check_at_least(operation, "x", x, graph.columns())?;
    check_at_least(operation, "y", y, graph.rows())
}
