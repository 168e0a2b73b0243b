//! Assembly from index pairs on a GPU, with the kernels in `kernels/coo.cu`.
//!
//! Two stable radix sorts bring the pairs into the order of the entries, pairs of one entry in the order of the input; one thread per
//! entry then adds its values one after the other. The graph equals the host's, and sums have the host's bits.
//!
//! | | bytes |
//! |---|---|
//! | plan, kept | 4 per value, 4 per entry, 4 per slot, 4 per row |
//! | plan, while it is made | 16 per value |
//! | sum in f64 | reads 12 per value and 4 per entry, writes 8 per entry |

use super::index::check_sizes;
use crate::contraction::Sum;
use crate::error::check_length;
use crate::fill::kernel_files::COO;
use crate::fill::same_graph::check_copy;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments, bits_of};
use crate::space::{ExecutionSpace, Item};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, Result};
use std::sync::Arc;

/// Threads per block, as in the kernels.
const THREADS: u32 = 256;
/// Threads per row of a plan.
const WARP: usize = 32;

/// An integer type of row and column indices on a GPU: `i32`, whose negative values are ignored, or `u32`.
pub trait DeviceIndex: Item + std::fmt::Display {
    #[doc(hidden)]
    const COLUMN_KEYS: &'static str;
}

impl DeviceIndex for i32 {
    const COLUMN_KEYS: &'static str = "column_keys_i32";
}

impl DeviceIndex for u32 {
    const COLUMN_KEYS: &'static str = "column_keys_u32";
}

/// Numbers that a GPU sums: `f64` and `f32`.
pub trait DeviceSummand: Item {
    #[doc(hidden)]
    const SUM_VALUES: &'static str;
}

impl DeviceSummand for f64 {
    const SUM_VALUES: &'static str = "sum_values_f64";
}

impl DeviceSummand for f32 {
    const SUM_VALUES: &'static str = "sum_values_f32";
}

/// A table `[elem, a]` of row or column indices on a GPU, packed, `a` fastest.
#[derive(Clone, Copy, Debug)]
pub struct DeviceIndices<'a, I: DeviceIndex> {
    /// The indices of all elements.
    pub indices: &'a CudaArray<I>,
    /// Indices per element.
    pub per_elem: usize,
}

/// A sparsity pattern on a GPU made from index pairs, and the plan by which values of these pairs are summed into it, any number of
/// times: the twin of [`Coo`](super::Coo).
#[derive(Debug)]
pub struct CudaCoo {
    graph: Arc<CrsGraph<CudaMemory>>,
    /// Values of each entry.
    entries: Sums,
    /// Slots of each row.
    rows: Sums,
    /// Values per slot.
    width: usize,
    /// Slots of the caller.
    slots: usize,
}

/// Item e of a sum adds the inputs `order[first[e]..first[e + 1]]`, in this order.
#[derive(Debug)]
struct Sums {
    first: CudaArray<u32>,
    order: CudaArray<u32>,
}

impl CudaCoo {
    /// Plans sums of values at `(i[k], j[k])`, as [`Coo::new`](super::Coo::new). Waits for the GPU.
    ///
    /// # Errors
    /// Those of [`Coo::new`](super::Coo::new), for 2^31 rows or columns and more, too; a failure of the device.
    pub fn new<I: DeviceIndex>(
        space: &Cuda,
        rows: usize,
        columns: usize,
        i: &CudaArray<I>,
        j: &CudaArray<I>,
    ) -> Result<Self> {
        check_length("CudaCoo::new", "j", j.len(), i.len())?;
        let [i, j] = [i, j].map(|indices| DeviceIndices { indices, per_elem: 1 });
        Self::of(space, [rows, columns], i, j, true, |name, at| {
            format!("{}[{at}]", if name == "row" { "i" } else { "j" })
        })
    }

    /// Plans sums of element matrices `[elem, a, b]`, as [`Coo::from_elements`](super::Coo::from_elements). Waits for the GPU.
    ///
    /// # Errors
    /// Those of [`Coo::from_elements`](super::Coo::from_elements), for 2^31 rows or columns and more, too; a failure of the device.
    pub fn from_elements<I: DeviceIndex>(
        space: &Cuda,
        rows: usize,
        columns: usize,
        rows_of: DeviceIndices<'_, I>,
        columns_of: DeviceIndices<'_, I>,
    ) -> Result<Self> {
        const NAME: &str = "CudaCoo::from_elements";
        for (name, table) in [("rows_of", rows_of), ("columns_of", columns_of)] {
            let (len, per_elem) = (table.indices.len(), table.per_elem);
            if per_elem == 0 || !len.is_multiple_of(per_elem) {
                return Err(Error::Invalid(format!(
                    "{NAME}: `{name}` has {len} indices, {per_elem} per element: expected whole elements of 1 index or more"
                )));
            }
        }
        let elems = |table: DeviceIndices<'_, I>| table.indices.len() / table.per_elem;
        check_length(NAME, "columns_of (elements)", elems(columns_of), elems(rows_of))?;
        Self::of(space, [rows, columns], rows_of, columns_of, false, |name, at| {
            let per_elem = if name == "row" { rows_of.per_elem } else { columns_of.per_elem };
            format!("{name}s_of[{}, {}]", at / per_elem, at % per_elem)
        })
    }

    /// Plans sums of elements; `place` names an index.
    fn of<I: DeviceIndex>(
        space: &Cuda,
        sizes: [usize; 2],
        i: DeviceIndices<'_, I>,
        j: DeviceIndices<'_, I>,
        are_pairs: bool,
        place: impl Fn(&str, usize) -> String,
    ) -> Result<Self> {
        let (slots, width) = (i.indices.len(), j.per_elem);
        let values = slots.saturating_mul(width);
        check_sizes(sizes[0], sizes[1], values)?;
        if let Some(size) = sizes.iter().find(|&&size| size > i32::MAX as usize) {
            let (needed, limit) = (format!("{size} rows or columns"), format!("{} on a GPU", i32::MAX));
            return Err(Error::TooLarge { what: "CudaCoo".into(), needed, limit });
        }
        let input = Input { space, sizes, i, j, values, are_pairs };
        let keys = input.keys_by_entry(place)?;
        let (graph, entries) = input.unite(&keys)?;
        drop(keys);
        let rows = input.slots_of_rows()?;
        Ok(CudaCoo { graph: Arc::new(graph), entries, rows, width, slots })
    }

    /// Returns the sparsity pattern: an entry for each pair that is not ignored.
    pub fn graph(&self) -> &Arc<CrsGraph<CudaMemory>> {
        &self.graph
    }

    /// Returns the number of values that one sum takes, ignored ones included.
    pub fn value_count(&self) -> usize {
        self.slots * self.width
    }

    /// Returns the bytes of the plan without its graph.
    pub fn bytes(&self) -> u64 {
        [&self.entries, &self.rows].map(|sums| (sums.first.bytes() + sums.order.bytes()) as u64).iter().sum()
    }

    /// Sums `values`, one per pair of the plan, into a matrix on the plan's graph, as [`Coo::set_values`](super::Coo::set_values)
    /// and with the same bits. Allocates nothing and does not wait.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are [`value_count`](Self::value_count) values, [`Error::Invalid`] for a matrix on another graph.
    pub fn set_values<V: DeviceSummand>(
        &self,
        space: &Cuda,
        values: &CudaArray<V>,
        sum: Sum,
        matrix: &mut CrsMatrix<V, CudaMemory>,
    ) -> Result<()> {
        const NAME: &str = "CudaCoo::set_values";
        check_length(NAME, "values", values.len(), self.value_count())?;
        let (graph, out) = matrix.values_on_graph();
        check_copy(NAME, graph, &self.graph)?;
        self.entries.sum(space, self.graph.nnz(), values, sum, out)
    }

    /// Sums element vectors `[elem, a]` into the first items of `rows`, one per row, as [`Coo::sum_rows`](super::Coo::sum_rows).
    ///
    /// # Errors
    /// [`Error::Shape`] for arrays of other lengths.
    pub fn sum_rows<V: DeviceSummand>(
        &self,
        space: &Cuda,
        values: &CudaArray<V>,
        sum: Sum,
        rows: &mut CudaArray<V>,
    ) -> Result<()> {
        check_length("CudaCoo::sum_rows", "values", values.len(), self.slots)?;
        check_length("CudaCoo::sum_rows", "rows", rows.len(), self.graph.rows())?;
        self.rows.sum(space, self.graph.rows(), values, sum, rows)
    }
}

impl Sums {
    fn sum<V: DeviceSummand>(
        &self,
        space: &Cuda,
        count: usize,
        values: &CudaArray<V>,
        sum: Sum,
        out: &mut CudaArray<V>,
    ) -> Result<()> {
        let into = u32::from(sum == Sum::Into);
        let arguments = arguments![count as u64, &self.first, &self.order, values, into, out];
        space.launch(&COO, V::SUM_VALUES, Grid::cover(count, THREADS), arguments)
    }
}

/// The input of a plan.
struct Input<'a, I: DeviceIndex> {
    space: &'a Cuda,
    /// Rows and columns.
    sizes: [usize; 2],
    i: DeviceIndices<'a, I>,
    j: DeviceIndices<'a, I>,
    values: usize,
    /// Whether they are single pairs: one that is ignored has no place in the sums of rows either.
    are_pairs: bool,
}

impl<I: DeviceIndex> Input<'_, I> {
    /// Launches a kernel with one thread per item.
    fn items(&self, name: &'static str, items: usize, arguments: &mut [Argument]) -> Result<()> {
        self.space.launch(&COO, name, Grid::cover(items, THREADS), arguments)
    }

    /// Returns the keys (row, value) in the order of the entries, ignored ones behind them.
    fn keys_by_entry(&self, place: impl Fn(&str, usize) -> String) -> Result<CudaArray<u64>> {
        let ([rows, columns], n) = (self.sizes, self.values as u64);
        let (height, width) = (self.i.per_elem as u32, self.j.per_elem as u32);
        let (i, j) = (self.i.indices, self.j.indices);
        let (mut keys, mut outside) = (self.space.unfilled(self.values)?, self.space.upload(&[u64::MAX; 2])?);
        let arguments = arguments![n, height, width, rows as u64, columns as u64, i, j, &mut keys, &mut outside];
        self.items(I::COLUMN_KEYS, self.values, arguments)?;
        let mut found = [0; 2];
        self.space.read(&outside, &mut found)?;
        for (at, what, indices, limit) in [(found[0], "row", i, rows), (found[1], "column", j, columns)] {
            if at != u64::MAX {
                let (place, index) = (place(what, at as usize), self.space.download(indices)?[at as usize]);
                let expected = format!("expected a {what} in 0..{limit}, or a negative number to be ignored");
                return Err(Error::Invalid(format!("{place} is {index}, {expected}")));
            }
        }
        let mut keys = self.space.sort_keys(keys, 32..32 + bits_of(columns))?;
        let arguments = arguments![n, width, rows as u64, columns as u64, i, &mut keys];
        self.items("row_keys", self.values, arguments)?;
        self.space.sort_keys(keys, 32..32 + bits_of(rows))
    }

    /// Returns the sorted inputs of each row, and the order of all inputs.
    fn by_row(&self, keys: &CudaArray<u64>) -> Result<Sums> {
        let (rows, n) = (self.sizes[0], keys.len());
        let (mut first, mut order) = (self.space.unfilled(rows + 1)?, self.space.unfilled(n)?);
        self.items("starts_of_rows", rows + 1, arguments![rows as u64, n as u64, keys, &mut first])?;
        self.items("order_of_keys", n, arguments![n as u64, keys, &mut order])?;
        Ok(Sums { first, order })
    }

    /// Finds the entries of the sorted keys: the graph and the values of each entry. Waits for the number of entries.
    fn unite(&self, keys: &CudaArray<u64>) -> Result<(CrsGraph<CudaMemory>, Sums)> {
        let [rows, columns] = self.sizes;
        let (height, width, j) = (self.i.per_elem as u32, self.j.per_elem as u32, self.j.indices);
        let Sums { first: starts, order } = self.by_row(keys)?;
        let mut counts = self.space.zeros::<u32>(rows)?;
        let arguments = arguments![rows as u64, height, width, &starts, &order, j, &mut counts];
        self.items("count_entries", rows * WARP, arguments)?;
        let map = self.space.offsets(rows, &counts)?;
        let (mut entries, mut first) = (self.space.unfilled(map.total)?, self.space.zeros(map.total + 1)?);
        let arguments =
            arguments![rows as u64, height, width, &starts, &order, j, &map.offsets, &mut entries, &mut first];
        self.items("fill_entries", rows * WARP, arguments)?;
        Ok((CrsGraph::from_parts(rows, columns, map.total, map.offsets, entries), Sums { first, order }))
    }

    /// Returns the slots of each row.
    fn slots_of_rows(&self) -> Result<Sums> {
        let (rows, slots) = (self.sizes[0], self.i.indices.len());
        let mut keys = self.space.unfilled(slots)?;
        let (are_pairs, i, j) = (u32::from(self.are_pairs), self.i.indices, self.j.indices);
        self.items("slot_keys", slots, arguments![slots as u64, rows as u64, are_pairs, i, j, &mut keys])?;
        self.by_row(&self.space.sort_keys(keys, 32..32 + bits_of(rows))?)
    }
}
