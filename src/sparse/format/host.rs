//! Hosts multiply with the CRS arrays themselves.

use super::{Format, Formats, Product};
use crate::Result;
use crate::blas::{Blas, Reductions};
use crate::space::{Array, HostSpace, Item};
use crate::sparse::{CrsGraph, CrsMatrix, Spmv};
use std::ops::Range;
use std::sync::Arc;

impl<S: HostSpace> Formats for S {
    type Storage = ();

    fn storage(&self, _: Format, _: &Arc<CrsGraph>) -> Result<()> {
        Ok(())
    }

    fn update(&self, (): &mut (), _: &CrsMatrix) -> Result<bool> {
        Ok(false)
    }
}

/// A matrix in CRS, on every space.
impl<V: Item, S: Blas + Spmv<V>> Product<S> for &CrsMatrix<V, S::Memory> {
    const ROW_BLOCK: usize = <S as Spmv<V>>::ROW_BLOCK;

    fn extents(&self) -> (usize, usize) {
        (self.graph().rows(), self.graph().columns())
    }

    fn multiply(&self, space: &S, x: &Array<S, f64>, y: &mut Array<S, f64>) -> Result<()> {
        space.spmv(1.0, self, x, 0.0, y)
    }

    fn multiply_dot(
        &self,
        space: &S,
        rows: Range<usize>,
        x: &Array<S, f64>,
        y: &mut Array<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        space.spmv_dot(self, rows, x, y, sums, slot)
    }
}
