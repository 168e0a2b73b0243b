//! Input of the rows of a pattern: slots, each with one row and the columns of `width` consecutive values.
//!
//! ```text
//! elements    slot (e, a)   row rows[e, a]   columns columns[e, 0..width]
//! pairs       slot k        row i[k]         columns j[k]                    elements of one row and one column
//! runs        slot s        row i[w s]       columns j[w s..w s + w]         pairs in runs of w with the same row
//! ```
//! Values lie slot after slot, `[slot, b]`: for elements that is `[e, a, b]`, so a list of a row's slots holds 4 bytes per row of
//! an element matrix instead of 4 bytes per pair.

use crate::LocalOrdinal;
use crate::mesh::ElemNode;
use crate::space::prefetch;
use num_traits::{AsPrimitive, PrimInt};

/// Column of a value that is not summed, and row of a slot without values.
pub(crate) const IGNORED: LocalOrdinal = LocalOrdinal::MAX;

/// An integer type for row and column indices: `i32`, `i64`, `u32`, `u64` or `usize`.
///
/// A pair with a negative index is ignored, as by PETSc's `MatSetPreallocationCOO`; unsigned indices are never ignored.
pub trait CooIndex: PrimInt + AsPrimitive<LocalOrdinal> + Send + Sync + std::fmt::Display {
    /// Returns the index, or `None` if it is negative.
    #[inline(always)]
    fn get(self) -> Option<u64> {
        self.to_u64()
    }

    /// Returns the index in 32 bits, which it is known to fit; `u32::MAX` if it is negative.
    #[doc(hidden)]
    #[inline(always)]
    fn local(self) -> LocalOrdinal {
        if self < Self::zero() { IGNORED } else { self.as_() }
    }
}

impl CooIndex for i32 {}
impl CooIndex for i64 {}
impl CooIndex for u32 {}
impl CooIndex for u64 {}
impl CooIndex for usize {}

/// The slots of elements: all pairs of an element's rows and columns.
#[derive(Clone, Copy)]
pub(crate) struct Slots<'a, R, C> {
    /// `[elem, a]`.
    pub rows: &'a [R],
    pub rows_per_elem: usize,
    /// `[elem, b]`.
    pub columns: &'a [C],
    pub columns_per_elem: usize,
    /// Whether these are pairs some of which have a negative column: it then ignores the row, too.
    pub skips: bool,
}

impl<'a> Slots<'a, LocalOrdinal, LocalOrdinal> {
    /// The slots of an element-node table.
    pub fn of_table(elem_node: &'a ElemNode) -> Self {
        let (nodes, per_elem) = (elem_node.as_slice(), elem_node.nodes_per_elem());
        Slots { rows: nodes, rows_per_elem: per_elem, columns: nodes, columns_per_elem: per_elem, skips: false }
    }
}

impl<'a, R, C> Slots<'a, R, C> {
    /// Slots with a row of their own and `width` columns each.
    pub fn runs(rows: &'a [R], columns: &'a [C], width: usize) -> Self {
        Slots { rows, rows_per_elem: 1, columns, columns_per_elem: width, skips: false }
    }

    /// Number of slots.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Values per slot.
    #[inline(always)]
    pub fn width(&self) -> usize {
        self.columns_per_elem
    }

    /// Index of the first column of a slot.
    #[inline(always)]
    fn first(&self, slot: usize) -> usize {
        // Slots are numbered with 32 bits, for which a division is twice as fast.
        let elem = if self.rows_per_elem == 1 { slot } else { (slot as u32 / self.rows_per_elem as u32) as usize };
        elem * self.columns_per_elem
    }

    /// The columns of a slot.
    #[inline(always)]
    pub fn columns_of(&self, slot: usize) -> &'a [C] {
        &self.columns[self.first(slot)..][..self.columns_per_elem]
    }

    /// Prefetches the columns of a slot.
    #[inline(always)]
    pub fn prefetch(&self, slot: usize) {
        prefetch(self.columns, self.first(slot));
    }
}

impl<R, C: CooIndex> Slots<'_, R, C> {
    /// Calls `visit` with each column of a slot, or [`IGNORED`].
    #[inline(always)]
    pub fn columns(&self, slot: usize, mut visit: impl FnMut(LocalOrdinal)) {
        self.columns_of(slot).iter().for_each(|column| visit(column.local()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_indices_of_every_type_are_ignored() {
        assert_eq!([(-1i32).local(), i32::MIN.local(), 7i32.local()], [IGNORED, IGNORED, 7]);
        assert_eq!([(-1i64).local(), i64::MIN.local(), 7i64.local()], [IGNORED, IGNORED, 7]);
        assert_eq!((7u32.local(), 7u64.local(), 7usize.local()), (7, 7, 7));
        assert_eq!(((-1i32).get(), 5u64.get(), u64::MAX.get()), (None, Some(5), Some(u64::MAX)));
    }
}
