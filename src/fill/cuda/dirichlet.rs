//! Dirichlet conditions on a GPU: launches of `kernels/dirichlet.cu`.

use crate::Result;
use crate::error::{check_at_least, check_length};
use crate::fill::Dirichlet;
use crate::fill::kernel_files::DIRICHLET;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::{CrsGraph, CrsMatrix};

const THREADS: u32 = 256;
/// Lanes that look through one row.
const LANES: usize = 8;

impl Dirichlet<CudaMemory> {
    /// Lists what to clear; `fixed[node]` is not 0 where a node is fixed, for every column of the graph, owned and ghost.
    /// Waits once, for the lengths of the lists. Their order is open; what they clear is not.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless `fixed` has an item a column, [`Error::TooLarge`](crate::Error::TooLarge)
    /// where the memory cannot be had.
    pub fn on_device(space: &Cuda, graph: &CrsGraph<CudaMemory>, fixed: &CudaArray<u8>) -> Result<Self> {
        check_length("Dirichlet::on_device", "fixed", fixed.len(), graph.columns())?;
        check_at_least("Dirichlet::on_device", "graph (row_map)", graph.row_map().len(), graph.rows() + 1)?;
        check_at_least("Dirichlet::on_device", "graph (entries)", graph.entries().len(), graph.nnz())?;
        let list = |rows: &mut CudaArray<u32>, entries: &mut CudaArray<u64>| -> Result<[u64; 2]> {
            let mut counts = space.zeros::<u64>(2)?;
            let (row_map, columns, limits) =
                (graph.row_map(), graph.entries(), [rows.len() as u64, entries.len() as u64]);
            #[rustfmt::skip]
            let arguments = arguments![
                graph.rows() as u64, limits[0], limits[1], row_map, columns, fixed, &mut counts, rows, entries,
            ];
            space.launch(&DIRICHLET, "list_fixed", Grid::cover(graph.rows() * LANES, THREADS), arguments)?;
            let mut lengths = [0; 2];
            if limits == [0, 0] {
                space.read(&counts, &mut lengths)?;
            }
            Ok(lengths)
        };
        // Counted first, listed then.
        let [row_count, entry_count] = list(&mut space.unfilled(0)?, &mut space.unfilled(0)?)?;
        let (mut rows, mut entries) = (space.unfilled(row_count as usize)?, space.unfilled(entry_count as usize)?);
        if row_count + entry_count > 0 {
            list(&mut rows, &mut entries)?;
        }
        let lengths = (row_count as usize, entry_count as usize);
        Ok(Dirichlet { rows, entries, lengths, row_count: graph.rows(), nnz: graph.nnz() })
    }

    /// Clears the listed entries of the matrix and the residual of fixed rows; does not wait.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the matrix has another graph's size, or the residual not an item a row.
    pub fn apply(
        &self,
        space: &Cuda,
        matrix: &mut CrsMatrix<f64, CudaMemory>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        check_length("Dirichlet::apply", "matrix", matrix.values().len(), self.nnz)?;
        check_at_least("Dirichlet::apply", "residual", residual.len(), self.row_count)?;
        let ((rows, entries), values) = (self.lengths, matrix.parts_mut().1);
        let grid = Grid::cover(entries, THREADS);
        space.launch(&DIRICHLET, "clear_entries", grid, arguments![entries as u64, &self.entries, values])?;
        space.launch(
            &DIRICHLET,
            "clear_rows",
            Grid::cover(rows, THREADS),
            arguments![rows as u64, &self.rows, residual],
        )
    }
}
