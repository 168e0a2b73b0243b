//! The lock-free insert into a row of a [`PairMap`](super::PairMap): load, compare-and-swap, next slot.
//!
//! `tests/models` compiles this file with the atomics of a model checker, so it uses no others than those of
//! [`space::atomic`](crate::space::atomic).

use crate::space::atomic::{AtomicU32, AtomicU64};
use std::sync::atomic::Ordering::Relaxed;

/// Content of an empty slot. Full slots hold a column plus one, so that fresh zero pages are empty slots.
pub(super) const ABSENT: u32 = 0;

/// Outcome of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The pair is new and was stored.
    First,
    /// The pair was stored before.
    Existing,
    /// The row has no free slot. Nothing was stored.
    Failed,
}

/// Shared access to a [`PairMap`](super::PairMap): inserts from any number of threads.
#[derive(Clone, Copy, Debug)]
pub struct PairMapView<'a> {
    slots: &'a [AtomicU32],
    /// Row r has the slots `starts[r]..starts[r + 1]`.
    starts: &'a [u64],
    failed: &'a AtomicU64,
}

impl<'a> PairMapView<'a> {
    /// Lends slots, the offsets of the rows' slots, and the number of failed inserts.
    pub(super) fn new(slots: &'a [AtomicU32], starts: &'a [u64], failed: &'a AtomicU64) -> Self {
        PairMapView { slots, starts, failed }
    }

    /// Inserts the pair of a row and a column. A row that the map does not have has no free slot; columns are below
    /// `u32::MAX`.
    #[inline(always)]
    pub fn insert(&self, row: u32, column: u32) -> Inserted {
        self.row(row).insert(column)
    }

    /// Returns the slots of one row.
    #[inline(always)]
    pub(super) fn row(&self, row: u32) -> RowView<'a> {
        let slots = match self.starts.get(row as usize..) {
            Some(&[start, end, ..]) => &self.slots[start as usize..end as usize],
            _ => &[],
        };
        RowView { slots, row, failed: self.failed }
    }
}

/// Shared access to the slots of one row.
#[derive(Clone, Copy)]
pub(super) struct RowView<'a> {
    slots: &'a [AtomicU32],
    row: u32,
    failed: &'a AtomicU64,
}

impl RowView<'_> {
    /// Inserts a column.
    #[inline(always)]
    pub fn insert(&self, column: u32) -> Inserted {
        let (length, key) = (self.slots.len(), stored(column));
        let mut at = home(self.row, column, length);
        for _ in 0..length {
            let cell = &self.slots[at];
            let mut found = cell.load(Relaxed);
            if found == ABSENT {
                // Relaxed ordering suffices: a slot never changes once it is full, and the join publishes all slots.
                match cell.compare_exchange(ABSENT, key, Relaxed, Relaxed) {
                    Ok(_) => return Inserted::First,
                    Err(other) => found = other,
                }
            }
            if found == key {
                return Inserted::Existing;
            }
            at = if at + 1 < length { at + 1 } else { 0 };
        }
        self.failed.fetch_add(1, Relaxed);
        Inserted::Failed
    }
}

/// Returns the content of a column's slot.
#[inline(always)]
pub(super) fn stored(column: u32) -> u32 {
    column.wrapping_add(1)
}

/// Returns the slot of a row's `length` at which the search for a column begins.
///
/// Fibonacci hashing of the column's distance from the row: in a box, all rows look alike to the branch predictor.
#[inline(always)]
pub(super) fn home(row: u32, column: u32, length: usize) -> usize {
    // The upper half of the product maps the hash to the slots without a division.
    ((u64::from(column.wrapping_sub(row).wrapping_mul(0x9e37_79b1)) * length as u64) >> 32) as usize
}
