//! The input of a plan: slots, each with one row and the columns of `width` consecutive values.
//!
//! ```text
//! elements    slot (e, a)   row rows[e, a]   columns columns[e, 0..width]
//! pairs       slot k        row i[k]         columns j[k]                    elements of one row and one column
//! runs        slot s        row i[w s]       columns j[w s..w s + w]         pairs in runs of w with the same row
//! ```
//! Values lie slot after slot, `[slot, b]`: for elements that is `[e, a, b]`, so a list of a row's slots holds 4 bytes per row of
//! an element matrix instead of 4 bytes per pair.

use super::index::{CooIndex, IGNORED, check};
use crate::error::check_length;
use crate::graph::Slots;
use crate::space::{HostSpace, prefetch};
use crate::{Error, LocalOrdinal, Result};

/// A table `[elem, a]` of row or column indices, packed, `a` fastest, with any number of indices per element.
#[derive(Clone, Copy, Debug)]
pub struct ElementIndices<'a, I> {
    /// The indices of all elements.
    pub indices: &'a [I],
    /// Indices per element.
    pub per_elem: usize,
}

impl<I: CooIndex> ElementIndices<'_, I> {
    /// Checks that all indices lie below `limit`; returns whether some are negative. `what` is "row" or "column".
    pub(super) fn check<S: HostSpace>(&self, space: &S, limit: usize, what: &str) -> Result<bool> {
        let place = |at: usize| format!("{what}s_of[{}, {}]", at / self.per_elem, at % self.per_elem);
        check(space, self.indices, limit, what, place)
    }
}

/// The slots of element matrices: all pairs of an element's rows and columns.
#[derive(Clone, Copy)]
pub(super) struct Table<'a, R, C> {
    /// `[elem, a]`.
    pub rows: &'a [R],
    pub rows_per_elem: usize,
    /// `[elem, b]`.
    pub columns: &'a [C],
    pub columns_per_elem: usize,
    /// Whether these are pairs some of which have a negative column: it then ignores the row, too.
    pub skips: bool,
}

impl<'a, R, C> Table<'a, R, C> {
    /// Slots with a row of their own and `width` columns each.
    pub(super) fn runs(rows: &'a [R], columns: &'a [C], width: usize) -> Self {
        Table { rows, rows_per_elem: 1, columns, columns_per_elem: width, skips: false }
    }

    /// Number of the element of a slot.
    #[inline(always)]
    pub(super) fn elem(&self, slot: usize) -> usize {
        // Slots are numbered with 32 bits, for which a division is twice as fast.
        if self.rows_per_elem == 1 { slot } else { (slot as u32 / self.rows_per_elem as u32) as usize }
    }

    /// The columns of a slot.
    #[inline(always)]
    pub(super) fn columns_of(&self, slot: usize) -> &'a [C] {
        &self.columns[self.elem(slot) * self.columns_per_elem..][..self.columns_per_elem]
    }
}

impl<'a, I: CooIndex> Table<'a, I, I> {
    /// The slots of element tables.
    pub(super) fn elements(
        operation: &'static str,
        rows_of: ElementIndices<'a, I>,
        columns_of: ElementIndices<'a, I>,
    ) -> Result<Self> {
        check_tables(operation, [rows_of, columns_of].map(|table| (table.indices.len(), table.per_elem)))?;
        let (rows, rows_per_elem) = (rows_of.indices, rows_of.per_elem);
        let (columns, columns_per_elem) = (columns_of.indices, columns_of.per_elem);
        Ok(Table { rows, rows_per_elem, columns, columns_per_elem, skips: false })
    }
}

/// Refuses tables of rows and columns, given their lengths and indices per element, unless both have the same number of elements.
pub(super) fn check_tables(operation: &'static str, tables: [(usize, usize); 2]) -> Result<()> {
    for (name, (len, per_elem)) in ["rows_of", "columns_of"].into_iter().zip(tables) {
        if per_elem == 0 || !len.is_multiple_of(per_elem) {
            return Err(Error::Invalid(format!(
                "{operation}: `{name}` has {len} indices, {per_elem} per element: expected whole elements of 1 index or more"
            )));
        }
    }
    let [rows, columns] = tables.map(|(len, per_elem)| len / per_elem);
    check_length(operation, "columns_of (elements)", columns, rows)
}

impl<R: CooIndex, C: CooIndex> Slots for Table<'_, R, C> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    fn width(&self) -> usize {
        self.columns_per_elem
    }

    #[inline(always)]
    fn row(&self, slot: usize) -> LocalOrdinal {
        if self.skips && self.columns[slot].local() == IGNORED { IGNORED } else { self.rows[slot].local() }
    }

    #[inline(always)]
    fn columns(&self, slot: usize, mut visit: impl FnMut(LocalOrdinal)) {
        self.columns_of(slot).iter().for_each(|column| visit(column.local()));
    }

    #[inline(always)]
    fn prefetch(&self, slot: usize) {
        prefetch(self.columns, self.elem(slot) * self.columns_per_elem);
    }
}
