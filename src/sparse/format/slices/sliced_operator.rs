//! Slices on a GPU as an operator, and as the copy of a matrix in CRS.

use super::sliced_ell::{SLICE, SlicedEll};
use crate::Result;
use crate::blas::Reductions;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory};
use crate::sparse::{CrsMatrix, DeviceValue, FormatCopy, Operator};
use std::ops::Range;

impl<V: DeviceValue> Operator<Cuda> for SlicedEll<V> {
    fn rows(&self) -> usize {
        self.graph.rows()
    }

    fn columns(&self) -> usize {
        self.graph.columns()
    }

    fn bytes(&self) -> usize {
        self.matrix_bytes() + size_of::<f64>() * (self.graph.rows() + self.graph.columns())
    }

    fn apply(&self, space: &Cuda, x: &mut CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        self.spmv(space, x, y)
    }

    fn apply_dot(
        &self,
        space: &Cuda,
        x: &mut CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        self.spmv_dot(space, 0..self.graph.rows(), x, y, sums, slot)
    }

    /// Rows per slice.
    fn row_block(&self) -> Option<usize> {
        Some(SLICE)
    }

    fn apply_dot_rows(
        &self,
        space: &Cuda,
        rows: Range<usize>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        self.spmv_dot(space, rows, x, y, sums, slot)
    }

    fn apply_dot_exchanging(
        &self,
        space: &Cuda,
        interior: usize,
        exchange: &CudaArray<u64>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<bool> {
        self.spmv_dot_exchanging(space, interior, exchange, x, y, sums, slot).map(|()| true)
    }
}

impl FormatCopy<Cuda> for SlicedEll<f64> {
    fn update(&mut self, space: &Cuda, a: &CrsMatrix<f64, CudaMemory>) -> Result<bool> {
        self.take(space, a).map(|()| true)
    }
}

impl FormatCopy<Cuda> for SlicedEll<f32> {
    fn update(&mut self, space: &Cuda, a: &CrsMatrix<f64, CudaMemory>) -> Result<bool> {
        self.take(space, a).map(|()| true)
    }
}
