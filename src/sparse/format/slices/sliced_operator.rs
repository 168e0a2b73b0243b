//! Slices on a GPU as an operator, and as the copy of a matrix in CRS.

use super::slice_layout::SliceLayout;
use super::sliced_ell::{SLICE, SlicedEll, THREADS};
use crate::Result;
use crate::space::cuda::{Argument, Cuda, CudaArray, Grid, KernelFile, arguments};
use crate::sparse::kernel_files::{SLICES, SLICES_SYMMETRIC};
use crate::sparse::spmv::check_vectors;
use crate::sparse::{FormatCopy, MatrixOf, Operator, RowProduct, StoredValue};
use std::ops::Range;

impl<V: StoredValue> SlicedEll<V> {
    /// Computes y = A x, as [`Spmv::spmv`](crate::sparse::Spmv::spmv).
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when a vector is too short.
    pub fn spmv(&self, space: &Cuda, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        check_vectors("spmv", &self.graph, [x.len(), y.len()])?;
        let rows = self.graph.rows();
        let ([name, ..], grid) = (self.kernels(), Grid::new(self.tiles(rows), THREADS));
        space.launch(self.file(), name, grid, &self.arguments(arguments![rows as u64], arguments![x, y]))
    }

    /// Returns the kernels of the products.
    fn kernels(&self) -> [&'static str; 3] {
        V::IN_SLICES[usize::from(self.symmetric)]
    }

    /// Returns the file of these kernels.
    fn file(&self) -> &'static KernelFile {
        if self.symmetric { &SLICES_SYMMETRIC } else { &SLICES }
    }

    /// The arguments of a product: its rows, the matrix, its vectors.
    fn arguments(&self, rows: &[Argument], vectors: &[Argument]) -> Vec<Argument> {
        let SliceLayout { slice_offsets, words, offsets, columns: listed, walk, usual, .. } = &*self.layout;
        let (columns, usual) = (self.graph.columns() as u64, Argument::of_struct(usual));
        let matrix = arguments![columns, walk.word(), slice_offsets, words, offsets, listed, &self.values, usual];
        [rows, matrix, vectors].concat()
    }

    /// Returns the number of tiles of `rows` rows, a tile for a block at a time. In halves, tiles that end beyond the rows may be empty.
    fn tiles(&self, rows: usize) -> usize {
        self.layout.walk.tiles(rows.div_ceil(SLICE))
    }

    /// Returns the bytes of the matrix that one product reads.
    fn matrix_bytes(&self) -> usize {
        let SliceLayout { slice_offsets, words, offsets, columns, .. } = &*self.layout;
        self.values.bytes() + columns.bytes() + slice_offsets.bytes() + words.bytes() + offsets.bytes()
    }
}

impl<V: StoredValue> Operator<Cuda> for SlicedEll<V> {
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

    /// Rows per slice.
    fn row_block(&self) -> Option<usize> {
        Some(SLICE)
    }

    fn takes_exchange(&self) -> bool {
        true
    }

    /// With an exchange it covers all rows with the same bits.
    fn apply_dot_rows(&self, space: &Cuda, product: RowProduct<'_, Cuda>) -> Result<()> {
        let (all, Range { start, end }) = (self.graph.rows(), product.rows.clone());
        let [_, dot, exchanging] = self.kernels();
        let covered = product.covered([all, self.graph.columns()], SLICE)?;
        // The grid of the plain product, so that the partial sums are the same.
        let grid = space.product_grid(self.file(), dot, self.tiles(covered.len()))?;
        let name = if product.exchange.is_some() { exchanging } else { dot };
        let vectors = product.arguments(space, covered == (0..all));
        space.launch(self.file(), name, grid, &self.arguments(arguments![start as u64, end as u64], &vectors))
    }
}

impl<V: StoredValue> FormatCopy<Cuda> for SlicedEll<V> {
    fn update(&mut self, space: &Cuda, a: &MatrixOf<Cuda>) -> Result<()> {
        SlicedEll::update(self, space, a)
    }
}
