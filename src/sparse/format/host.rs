//! Products with the CRS arrays themselves, on every space.

use super::Product;
use crate::Result;
use crate::blas::{Blas, Reductions};
use crate::space::{Item, Slice};
use crate::sparse::{CrsMatrix, Spmv};
use crate::{LocalOrdinal, RowOffset};
use std::ops::Range;

/// A matrix in CRS, on every space.
impl<V: Item, S: Blas + Spmv<V>> Product<S> for &CrsMatrix<V, S::Memory> {
    const ROW_BLOCK: usize = <S as Spmv<V>>::ROW_BLOCK;

    fn extents(&self) -> (usize, usize) {
        (self.graph().rows(), self.graph().columns())
    }

    fn bytes(&self) -> usize {
        let (rows, columns) = (self.graph().rows(), self.graph().columns());
        let entry = size_of::<V>() + size_of::<LocalOrdinal>();
        entry * self.graph().nnz() + size_of::<RowOffset>() * (rows + 1) + size_of::<f64>() * (rows + columns)
    }

    fn multiply(&self, space: &S, x: &Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        space.spmv(1.0, self, x, 0.0, y)
    }

    fn multiply_dot(
        &self,
        space: &S,
        rows: Range<usize>,
        x: &Slice<S, f64>,
        y: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        space.spmv_dot(self, rows, x, y, sums, slot)
    }
}
