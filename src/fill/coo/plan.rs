//! [`Coo`]: a plan for sums on one rank.

use super::indices::{ElementIndices, check, check_sizes, slots};
use super::runs;
use crate::error::check_length;
use crate::fill::same_graph::check_graph;
use crate::graph::{CooIndex, NodeElem, Position, Positions, RowUnion, Slots, with_position_type, with_positions};
use crate::space::{Item, Threads, admit, offsets, split_at, try_collect, try_push, try_reserve, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;
use std::sync::Arc;

/// A sparsity pattern made from index pairs (COO), with its summation plan.
///
/// ```text
/// A[r, c] = sum of values[k] over all k with i[k] = r and j[k] = c, in the order of k
/// ```
/// `Coo` is for programs that have their own mesh, element loop or dof numbering and pass what they compute as triplets, as to
/// SciPy's `coo_matrix` or PETSc's `MatSetValuesCOO`. The plan holds, for each row, the pairs of the row in the order of the input,
/// and for each pair its position among the sorted columns. [`set_values`](Self::set_values) then lets each row add its values: no
/// atomics, no allocation, and the same bits on any number of threads. Element matrices need no arrays of pairs
/// ([`from_elements`](Self::from_elements)).
///
/// | | bytes read | bytes written |
/// |---|---|---|
/// | plan, per pair of 32-bit indices | 24: rows three times, columns twice, list once | 5: list 4, position 1 |
/// | plan, per entry | 4 | 8 |
/// | sum, per value in f64 | 13: value 8, list 4, position 1 | |
/// | sum, per entry in f64 | 8 | 8 |
///
/// With element matrices of `b` columns, or pairs in runs of `b` with the same row, lists take 4 / b bytes per value.
/// Positions take 2 bytes where a row has more than 255 values, 4 bytes beyond 65 535.
///
/// [`Combinations`](super::Combinations) make the pairs of dofs that are linear combinations of others (periodic boundaries, hanging
/// nodes). [`DistributedCoo`](super::DistributedCoo) takes pairs in rows of any rank.
///
/// ```
/// use minifenl::contraction::Sum;
/// use minifenl::fill::Coo;
/// use minifenl::space::Threads;
///
/// let space = Threads::new(2)?;
/// // Two springs in a row; the pair with a negative index is ignored.
/// let i = [0, 0, 1, 1, 1, 1, 2, 2, -1];
/// let j = [0, 1, 0, 1, 1, 2, 1, 2, 0];
/// let plan = Coo::new(&space, 3, 3, &i, &j)?;
/// let mut matrix = plan.matrix::<f64>()?;
/// for stiffness in [1.0, 2.0] {
///     let values = [1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 7.0].map(|k| stiffness * k);
///     plan.set_values(&space, &values, Sum::Overwrite, &mut matrix)?;
/// }
/// assert_eq!(matrix.values(), &[2.0, -2.0, -2.0, 4.0, -2.0, -2.0, 2.0]);
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Debug)]
pub struct Coo {
    graph: Arc<CrsGraph>,
    /// Slots of each row.
    pub(super) lists: NodeElem,
    /// Position of each value `[list item, b]` in its row.
    pub(super) positions: Positions,
    /// Bounds of pieces of the rows.
    pub(super) bounds: Vec<LocalOrdinal>,
    pub(super) width: usize,
    pub(super) slots: usize,
    /// Values per slot that a sum into rows takes.
    pub(super) per_slot: usize,
    /// Whether some positions are `NONE`.
    pub(super) ignores: bool,
}

impl Coo {
    /// Plans sums of values at `(i[k], j[k])`, in any order and with duplicates. Pairs with a negative index are
    /// ignored.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `i` and `j` have the same length, [`Error::Invalid`] for the first index outside the matrix,
    /// [`Error::TooLarge`] for more pairs, rows or columns than 32 bits number, [`Error::OutOfMemory`] where memory is short.
    ///
    /// [`Error::Shape`]: crate::Error::Shape
    /// [`Error::Invalid`]: crate::Error::Invalid
    /// [`Error::TooLarge`]: crate::Error::TooLarge
    /// [`Error::OutOfMemory`]: crate::Error::OutOfMemory
    pub fn new<I: CooIndex>(space: &Threads, rows: usize, columns: usize, i: &[I], j: &[I]) -> Result<Self> {
        check_length("Coo::new", "j", j.len(), i.len())?;
        check_sizes(rows, columns, i.len())?;
        check(space, i, rows, "row", |k| format!("i[{k}]"))?;
        let ignores = check(space, j, columns, "column", |k| format!("j[{k}]"))?;
        // Only single pairs leave those with a negative column out of the lists.
        if !ignores && let Some((width, runs)) = runs::find(space, i)? {
            let plan = Self::of(space, rows, columns, &Slots::runs(&runs, j, width), false)?;
            return Ok(Coo { per_slot: width, ..plan });
        }
        Self::of(space, rows, columns, &Slots { skips: ignores, ..Slots::runs(i, j, 1) }, false)
    }

    /// Plans sums of element matrices `[elem, a, b]` without arrays of pairs. Rows and columns of an element matrix
    /// with a negative index are ignored.
    ///
    /// # Errors
    /// As [`new`](Self::new), [`Error::Invalid`](crate::Error::Invalid) for a table that ends within an element, and
    /// [`Error::Shape`](crate::Error::Shape) unless both tables have the same number of elements.
    pub fn from_elements<I: CooIndex>(
        space: &Threads,
        rows: usize,
        columns: usize,
        rows_of: ElementIndices<'_, I>,
        columns_of: ElementIndices<'_, I>,
    ) -> Result<Self> {
        let input = slots("Coo::from_elements", rows_of, columns_of)?;
        check_sizes(rows, columns, input.count().saturating_mul(input.width()))?;
        rows_of.check(space, rows, "row")?;
        let ignores = columns_of.check(space, columns, "column")?;
        Self::of(space, rows, columns, &input, ignores)
    }

    /// Plans sums of slots, some of which have a negative column if `ignores`.
    pub(super) fn of(
        space: &Threads,
        rows: usize,
        columns: usize,
        input: &Slots<'_, impl CooIndex, impl CooIndex>,
        ignores: bool,
    ) -> Result<Self> {
        // Offsets twice and lengths, which are not all touched when the next of them is admitted.
        admit("rows of index pairs", 20 * (rows + 1))?;
        let lists = NodeElem::of_slots(space, rows, input)?;
        let (graph, positions, bounds) = unite(space, &lists, columns, input)?;
        Ok(Coo {
            graph: Arc::new(graph),
            lists,
            positions,
            bounds,
            width: input.width(),
            slots: input.count(),
            per_slot: 1,
            ignores,
        })
    }

    /// Returns the sparsity pattern: an entry for each pair that is not ignored.
    pub fn graph(&self) -> &Arc<CrsGraph> {
        &self.graph
    }

    /// Returns the number of values that one sum takes, ignored ones included.
    pub fn value_count(&self) -> usize {
        self.slots * self.width
    }

    /// Returns the bytes of the plan without its graph.
    pub fn bytes(&self) -> u64 {
        let positions = with_positions!(&self.positions, positions => size_of_val(&positions[..]));
        (8 * self.lists.row_map().len() + 4 * self.lists.slots_array().len() + positions + 4 * self.bounds.len()) as u64
    }

    /// Returns the zero matrix on the plan's graph.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn matrix<V: Item>(&self) -> Result<CrsMatrix<V>> {
        CrsMatrix::zeros_on(&crate::space::Serial, self.graph.clone())
    }

    pub(super) fn check_matrix<V: Item>(&self, operation: &'static str, matrix: &CrsMatrix<V>) -> Result<()> {
        check_graph(operation, matrix.graph(), &self.graph)
    }
}

/// Values per piece of the rows.
const PIECE: usize = 1 << 16;

/// The graph, the position of each value `[list item, b]` in its row (`NONE` for an ignored column), and bounds of pieces.
fn unite(
    space: &Threads,
    lists: &NodeElem,
    columns: usize,
    input: &Slots<'_, impl CooIndex, impl CooIndex>,
) -> Result<(CrsGraph, Positions, Vec<LocalOrdinal>)> {
    let (starts, width) = (lists.row_map(), input.width());
    let longest = starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0);
    let bounds = bounds_of(starts, PIECE.div_ceil(width))?;
    let mut counts = try_zeroed::<u32>("row lengths", lists.rows())?;
    // Columns of the rows of each piece.
    let mut found = try_collect("columns of pieces", bounds.iter().skip(1).map(|_| Vec::new()))?;
    // The number of values in a row bounds that of its columns and selects the type of positions.
    let positions = with_position_type!((longest * width).min(columns), P => {
        let mut positions = try_zeroed::<P>("positions", lists.slots_array().len() * width)?;
        let parts = split_at(&mut positions, bounds.iter().map(|&row| starts[row as usize] as usize * width));
        let counts = split_at(&mut counts, bounds.iter().map(|&row| row as usize));
        let pieces = bounds.par_windows(2).zip(parts).zip(counts).zip(found.par_iter_mut());
        space.try_for_each(pieces, |(((bounds, positions), counts), found)| {
            find::<P>(lists, columns, input, bounds[0] as usize, positions, counts, found)
        })?;
        positions
    });
    let row_map = offsets(space, &counts)?;
    let mut entries = try_zeroed::<LocalOrdinal>("columns", row_map[lists.rows()] as usize)?;
    let parts = split_at(&mut entries, bounds.iter().map(|&row| row_map[row as usize] as usize));
    space.for_each(parts.into_par_iter().zip(&found), |(entries, found)| entries.copy_from_slice(found));
    Ok((CrsGraph::trusted(row_map, entries, columns), positions, bounds))
}

/// The rows of a piece from `first` on: positions of their values, numbers of their columns, and these.
fn find<P: Position>(
    lists: &NodeElem,
    columns: usize,
    input: &Slots<'_, impl CooIndex, impl CooIndex>,
    first: usize,
    mut positions: &mut [P],
    counts: &mut [u32],
    found: &mut Vec<LocalOrdinal>,
) -> Result<()> {
    let mut union = RowUnion::default();
    for (row, count) in (first..).zip(counts) {
        let values = lists.slots(row).len();
        let own = positions.split_off_mut(..values * input.width()).expect("the positions of a row");
        union.unite(input, lists.slots_from(row), values, columns, own)?;
        *count = union.columns().len() as u32;
        try_reserve("columns of a piece", found, union.columns().len())?;
        found.extend_from_slice(union.columns());
    }
    Ok(())
}

/// Returns the bounds of pieces of about `size` items, given the offsets of the rows' items. They depend on the rows only, so results
/// do not depend on the number of threads.
fn bounds_of(offsets: &[RowOffset], size: usize) -> Result<Vec<LocalOrdinal>> {
    let rows = offsets.len() - 1;
    let mut bounds = Vec::new();
    try_push("bounds of pieces", &mut bounds, 0)?;
    let mut start = 0;
    while start < rows {
        let full = offsets[start] + size as RowOffset;
        // The first row after which the piece is full; empty rows count as items, too, since each costs a little.
        let end = (start + size).min(rows);
        let end = start + 1 + offsets[start + 1..end].partition_point(|&offset| offset < full);
        try_push("bounds of pieces", &mut bounds, end as LocalOrdinal)?;
        start = end;
    }
    Ok(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_equal_those_by_hand() {
        assert_eq!(bounds_of(&[0], 3).unwrap(), [0]);
        assert_eq!(bounds_of(&[0, 1, 2, 3, 4, 5], 2).unwrap(), [0, 2, 4, 5]);
        // Rows of 0, 9, 0, 0, 0, 1 items: a long row ends its piece, and empty rows do not last for ever.
        assert_eq!(bounds_of(&[0, 0, 9, 9, 9, 9, 10], 3).unwrap(), [0, 2, 5, 6]);
    }
}
