//! The lock-free insert into a [`PairMap`](super::PairMap): load, compare-and-swap, next slot.
//!
//! `tests/models` compiles this file with the atomics of a model checker, so it uses no others than those of
//! [`space::atomic`](crate::space::atomic).

use crate::space::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Length of a probe sequence: slots that an insert tries before it fails.
pub(super) const PROBES: usize = 64;
/// Content of an empty slot.
pub(super) const ABSENT: u64 = 0;

/// Outcome of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The key is new and was stored.
    First,
    /// The key was stored before.
    Existing,
    /// No slot within [`PairMap::PROBES`](super::PairMap::PROBES) of the key's first slot is free. Nothing was stored.
    Failed,
}

/// Part of the table in which the probe sequence of a pair begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashPlacement {
    /// The smaller node's share of the table: fast if rows have similar lengths.
    ByRow,
    /// Any slot, by a hash of both nodes: fails only if the whole table is too full.
    Scattered,
}

/// Shared access to a [`PairMap`](super::PairMap): inserts from any number of threads.
#[derive(Clone, Copy, Debug)]
pub struct PairMapView<'a> {
    slots: &'a [AtomicU64],
    start: ProbeStart,
}

/// The slots in which probe sequences begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeStart {
    slots_per_row: f64,
    window: u64,
    placement: HashPlacement,
}

impl ProbeStart {
    /// Makes a view of a table of slots, with `slots_per_row` slots for each row.
    pub(super) fn new(slots: usize, slots_per_row: f64, placement: HashPlacement) -> Self {
        let window = match placement {
            HashPlacement::ByRow => (slots_per_row as u64).clamp(1, PROBES as u64),
            HashPlacement::Scattered => slots as u64,
        };
        ProbeStart { slots_per_row, window, placement }
    }

    /// First slot of the pair `low <= high`; with [`HashPlacement::ByRow`] it may lie behind the last slot, and goes on at the first.
    #[inline(always)]
    pub(super) fn of(&self, low: u32, high: u32) -> usize {
        // Fibonacci hashing: a multiplication by 2^64 over the golden ratio spreads consecutive ids.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let (share, hash) = match self.placement {
            HashPlacement::ByRow => {
                ((f64::from(low) * self.slots_per_row) as usize, u64::from(high).wrapping_mul(GOLDEN))
            }
            HashPlacement::Scattered => {
                let key = stored(low, high);
                (0, (key ^ key.wrapping_mul(GOLDEN).rotate_left(32)).wrapping_mul(GOLDEN))
            }
        };
        // The upper half of the product maps the hash to the window without a division.
        share + ((u128::from(hash) * u128::from(self.window)) >> 64) as usize
    }
}

impl<'a> PairMapView<'a> {
    /// Lends at least one slot; each node below the number of rows has a share of `slots_per_row` slots.
    pub(super) fn new(slots: &'a [AtomicU64], slots_per_row: f64, placement: HashPlacement) -> Self {
        PairMapView { slots, start: ProbeStart::new(slots.len(), slots_per_row, placement) }
    }

    /// Inserts the pair `low <= high`, where `low` is below the number of rows.
    #[inline(always)]
    pub fn insert(&self, low: u32, high: u32) -> Inserted {
        let key = stored(low, high);
        let home = self.start.of(low, high);
        let length = self.slots.len();
        for probe in 0..PROBES {
            let at = home + probe;
            let cell = &self.slots[if at < length { at } else { (at - length) % length }];
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
        }
        Inserted::Failed
    }
}

/// Returns the content of a pair's slot, which is never zero.
#[inline(always)]
fn stored(low: u32, high: u32) -> u64 {
    (u64::from(low) << 32 | u64::from(high)) + 1
}
