//! Products and transposes on a GPU: launches of `kernels/algebra.cu`.
//!
//! A warp finds the columns of a row in a hash table in shared memory. A table that was too small reports it, and tables in global memory,
//! with twice as many places as there are groups, then serve all rows. The transpose sorts entries by column.

use super::MatrixAlgebra;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments, bits_of};
use crate::sparse::kernel_files::ALGEBRA;
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, Result};
use std::sync::Arc;

/// Threads of a block, and of a warp, as in the kernels.
const THREADS: u32 = 128;
const WARP: usize = 32;
/// Places of a table in shared memory, and of them tried for a group.
const SHORT: usize = 256;
const PROBES: u32 = 64;
/// Warps that have a table in global memory.
const LONG_TABLES: usize = 2048;
/// Groups of columns with at least so many take a warp per row of a product.
const WIDE: usize = 3;

/// Entries by column, those of a column in their order.
#[derive(Debug)]
pub(crate) struct ByColumn {
    /// Of each column or group; one more than there are.
    pub starts: CudaArray<u64>,
    /// Column, and in the lower half the number of the entry.
    pub keys: CudaArray<u64>,
}

impl Cuda {
    /// Sorts every `step`-th of the entries of a graph by its column, of which every `step`-th has a start.
    ///
    /// # Errors
    /// [`Error::Invalid`] for 2^32 entries or more, [`Error::OutOfMemory`].
    pub(crate) fn by_column(&self, graph: &CrsGraph<CudaMemory>, step: usize) -> Result<ByColumn> {
        let (n, count) = (graph.nnz() / step, graph.columns() / step);
        if u32::try_from(n).is_err() {
            return Err(Error::Invalid(format!("transpose: {n} entries, expected fewer than 2^32")));
        }
        let mut keys = self.unfilled::<u64>(n)?;
        let arguments = arguments![n as u64, step as u32, graph.entries(), &mut keys];
        self.launch(&ALGEBRA, "column_keys", Grid::cover(n, THREADS), arguments)?;
        let keys = self.sort_keys(keys, 32..32 + bits_of(graph.columns()))?;
        let mut starts = self.unfilled::<u64>(count + 1)?;
        let arguments = arguments![count as u64, step as u32, n as u64, &keys, &mut starts];
        self.launch(&ALGEBRA, "column_starts", Grid::cover(count + 1, THREADS), arguments)?;
        Ok(ByColumn { starts, keys })
    }
}

/// Tables of groups.
struct Tables {
    capacity: u32,
    probes: u32,
    global: Option<CudaArray<u32>>,
}

impl MatrixAlgebra for Cuda {
    fn product_graph(
        &self,
        a: &CrsGraph<CudaMemory>,
        b: &CrsGraph<CudaMemory>,
        width: usize,
    ) -> Result<CrsGraph<CudaMemory>> {
        let mut counts = self.unfilled::<u32>(a.rows())?;
        let mut tables = Tables { capacity: SHORT as u32, probes: PROBES, global: None };
        let mut state = count(self, (a, b, width), &mut tables, &mut counts)?;
        if state[0] != 0 {
            let capacity = (2 * b.columns().div_ceil(width)).next_power_of_two().max(WARP);
            let global = Some(self.unfilled(LONG_TABLES * capacity)?);
            tables = Tables { capacity: capacity as u32, probes: capacity as u32, global };
            state = count(self, (a, b, width), &mut tables, &mut counts)?;
        }
        if state[1] != 0 {
            let expected = format!("expected whole groups of {width} columns from multiples of {width} on");
            return Err(Error::Invalid(format!("Spgemm::new: a row of b has other columns: {expected}")));
        }
        let offsets = self.offsets(a.rows(), &counts)?;
        let (row_map, nnz) = (offsets.offsets, offsets.total);
        let mut entries = self.unfilled::<u32>(nnz)?;
        let mut state = self.zeros::<u32>(2)?;
        let (grid, global) = tables.grid_and_memory(a.rows());
        #[rustfmt::skip]
        let arguments = arguments![
            a.rows() as u64, width as u32, tables.capacity, tables.probes, a.row_map(), a.entries(), b.row_map(), b.entries(), global,
            &row_map, &mut entries, &mut state,
        ];
        self.launch(&ALGEBRA, "product_fill", grid, arguments)?;
        Ok(CrsGraph::from_parts(a.rows(), b.columns(), nnz, row_map, entries))
    }

    fn product_values(
        &self,
        graph: &CrsGraph<CudaMemory>,
        [a, b]: [&CrsMatrix<f64, CudaMemory>; 2],
        width: usize,
        c: &mut CudaArray<f64>,
    ) -> Result<()> {
        let (of_a, of_b, rows) = (a.graph(), b.graph(), graph.rows());
        let (name, team) = if width < WIDE { ("product_values_8", 8) } else { ("product_values_32", WARP) };
        #[rustfmt::skip]
        let arguments = arguments![
            rows as u64, width as u32, graph.row_map(), graph.entries(), of_a.row_map(), of_a.entries(), a.values(), of_b.row_map(),
            of_b.entries(), b.values(), c,
        ];
        self.launch(&ALGEBRA, name, Grid::cover(rows * team, THREADS), arguments)
    }

    fn transpose(&self, a: &CrsMatrix<f64, CudaMemory>) -> Result<CrsMatrix<f64, CudaMemory>> {
        let (graph, n) = (a.graph(), a.graph().nnz());
        let ByColumn { starts, keys } = self.by_column(graph, 1)?;
        let (mut entries, mut values) = (self.unfilled::<u32>(n)?, self.unfilled::<f64>(n)?);
        #[rustfmt::skip]
        let arguments = arguments![
            n as u64, graph.rows() as u64, graph.row_map(), a.values(), &keys, &mut entries, &mut values,
        ];
        self.launch(&ALGEBRA, "transpose_entries", Grid::cover(n, THREADS), arguments)?;
        let transposed = CrsGraph::from_parts(graph.columns(), graph.rows(), n, starts, entries);
        Ok(CrsMatrix::from_parts(Arc::new(transposed), values))
    }
}

impl Tables {
    /// The grid of a kernel with a warp per row, and the tables in global memory.
    fn grid_and_memory(&mut self, rows: usize) -> (Grid, Argument) {
        let warps = THREADS as usize / WARP;
        match &mut self.global {
            None => (Grid::cover(rows * WARP, THREADS).shared(4 * warps * SHORT), Argument::NULL),
            Some(tables) => (Grid::cover(rows.min(LONG_TABLES) * WARP, THREADS), Argument::from(tables)),
        }
    }
}

/// Counts the columns of each row of A B; returns the state of the tables.
fn count(
    space: &Cuda,
    (a, b, width): (&CrsGraph<CudaMemory>, &CrsGraph<CudaMemory>, usize),
    tables: &mut Tables,
    counts: &mut CudaArray<u32>,
) -> Result<[u32; 2]> {
    let (mut state, mut seen) = (space.zeros::<u32>(2)?, [0; 2]);
    let (grid, global) = tables.grid_and_memory(a.rows());
    #[rustfmt::skip]
    let arguments = arguments![
        a.rows() as u64, width as u32, tables.capacity, tables.probes, a.row_map(), a.entries(), b.row_map(), b.entries(), global,
        counts, &mut state,
    ];
    space.launch(&ALGEBRA, "product_count", grid, arguments)?;
    space.read(&state, &mut seen)?;
    Ok(seen)
}
