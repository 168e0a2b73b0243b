//! What a plan is made from: slots, each with one row and the columns of `width` consecutive values.
//!
//! ```text
//! pairs       slot k        row i[k]         columns j[k]
//! runs        slot s        row i[w s]       columns j[w s..w s + w]      pairs in runs of w with the same row
//! elements    slot (e, a)   row rows[e, a]   columns columns[e, 0..width]
//! ```
//! Values lie slot after slot, `[slot, b]`: for elements that is `[e, a, b]`, so a list of a row's slots holds 4 bytes per row of
//! an element matrix instead of 4 bytes per pair.

use super::index::{CooIndex, IGNORED};
use crate::LocalOrdinal;
pub(super) use crate::graph::Slots;
use crate::space::prefetch;

/// Pairs of a row and a column.
pub(super) struct Pairs<'a, I> {
    pub i: &'a [I],
    pub j: &'a [I],
    /// Whether some columns are negative.
    pub ignores: bool,
}

impl<I: CooIndex> Slots for Pairs<'_, I> {
    fn count(&self) -> usize {
        self.i.len()
    }

    #[inline(always)]
    fn width(&self) -> usize {
        1
    }

    #[inline(always)]
    fn row(&self, slot: usize) -> LocalOrdinal {
        if self.ignores && self.j[slot].local() == IGNORED { IGNORED } else { self.i[slot].local() }
    }

    #[inline(always)]
    fn columns(&self, slot: usize, mut visit: impl FnMut(LocalOrdinal)) {
        visit(self.j[slot].local());
    }

    #[inline(always)]
    fn prefetch(&self, slot: usize) {
        prefetch(self.j, slot);
    }
}

/// Pairs whose rows come in runs of `width` equal ones, none of them with a negative column.
pub(super) struct Runs<'a, I> {
    /// Row of each run.
    pub rows: &'a [LocalOrdinal],
    pub j: &'a [I],
    pub width: usize,
}

impl<I: CooIndex> Slots for Runs<'_, I> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    fn width(&self) -> usize {
        self.width
    }

    #[inline(always)]
    fn row(&self, slot: usize) -> LocalOrdinal {
        self.rows[slot]
    }

    #[inline(always)]
    fn columns(&self, slot: usize, mut visit: impl FnMut(LocalOrdinal)) {
        self.j[slot * self.width..][..self.width].iter().for_each(|column| visit(column.local()));
    }

    #[inline(always)]
    fn prefetch(&self, slot: usize) {
        prefetch(self.j, slot * self.width);
    }
}

/// Element matrices: each has all pairs of an element's rows and columns.
pub(super) struct Elements<'a, I> {
    /// `[elem, a]`.
    pub rows: &'a [I],
    pub rows_per_elem: usize,
    /// `[elem, b]`.
    pub columns: &'a [I],
    pub columns_per_elem: usize,
    /// Whether these are pairs: a negative column then ignores the row, too.
    pub are_pairs: bool,
}

impl<'a, I> Elements<'a, I> {
    /// Pairs as elements of one row and one column.
    pub(super) fn pairs(i: &'a [I], j: &'a [I]) -> Self {
        Elements { rows: i, rows_per_elem: 1, columns: j, columns_per_elem: 1, are_pairs: true }
    }
}

impl<I: CooIndex> Slots for Elements<'_, I> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    fn width(&self) -> usize {
        self.columns_per_elem
    }

    #[inline(always)]
    fn row(&self, slot: usize) -> LocalOrdinal {
        self.rows[slot].local()
    }

    #[inline(always)]
    fn columns(&self, slot: usize, mut visit: impl FnMut(LocalOrdinal)) {
        // Slots are numbered with 32 bits, for which a division is twice as fast.
        let elem = (slot as u32 / self.rows_per_elem as u32) as usize;
        let columns = &self.columns[elem * self.columns_per_elem..][..self.columns_per_elem];
        columns.iter().for_each(|column| visit(column.local()));
    }

    #[inline(always)]
    fn prefetch(&self, slot: usize) {
        let elem = (slot as u32 / self.rows_per_elem as u32) as usize;
        prefetch(self.columns, elem * self.columns_per_elem);
    }
}
