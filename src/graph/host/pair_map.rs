//! A lock-free, insert-only set of node pairs with a fixed capacity. An insert that finds no free slot nearby fails;
//! the set never grows by itself.
//!
//! The design follows `UnorderedMap<pair, void>` in Kokkos MiniFENL. An insert succeeds, finds the key, or fails; the
//! caller sums the failures, enlarges the set and starts again. Collisions are resolved by open addressing with linear
//! probing; a slot is one 8-byte word. `pair_insert.rs` holds the insert.
//!
//! With [`HashPlacement::ByRow`] a pair is placed in its smaller node's share of the table. Pairs of one neighbourhood
//! then share cache lines, which gives 3 to 4 times the insert rate of a scattered hash. A node with hundreds of
//! neighbours overfills its share; [`HashPlacement::Scattered`] has no shares to overfill.

use super::pair_insert::{self, HashPlacement, PairMapView, ProbeStart};
use crate::Result;
use crate::space::atomic::atomic_view;
use crate::space::try_zeroed;

/// Storage of the set. [`view`](Self::view) lends it to threads.
#[derive(Debug)]
pub struct PairMap {
    slots: Vec<u64>,
    slots_per_row: f64,
    placement: HashPlacement,
}

impl PairMap {
    /// Length of a probe sequence: slots that an insert tries before it fails.
    pub const PROBES: usize = pair_insert::PROBES;

    /// Makes an empty set of `capacity` slots (at least [`PROBES`](Self::PROBES)).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new(capacity: usize, rows: usize, placement: HashPlacement) -> Result<Self> {
        let slots = try_zeroed::<u64>("pair map", capacity.max(Self::PROBES))?;
        let slots_per_row = slots.len() as f64 / rows.max(1) as f64;
        Ok(PairMap { slots, slots_per_row, placement })
    }

    /// Returns the number of slots.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Lends the set to threads for inserts.
    pub fn view(&mut self) -> PairMapView<'_> {
        PairMapView::new(atomic_view(&mut self.slots), self.slots_per_row, self.placement)
    }

    /// Where probe sequences begin.
    pub(super) fn start(&self) -> ProbeStart {
        ProbeStart::new(self.slots.len(), self.slots_per_row, self.placement)
    }

    /// Returns the slots. Each holds a key plus one, or [`ABSENT`](Self::ABSENT), so that fresh zero pages are empty
    /// slots.
    pub(super) fn into_keys(self) -> Vec<u64> {
        self.slots
    }

    /// Content of an empty slot.
    pub const ABSENT: u64 = pair_insert::ABSENT;
}

#[cfg(test)]
mod tests {
    use super::super::pair_insert::Inserted;
    use super::*;
    use crate::space::{HostSpace, Threads};
    use rayon::prelude::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn a_full_map_counts_its_failures_and_keeps_what_it_has() {
        let mut map = PairMap::new(0, 10, HashPlacement::ByRow).unwrap();
        let view = map.view();
        let outcomes: Vec<Inserted> = (0..100).map(|high| view.insert(0, high)).collect();
        let first = outcomes.iter().filter(|&&o| o == Inserted::First).count();
        assert_eq!(first, PairMap::PROBES);
        assert_eq!(outcomes.iter().filter(|&&o| o == Inserted::Failed).count(), 100 - first);
        for (high, outcome) in (0..100).zip(outcomes) {
            let again = if outcome == Inserted::First { Inserted::Existing } else { Inserted::Failed };
            assert_eq!(view.insert(0, high), again);
        }
    }

    #[test]
    fn racing_threads_insert_each_pair_once() {
        [HashPlacement::ByRow, HashPlacement::Scattered].into_iter().for_each(race);
    }

    fn race(placement: HashPlacement) {
        let mut map = PairMap::new(4096, 64, placement).unwrap();
        let view = map.view();
        let first = AtomicUsize::new(0);
        Threads::new(4).unwrap().for_each((0..40_000u32).into_par_iter(), |i| {
            let outcome = view.insert(i % 50, 50 + i % 20);
            assert_ne!(outcome, Inserted::Failed);
            first.fetch_add(usize::from(outcome == Inserted::First), Relaxed);
        });
        assert_eq!(first.into_inner(), 100);
        assert_eq!(map.into_keys().iter().filter(|&&key| key != PairMap::ABSENT).count(), 100);
    }
}
