//! Dirichlet conditions on a GPU: launches of `kernels/dirichlet.cu`.

use crate::Result;
use crate::error::{check_at_least, check_length};
use crate::fill::kernel_files::DIRICHLET;
use crate::fill::{Boundary, Dirichlet};
use crate::mesh::Sizes;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::CrsGraph;

const THREADS: u32 = 256;
/// Lanes that search one row.
const LANES: usize = 8;
/// Rows of a group, one warp each in the first pass.
const GROUP: usize = 32;

impl Boundary for Cuda {
    fn listing_bytes(sizes: &Sizes) -> u64 {
        Dirichlet::bytes(sizes) + sizes.columns() + sizes.rows()
    }

    fn dirichlet(&self, graph: &CrsGraph<CudaMemory>, fixed: &CudaArray<u8>) -> Result<Dirichlet<CudaMemory>> {
        check_length("Dirichlet::new", "fixed", fixed.len(), graph.columns())?;
        check_at_least("Dirichlet::new", "graph (columns)", graph.columns(), graph.rows())?;
        check_at_least("Dirichlet::new", "graph (row_map)", graph.row_map().len(), graph.rows() + 1)?;
        check_at_least("Dirichlet::new", "graph (entries)", graph.entries().len(), graph.nnz())?;
        let (count, row_map, columns) = (graph.rows() as u64, graph.row_map(), graph.entries());
        let (mut touched, mut counts) = (self.unfilled::<u8>(graph.rows().div_ceil(GROUP))?, self.zeros::<u64>(2)?);
        let arguments = arguments![count, row_map, columns, fixed, &mut touched, &mut counts];
        self.launch(&DIRICHLET, "count_fixed", Grid::cover(graph.rows(), THREADS), arguments)?;
        let mut lengths = [0; 2];
        self.read(&counts, &mut lengths)?;
        let lengths = (lengths[0] as usize, lengths[1] as usize);
        let (mut rows, mut entries) = (self.unfilled(lengths.0)?, self.unfilled(lengths.1)?);
        if lengths != (0, 0) {
            self.fill_bytes(&mut counts, 0)?;
            #[rustfmt::skip]
            let arguments = arguments![
                count, row_map, columns, fixed, &touched, &mut counts, &mut rows, &mut entries,
            ];
            let grid = Grid::cover(graph.rows() * LANES, THREADS);
            self.launch(&DIRICHLET, "list_fixed", grid, arguments)?;
        }
        Ok(Dirichlet { rows, entries, lengths, row_count: graph.rows(), values: graph.nnz(), graph: graph.number() })
    }

    fn apply_dirichlet(
        &self,
        conditions: &Dirichlet<CudaMemory>,
        values: &mut CudaArray<f64>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        check_length("Dirichlet::apply", "matrix", values.len(), conditions.values)?;
        let (_, entries) = conditions.lengths;
        let grid = Grid::cover(entries, THREADS);
        self.launch(&DIRICHLET, "clear_entries", grid, arguments![entries as u64, &conditions.entries, values])?;
        self.clear_fixed(conditions, residual)
    }

    fn clear_fixed(&self, conditions: &Dirichlet<CudaMemory>, vector: &mut CudaArray<f64>) -> Result<()> {
        check_at_least("Dirichlet::apply", "residual", vector.len(), conditions.row_count)?;
        let (rows, _) = conditions.lengths;
        let arguments = arguments![rows as u64, &conditions.rows, vector];
        self.launch(&DIRICHLET, "clear_rows", Grid::cover(rows, THREADS), arguments)
    }
}
