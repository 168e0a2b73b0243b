//! Input of the rows of a pattern: slots, each with one row and `width` columns.

use crate::LocalOrdinal;

/// Column of a value that is not summed, and row of a slot without values.
pub(crate) const IGNORED: LocalOrdinal = LocalOrdinal::MAX;

/// Slots with their rows and columns in local indices.
pub(crate) trait Slots: Sync {
    /// Number of slots.
    fn count(&self) -> usize;

    /// Values per slot.
    fn width(&self) -> usize;

    /// Row of a slot, or [`IGNORED`].
    fn row(&self, slot: usize) -> LocalOrdinal;

    /// Calls `visit` with each column of a slot, or [`IGNORED`].
    fn columns(&self, slot: usize, visit: impl FnMut(LocalOrdinal));

    /// Prefetches the columns of a slot.
    #[inline(always)]
    fn prefetch(&self, _: usize) {}
}
