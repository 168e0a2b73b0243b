//! Products of block matrices on a GPU: launches of `kernels/block.cu`, a group of lanes per row of blocks.

use super::BlockCrsMatrix;
use crate::blas::Reductions;
use crate::error::check_at_least;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::Product;
use crate::sparse::kernel_files::BLOCK;
use crate::sparse::spmv::{check_dot, ranks_of_whole};
use crate::{Error, Result};
use std::ops::Range;

/// Threads of a block, as in the kernels.
const THREADS: u32 = 256;

/// Rows of blocks that the threads of a block compute at a time: the lanes of a row are those of `GROUP` in the kernels.
const fn rows_at_a_time(dofs: usize) -> usize {
    THREADS as usize
        / match dofs {
            ..=2 => 8,
            3 => 16,
            _ => 32,
        }
}

/// Kernels by the number of dofs per node, less 1.
const SET: [&str; 8] = [
    "block_set_1",
    "block_set_2",
    "block_set_3",
    "block_set_4",
    "block_set_5",
    "block_set_6",
    "block_set_7",
    "block_set_8",
];
const DOT: [&str; 8] = [
    "block_dot_1",
    "block_dot_2",
    "block_dot_3",
    "block_dot_4",
    "block_dot_5",
    "block_dot_6",
    "block_dot_7",
    "block_dot_8",
];

/// Returns the kernel for blocks of `B` rows.
fn kernel<const B: usize>(names: &[&'static str; 8]) -> Result<&'static str> {
    let refused = || Error::Invalid(format!("blocks of {B} dofs per node on a GPU: expected 1 to {}", names.len()));
    B.checked_sub(1).and_then(|at| names.get(at)).copied().ok_or_else(refused)
}

impl<const B: usize> Product<Cuda> for &BlockCrsMatrix<B, CudaMemory> {
    /// Whole nodes.
    const ROW_BLOCK: usize = B;

    fn extents(&self) -> (usize, usize) {
        self.size()
    }

    fn bytes(&self) -> usize {
        self.product_bytes()
    }

    fn multiply(&self, space: &Cuda, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        let ((rows, columns), graph) = (self.size(), &self.graph);
        check_at_least("multiply", "x", x.len(), columns)?;
        check_at_least("multiply", "y", y.len(), rows)?;
        let arguments = arguments![graph.rows() as u64, graph.row_map(), graph.entries(), &self.values, x, y];
        space.launch(
            &BLOCK,
            kernel::<B>(&SET)?,
            Grid::new(graph.rows().div_ceil(rows_at_a_time(B)), THREADS),
            arguments,
        )
    }

    fn multiply_dot(
        &self,
        space: &Cuda,
        rows: Range<usize>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        let ((all, columns), graph) = (self.size(), &self.graph);
        check_dot((all, columns, B), &rows, x, y, sums, slot)?;
        if !rows.end.is_multiple_of(B) {
            return Err(Error::Invalid(format!("multiply_dot: rows {rows:?} end within a node of {B} dofs")));
        }
        let (first, last, name) = (rows.start / B, rows.end / B, kernel::<B>(&DOT)?);
        let grid = space.product_grid(&BLOCK, name, (last - first).div_ceil(rows_at_a_time(B)))?;
        let (stop, ranks, ticket) = (sums.stop_argument(), ranks_of_whole(&rows, all, sums), space.ticket());
        let Reductions { partials, scalars, .. } = sums;
        #[rustfmt::skip]
        let arguments = arguments![
            first as u64, last as u64, graph.row_map(), graph.entries(), &self.values, x, y, stop, ranks, partials, slot as u32,
            scalars, ticket,
        ];
        space.launch(&BLOCK, name, grid, arguments)
    }
}
