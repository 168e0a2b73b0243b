//! Dirichlet conditions on a GPU: launches of `kernels/dirichlet.cu`.

use crate::Result;
use crate::error::{check_at_least, check_length};
use crate::fill::kernel_files::DIRICHLET;
use crate::fill::{Boundary, Dirichlet};
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::{CrsGraph, CrsMatrix};

const THREADS: u32 = 256;
/// Lanes that search one row.
const LANES: usize = 8;

impl Boundary for Cuda {
    fn dirichlet(&self, graph: &CrsGraph<CudaMemory>, fixed: &CudaArray<u8>) -> Result<Dirichlet<CudaMemory>> {
        check_length("Dirichlet::new", "fixed", fixed.len(), graph.columns())?;
        check_at_least("Dirichlet::new", "graph (columns)", graph.columns(), graph.rows())?;
        check_at_least("Dirichlet::new", "graph (row_map)", graph.row_map().len(), graph.rows() + 1)?;
        check_at_least("Dirichlet::new", "graph (entries)", graph.entries().len(), graph.nnz())?;
        let list = |rows: &mut CudaArray<u32>, entries: &mut CudaArray<u64>| -> Result<[u64; 2]> {
            let mut counts = self.zeros::<u64>(2)?;
            let (row_map, columns, limits) =
                (graph.row_map(), graph.entries(), [rows.len() as u64, entries.len() as u64]);
            #[rustfmt::skip]
            let arguments = arguments![
                graph.rows() as u64, limits[0], limits[1], row_map, columns, fixed, &mut counts, rows, entries,
            ];
            self.launch(&DIRICHLET, "list_fixed", Grid::cover(graph.rows() * LANES, THREADS), arguments)?;
            let mut lengths = [0; 2];
            // Only the first pass needs its counts on the host.
            if limits == [0, 0] {
                self.read(&counts, &mut lengths)?;
            }
            Ok(lengths)
        };
        // The first pass counts, the second lists.
        let [row_count, entry_count] = list(&mut self.unfilled(0)?, &mut self.unfilled(0)?)?;
        let (mut rows, mut entries) = (self.unfilled(row_count as usize)?, self.unfilled(entry_count as usize)?);
        if row_count + entry_count > 0 {
            list(&mut rows, &mut entries)?;
        }
        let lengths = (row_count as usize, entry_count as usize);
        Ok(Dirichlet { rows, entries, lengths, row_count: graph.rows(), nnz: graph.nnz() })
    }

    fn apply_dirichlet(
        &self,
        conditions: &Dirichlet<CudaMemory>,
        matrix: &mut CrsMatrix<f64, CudaMemory>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        check_length("Dirichlet::apply", "matrix", matrix.values().len(), conditions.nnz)?;
        check_at_least("Dirichlet::apply", "residual", residual.len(), conditions.row_count)?;
        let ((rows, entries), values) = (conditions.lengths, matrix.parts_mut().1);
        let grid = Grid::cover(entries, THREADS);
        self.launch(&DIRICHLET, "clear_entries", grid, arguments![entries as u64, &conditions.entries, values])?;
        self.launch(
            &DIRICHLET,
            "clear_rows",
            Grid::cover(rows, THREADS),
            arguments![rows as u64, &conditions.rows, residual],
        )
    }
}
