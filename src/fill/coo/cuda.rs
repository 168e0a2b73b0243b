//! Assembly from index pairs on a GPU, with the kernels in `kernels/coo.cu`.
//!
//! Two stable radix sorts bring the pairs into the order of the entries, pairs of one entry in the order of the input; one thread per
//! entry then adds its values one after the other. The graph equals the host's, and sums have the host's bits.
//!
//! | | bytes |
//! |---|---|
//! | plan, kept | 4 per value, 4 per entry |
//! | plan, while it is made | 16 per value |
//! | sum in f64 | reads 12 per value and 4 per entry, writes 8 per entry |

use super::indices::{check_sizes, check_tables};
use crate::contraction::Sum;
use crate::error::check_length;
use crate::fill::kernel_files::COO;
use crate::fill::same_graph::check_copy;
use crate::graph::CooIndex;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments, bits_of};
use crate::space::{ExecutionSpace, Item};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, Result};
use std::sync::Arc;

/// Threads per block, as in the kernels.
const THREADS: u32 = 256;
/// Threads per row of a plan.
const WARP: usize = 32;

/// A table `[elem, a]` of row or column indices on a GPU, packed, `a` fastest.
#[derive(Clone, Copy, Debug)]
pub struct DeviceIndices<'a, I: CooIndex + Item> {
    /// The indices of all elements.
    pub indices: &'a CudaArray<I>,
    /// Indices per element.
    pub per_elem: usize,
}

/// A sparsity pattern on a GPU, made from index pairs, with its summation plan: the twin of [`Coo`](super::Coo).
#[derive(Debug)]
pub struct CudaCoo {
    graph: Arc<CrsGraph<CudaMemory>>,
    /// Entry e adds the values `order[first[e]..first[e + 1]]`, in this order.
    first: CudaArray<u32>,
    order: CudaArray<u32>,
}

impl CudaCoo {
    /// Plans sums of values at `(i[k], j[k])`, as [`Coo::new`](super::Coo::new). Waits for the GPU.
    ///
    /// # Errors
    /// Those of [`Coo::new`](super::Coo::new), for 2^31 rows or columns and more, too; a failure of the device.
    pub fn new<I: CooIndex + Item>(
        space: &Cuda,
        rows: usize,
        columns: usize,
        i: &CudaArray<I>,
        j: &CudaArray<I>,
    ) -> Result<Self> {
        check_length("CudaCoo::new", "j", j.len(), i.len())?;
        let [i, j] = [i, j].map(|indices| DeviceIndices { indices, per_elem: 1 });
        Self::of(space, [rows, columns], i, j, |name, at| format!("{}[{at}]", if name == "row" { "i" } else { "j" }))
    }

    /// Plans sums of element matrices `[elem, a, b]`, as [`Coo::from_elements`](super::Coo::from_elements). Waits for the GPU.
    ///
    /// # Errors
    /// Those of [`Coo::from_elements`](super::Coo::from_elements), for 2^31 rows or columns and more, too; a failure of the device.
    pub fn from_elements<I: CooIndex + Item>(
        space: &Cuda,
        rows: usize,
        columns: usize,
        rows_of: DeviceIndices<'_, I>,
        columns_of: DeviceIndices<'_, I>,
    ) -> Result<Self> {
        const NAME: &str = "CudaCoo::from_elements";
        check_tables(NAME, [rows_of, columns_of].map(|table| (table.indices.len(), table.per_elem)))?;
        Self::of(space, [rows, columns], rows_of, columns_of, |name, at| {
            let per_elem = if name == "row" { rows_of.per_elem } else { columns_of.per_elem };
            format!("{name}s_of[{}, {}]", at / per_elem, at % per_elem)
        })
    }

    /// Plans sums of elements; `place` names an index.
    fn of<I: CooIndex + Item>(
        space: &Cuda,
        [rows, columns]: [usize; 2],
        i: DeviceIndices<'_, I>,
        j: DeviceIndices<'_, I>,
        place: impl Fn(&str, usize) -> String,
    ) -> Result<Self> {
        const { assert!(size_of::<I>() == 4, "indices on a GPU are i32 or u32") };
        let values = i.indices.len().saturating_mul(j.per_elem);
        check_sizes(rows, columns, values)?;
        if let Some(size) = [rows, columns].into_iter().find(|&size| size > i32::MAX as usize) {
            let (needed, limit) = (format!("{size} rows or columns"), format!("{} on a GPU", i32::MAX));
            return Err(Error::TooLarge { what: "CudaCoo".into(), needed, limit });
        }
        let (height, width, i, j) = (i.per_elem as u32, j.per_elem as u32, i.indices, j.indices);
        let (row_count, column_count, n) = (rows as u64, columns as u64, values as u64);
        let items =
            |name, items, arguments: &[Argument]| space.launch(&COO, name, Grid::cover(items, THREADS), arguments);

        // Keys (column, value), and the first indices outside the matrix.
        let (mut keys, mut outside) = (space.unfilled(values)?, space.upload(&[u64::MAX; 2])?);
        let column_keys = if I::min_value() < I::zero() { "column_keys_i32" } else { "column_keys_u32" };
        #[rustfmt::skip]
        let arguments = arguments![n, height, width, row_count, column_count, i, j, &mut keys, &mut outside];
        items(column_keys, values, arguments)?;
        let mut found = [0; 2];
        space.read(&outside, &mut found)?;
        for (at, what, indices, limit) in [(found[0], "row", i, rows), (found[1], "column", j, columns)] {
            if at != u64::MAX {
                let (place, index) = (place(what, at as usize), space.download(indices)?[at as usize]);
                let expected = format!("expected a {what} in 0..{limit}, or a negative number to be ignored");
                return Err(Error::Invalid(format!("{place} is {index}, {expected}")));
            }
        }

        // Keys (row, value) in the order of the entries, ignored ones behind them.
        let mut keys = space.sort_keys(keys, 32..32 + bits_of(columns))?;
        items("row_keys", values, arguments![n, width, row_count, column_count, i, &mut keys])?;
        let keys = space.sort_keys(keys, 32..32 + bits_of(rows))?;

        // Entries of the sorted keys; the host waits for their number.
        let (mut starts, mut order) = (space.unfilled::<u32>(rows + 1)?, space.unfilled::<u32>(values)?);
        items("starts_of_rows", rows + 1, arguments![row_count, n, &keys, &mut starts])?;
        items("order_of_keys", values, arguments![n, &keys, &mut order])?;
        let mut counts = space.zeros::<u32>(rows)?;
        let arguments = arguments![row_count, height, width, &starts, &order, j, &mut counts];
        items("count_entries", rows * WARP, arguments)?;
        let map = space.offsets(rows, &counts)?;
        let (mut entries, mut first) = (space.unfilled(map.total)?, space.zeros(map.total + 1)?);
        #[rustfmt::skip]
        let arguments = arguments![
            row_count, height, width, &starts, &order, j, &map.offsets, &mut entries, &mut first,
        ];
        items("fill_entries", rows * WARP, arguments)?;
        let graph = CrsGraph::from_parts(rows, columns, map.total, map.offsets, entries);
        Ok(CudaCoo { graph: Arc::new(graph), first, order })
    }

    /// Returns the sparsity pattern: an entry for each pair that is not ignored.
    pub fn graph(&self) -> &Arc<CrsGraph<CudaMemory>> {
        &self.graph
    }

    /// Returns the number of values that one sum takes, ignored ones included.
    pub fn value_count(&self) -> usize {
        self.order.len()
    }

    /// Returns the bytes of the plan without its graph.
    pub fn bytes(&self) -> u64 {
        (self.first.bytes() + self.order.bytes()) as u64
    }

    /// Sums `values`, one per pair, with the bits of [`Coo::set_values`](super::Coo::set_values). Allocates nothing
    /// and does not wait.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are [`value_count`](Self::value_count) values, [`Error::Invalid`] for a matrix on another graph.
    pub fn set_values(
        &self,
        space: &Cuda,
        values: &CudaArray<f64>,
        sum: Sum,
        matrix: &mut CrsMatrix<f64, CudaMemory>,
    ) -> Result<()> {
        let (graph, out) = matrix.parts_mut();
        check_copy("CudaCoo::set_values", graph, &self.graph)?;
        self.sum_entries(space, values, sum, out)
    }

    /// Sums `values` as [`set_values`](Self::set_values), into memory of the caller: one item per entry of the plan's graph.
    ///
    /// # Errors
    /// [`Error::Shape`] for arrays of other lengths.
    pub fn sum_entries(
        &self,
        space: &Cuda,
        values: &CudaArray<f64>,
        sum: Sum,
        entries: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "CudaCoo::sum_entries";
        let (count, into) = (self.graph.nnz(), u32::from(sum == Sum::Into));
        check_length(NAME, "values", values.len(), self.value_count())?;
        check_length(NAME, "entries", entries.len(), count)?;
        let arguments = arguments![count as u64, &self.first, &self.order, values, into, entries];
        space.launch(&COO, "sum_values", Grid::cover(count, THREADS), arguments)
    }
}
