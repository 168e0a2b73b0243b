//! SpMV on a GPU: launches of `kernels/sparse.cu`, with 1 to 32 threads per row.
//!
//! The caller chooses the number of threads ([`Cuda::spmv_lanes`]), or it follows from the mean length of a row
//! ([`Lanes::of`]). The same number gives the same bits every time.

use super::{CrsMatrix, Lanes, RowProduct, Spmv, StoredValue, check_vectors};
use crate::blas::{Blas, Reductions};
use crate::error::{check_at_least, check_length};
use crate::space::Item;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, KernelFile, arguments};
use crate::sparse::kernel_files::SPARSE;
use crate::{Error, Result};
use std::ops::Range;

/// Threads of a block, as in the kernels.
const THREADS: u32 = 256;

impl Lanes {
    pub(crate) fn of_matrix<V: Item>(a: &CrsMatrix<V, CudaMemory>) -> Self {
        Self::of(a.graph().nnz() as f64 / a.graph().rows().max(1) as f64)
    }
}

impl Cuda {
    /// [`spmv`](Spmv::spmv) with a given number of threads per row.
    ///
    /// # Errors
    /// As [`spmv`](Spmv::spmv).
    pub fn spmv_lanes<V: StoredValue>(
        &self,
        lanes: Lanes,
        a: &CrsMatrix<V, CudaMemory>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
    ) -> Result<()> {
        let rows = a.graph().rows();
        check_vectors("spmv", a.graph(), [x.len(), y.len()])?;
        let [name, ..] = V::IN_CRS[lanes as usize];
        let (row_map, entries) = (a.graph().row_map(), a.graph().entries());
        let tiles = rows.div_ceil(lanes.tile(THREADS as usize));
        let grid = match lanes {
            // Resident blocks, which load a tile while they sum the one before.
            Lanes::Warp => self.product_grid(&SPARSE, name, tiles)?,
            _ => Grid::new(tiles, THREADS),
        };
        self.launch(&SPARSE, name, grid, arguments![rows as u64, row_map, entries, a.values(), x, y])
    }

    /// [`spmv_dot`](Spmv::spmv_dot) with a given number of threads per row. With an exchange it covers all rows with the same bits, and
    /// those from `rows.start` on read the ghosts of x that arrive.
    ///
    /// # Errors
    /// As [`spmv_dot`](Spmv::spmv_dot).
    pub fn spmv_dot_lanes<V: StoredValue>(
        &self,
        lanes: Lanes,
        a: &CrsMatrix<V, CudaMemory>,
        product: RowProduct<'_, Cuda>,
    ) -> Result<()> {
        let (graph, Range { start, end }) = (a.graph(), product.rows.clone());
        let covered = product.covered([graph.rows(), graph.columns()], 1)?;
        // The grid of the plain product, so that the partial sums are the same.
        let tiles = covered.len().div_ceil(lanes.tile(THREADS as usize));
        let [_, dot, exchanging] = V::IN_CRS[lanes as usize];
        let grid = self.product_grid(&SPARSE, dot, tiles)?;
        let name = if product.exchange.is_some() { exchanging } else { dot };
        let matrix = arguments![start as u64, end as u64, graph.row_map(), graph.entries(), a.values()];
        let arguments = [&matrix[..], &product.arguments(self, covered == (0..graph.rows()))].concat();
        self.launch(&SPARSE, name, grid, &arguments)
    }

    /// Returns a grid of resident blocks that walk over the tiles: at most one block per tile and per partial sum, and
    /// at least one, which stores the sum.
    pub(crate) fn product_grid(&self, file: &'static KernelFile, name: &'static str, tiles: usize) -> Result<Grid> {
        let resident = self.resident_blocks(file, name, THREADS, 0)?;
        Ok(Grid::new(tiles.min(resident).min(Self::partials_len(0)).max(1), THREADS))
    }
}

impl RowProduct<'_, Cuda> {
    /// Returns the rows that the product covers: all with an exchange. Refuses arrays that do not fit them.
    pub(in crate::sparse) fn covered(&self, [all, columns]: [usize; 2], block: usize) -> Result<Range<usize>> {
        let rows = if self.exchange.is_some() { 0..all } else { self.rows.clone() };
        if rows.start > rows.end || rows.end > all {
            return Err(Error::Invalid(format!("spmv_dot: rows {rows:?} of a matrix of {all} rows")));
        }
        check_length("spmv_dot", "rows (its start in its block)", rows.start % block, 0)?;
        check_at_least("spmv_dot", "x", self.x.len(), columns.max(rows.end))?;
        check_at_least("spmv_dot", "y", self.y.len(), rows.end)?;
        self.sums.check("spmv_dot", self.slot)?;
        Ok(rows)
    }

    /// The last arguments of a kernel: exchange, vectors, sums. A sum over a part of the rows is not complete, and no rank adds it.
    pub(in crate::sparse) fn arguments(self, space: &Cuda, is_whole: bool) -> Vec<Argument> {
        let RowProduct { exchange, x, y, sums, slot, .. } = self;
        let (stop, ranks) = (sums.stop_argument(), if is_whole { sums.ranks_argument() } else { Argument::NULL });
        let Reductions { partials, scalars, .. } = sums;
        let vectors = arguments![x, y, stop, ranks, partials, slot as u32, scalars, space.ticket()];
        exchange.map(Argument::from).into_iter().chain(vectors.iter().copied()).collect()
    }
}

impl<V: StoredValue> Spmv<V> for Cuda {
    /// Any range of rows; the sum of a range is added to the sum of the ranges before it. A split product begins with row 0.
    const ROW_BLOCK: usize = 1;

    fn spmv(&self, a: &CrsMatrix<V, CudaMemory>, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        self.spmv_lanes(Lanes::of_matrix(a), a, x, y)
    }

    fn spmv_dot(&self, a: &CrsMatrix<V, CudaMemory>, product: RowProduct<'_, Cuda>) -> Result<()> {
        self.spmv_dot_lanes(Lanes::of_matrix(a), a, product)
    }
}
