//! [`Coo`]: a plan for sums on one rank.

use super::columns::unite;
use super::indices::{ElementIndices, check, check_sizes, slots};
use super::runs;
use crate::error::check_length;
use crate::fill::same_graph::check_graph;
use crate::graph::{CooIndex, NodeElem, Positions, Slots, with_positions};
use crate::space::{Item, Threads, admit};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result};
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
