//! Products and transposes on a GPU: launches of `kernels/algebra.cu`.
//!
//! A warp finds the columns of a row in a hash table in shared memory. A table that is full reports its row, and tables in global memory,
//! with twice as many slots as there are groups, then serve these rows. The transpose sorts entries by column.

use super::MatrixAlgebra;
use crate::error::{check_at_least, check_length};
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, Grid, arguments, bits_of};
use crate::sparse::kernel_files::ALGEBRA;
use crate::sparse::{CrsGraph, CrsMatrix, GraphOf, MatrixOf};
use crate::{Error, Result};
use std::sync::Arc;

/// Threads of a block, and of a warp, as in the kernels.
const THREADS: u32 = 128;
const WARP: usize = 32;
/// Slots of a table in shared memory.
const SHORT: usize = 256;
/// Most bytes of all tables in global memory, but for one table.
const LONG_BYTES: usize = 256 << 20;
/// Smallest group width for which a warp shares a row of values.
const WIDE: usize = 3;

/// Entries by column, those of a column in their order.
#[derive(Debug)]
pub(crate) struct ByColumn {
    /// Offset of each column's keys, and their number.
    pub starts: CudaArray<u64>,
    /// Column, and in the lower half the number of the entry.
    pub keys: CudaArray<u64>,
}

impl Cuda {
    /// Sorts the entries of a graph by column, and the first of each group of `step` columns alone.
    ///
    /// # Errors
    /// [`Error::Invalid`] for 2^32 entries or more, [`Error::OutOfMemory`].
    pub(crate) fn by_column(&self, graph: &GraphOf<Cuda>, step: usize) -> Result<ByColumn> {
        let (n, count) = (graph.nnz() / step, graph.columns() / step);
        if u32::try_from(n).is_err() {
            return Err(Error::Invalid(format!("by column: {n} entries, expected fewer than 2^32")));
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

/// Tables of groups for all rows, in shared memory, or for some, in global memory.
struct Tables {
    capacity: usize,
    long: Option<(CudaArray<u32>, CudaArray<u32>)>,
}

impl MatrixAlgebra for Cuda {
    fn product_graph(&self, a: &GraphOf<Cuda>, b: &GraphOf<Cuda>, width: usize) -> Result<GraphOf<Cuda>> {
        check_length("product_graph", "rows of b", b.rows(), a.columns())?;
        let product = Product { space: self, a, b, width: width.max(1) };
        let mut counts = self.unfilled::<u32>(a.rows())?;
        let short = Tables { capacity: SHORT, long: None };
        let mut state = product.launch("product_count", &short, &[Argument::from(&mut counts)])?;
        let mut all = vec![short];
        if state[0] != 0 {
            let lengths = self.download(&counts)?;
            let rows: Vec<u32> =
                (0..).zip(lengths).filter(|&(_, length)| length == u32::MAX).map(|(row, _)| row).collect();
            let capacity = (2 * b.columns().div_ceil(product.width)).next_power_of_two().max(WARP);
            let tables = (LONG_BYTES / (4 * capacity)).clamp(1, rows.len());
            let long = Tables { capacity, long: Some((self.upload(&rows)?, self.unfilled(tables * capacity)?)) };
            state = product.launch("product_count", &long, &[Argument::from(&mut counts)])?;
            all.push(long);
        }
        if state[1] != 0 {
            let expected = format!("expected whole groups of {width} columns from multiples of {width} on");
            return Err(Error::Invalid(format!("Spgemm::new: a row of b has other columns: {expected}")));
        }
        let offsets = self.offsets(a.rows(), &counts)?;
        let (row_map, nnz) = (offsets.offsets, offsets.total);
        let mut entries = self.unfilled::<u32>(nnz)?;
        for tables in &all {
            product.launch("product_fill", tables, &[Argument::from(&row_map), Argument::from(&mut entries)])?;
        }
        Ok(CrsGraph::from_parts(a.rows(), b.columns(), nnz, row_map, entries))
    }

    fn product_values(
        &self,
        graph: &GraphOf<Cuda>,
        [a, b]: [&MatrixOf<Cuda>; 2],
        width: usize,
        c: &mut CudaArray<f64>,
    ) -> Result<()> {
        let (of_a, of_b, rows) = (a.graph(), b.graph(), graph.rows());
        check_length("product_values", "rows of a", of_a.rows(), rows)?;
        check_length("product_values", "rows of b", of_b.rows(), of_a.columns())?;
        check_at_least("product_values", "c", c.len(), graph.nnz())?;
        let (name, team) = if width < WIDE { ("product_values_8", 8) } else { ("product_values_32", WARP) };
        #[rustfmt::skip]
        let arguments = arguments![
            rows as u64, width as u32, graph.row_map(), graph.entries(), of_a.row_map(), of_a.entries(), a.values(), of_b.row_map(),
            of_b.entries(), b.values(), c,
        ];
        self.launch(&ALGEBRA, name, Grid::cover(rows * team, THREADS), arguments)
    }

    fn transpose(&self, a: &MatrixOf<Cuda>) -> Result<MatrixOf<Cuda>> {
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

/// The factors of a product.
struct Product<'a> {
    space: &'a Cuda,
    a: &'a GraphOf<Cuda>,
    b: &'a GraphOf<Cuda>,
    width: usize,
}

impl Product<'_> {
    /// Launches a kernel with a warp per row; `outputs` are its last arguments but the state, which it returns.
    fn launch(&self, name: &'static str, tables: &Tables, outputs: &[Argument]) -> Result<[u32; 2]> {
        let Product { space, a, b, width } = *self;
        let (warps, mut state) = (THREADS as usize / WARP, space.zeros::<u32>(2)?);
        let (rows, listed, global, grid) = match &tables.long {
            None => {
                let grid = Grid::cover(a.rows() * WARP, THREADS).shared(4 * warps * tables.capacity);
                (a.rows(), Argument::NULL, Argument::NULL, grid)
            }
            // A block of one warp per table.
            Some((rows, memory)) => {
                let grid = Grid::new(memory.len() / tables.capacity, WARP as u32);
                (rows.len(), Argument::from(rows), Argument::from(memory), grid)
            }
        };
        let sizes = [Argument::from(rows as u64), listed, (width as u32).into(), (tables.capacity as u32).into()];
        let inputs = arguments![a.row_map(), a.entries(), b.row_map(), b.entries(), global];
        let arguments = [&sizes[..], inputs, outputs, arguments![&mut state]].concat();
        space.launch(&ALGEBRA, name, grid, &arguments)?;
        let mut seen = [0; 2];
        space.read(&state, &mut seen)?;
        Ok(seen)
    }
}
