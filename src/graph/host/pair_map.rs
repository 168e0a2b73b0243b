//! A lock-free, insert-only set of pairs of a row and a column, with fixed room per row.
//!
//! The design follows `UnorderedMap<pair, void>` in Kokkos MiniFENL: an insert succeeds, finds the pair, or fails; the
//! set never grows by itself. The caller reads the number of failures, enlarges the set and inserts again. Collisions are
//! resolved by open addressing with linear probing within the slots of the row. The slots imply the row, so a pair takes
//! 4 bytes, and the pairs of a row share cache lines. `pair_insert.rs` holds the insert.

use super::pair_insert::{ABSENT, PairMapView, home, stored};
use crate::space::atomic::{AtomicU64, atomic_view};
use crate::space::{Threads, offsets, try_zeroed};
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Storage of the set: 4 bytes per slot and 8 per row. [`view`](Self::view) lends it to threads.
#[derive(Debug)]
pub struct PairMap {
    slots: Vec<u32>,
    starts: Vec<RowOffset>,
    failed: AtomicU64,
}

impl PairMap {
    /// Makes an empty set with `room[row]` slots for each row.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new(space: &Threads, room: &[u32]) -> Result<Self> {
        let starts = offsets(space, room)?;
        let slots = try_zeroed("pair map", starts[room.len()] as usize)?;
        Ok(PairMap { slots, starts, failed: AtomicU64::new(0) })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of slots.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Lends the set to threads for inserts.
    pub fn view(&mut self) -> PairMapView<'_> {
        PairMapView::new(atomic_view(&mut self.slots), &self.starts, &self.failed)
    }

    /// Returns the number of inserts that failed.
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// Returns the number of pairs. Reads all slots.
    pub fn len(&self, space: &Threads) -> usize {
        let sum = AtomicUsize::new(0);
        space.for_each(self.slots.par_chunks(Threads::CHUNK), |slots| {
            sum.fetch_add(slots.iter().filter(|&&slot| slot != ABSENT).count(), Relaxed);
        });
        sum.into_inner()
    }

    /// Returns whether a pair is in the set.
    pub fn contains(&self, row: LocalOrdinal, column: LocalOrdinal) -> bool {
        if row as usize >= self.rows() {
            return false;
        }
        let slots = self.slots_of(row as usize);
        let (wrapped, first) = slots.split_at(home(row, column, slots.len()));
        first.iter().chain(wrapped).take_while(|&&slot| slot != ABSENT).any(|&slot| slot == stored(column))
    }

    /// Calls `f(row, column)` once per pair, in any order and on any thread of the space.
    pub fn for_each_key(&self, space: &Threads, f: impl Fn(LocalOrdinal, LocalOrdinal) + Send + Sync) {
        space.for_each(self.starts[..self.rows()].par_chunks(Threads::CHUNK).enumerate(), |(chunk, starts)| {
            for row in chunk * Threads::CHUNK..chunk * Threads::CHUNK + starts.len() {
                let full = self.slots_of(row).iter().filter(|&&slot| slot != ABSENT);
                full.for_each(|&slot| f(row as LocalOrdinal, slot - 1));
            }
        });
    }

    /// Returns a set of the same pairs with other room per row, and no failures but those of pairs without room.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn rehash(&self, space: &Threads, room: &[u32]) -> Result<Self> {
        let mut larger = PairMap::new(space, room)?;
        let view = larger.view();
        self.for_each_key(space, |row, column| {
            view.insert(row, column);
        });
        Ok(larger)
    }

    /// Returns the slots of one row, each [`ABSENT`] or a column plus one.
    #[inline(always)]
    pub(super) fn slots_of(&self, row: usize) -> &[u32] {
        &self.slots[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair_insert::Inserted;
    use super::*;
    use crate::space::{Serial, Threads};
    use std::sync::Mutex;

    #[test]
    fn a_full_row_counts_its_failures_and_keeps_what_it_has() {
        let mut map = PairMap::new(&Serial, &[0, 60, 7]).unwrap();
        let view = map.view();
        let outcomes: Vec<Inserted> = (0..100).map(|column| view.insert(1, column)).collect();
        let count = |outcome| outcomes.iter().filter(|&&other| other == outcome).count();
        assert_eq!((count(Inserted::First), count(Inserted::Failed)), (60, 40));
        for (column, &outcome) in (0..100).zip(&outcomes) {
            let again = if outcome == Inserted::First { Inserted::Existing } else { Inserted::Failed };
            assert_eq!(view.insert(1, column), again);
        }
        assert_eq!((view.insert(0, 5), view.insert(3, 5)), (Inserted::Failed, Inserted::Failed));
        assert_eq!((map.failed(), map.len(&Serial), map.capacity()), (82, 60, 67));
        for (column, outcome) in (0..100).zip(outcomes) {
            assert_eq!(map.contains(1, column), outcome == Inserted::First);
            assert!(!map.contains(0, column) && !map.contains(2, column) && !map.contains(3, column));
        }
    }

    #[test]
    fn racing_threads_insert_each_pair_once() {
        let threads = Threads::new(4).unwrap();
        let mut map = PairMap::new(&threads, &[25; 50]).unwrap();
        let (view, first) = (map.view(), AtomicUsize::new(0));
        threads.for_each((0..40_000u32).into_par_iter(), |i| {
            let outcome = view.insert(i % 50, 50 + i % 20);
            assert_ne!(outcome, Inserted::Failed);
            first.fetch_add(usize::from(outcome == Inserted::First), Relaxed);
        });
        assert_eq!((first.into_inner(), map.len(&threads)), (100, 100));
    }

    #[test]
    fn a_larger_map_has_the_same_pairs_and_no_failures() {
        let threads = Threads::new(3).unwrap();
        let mut map = PairMap::new(&threads, &[2; 5000]).unwrap();
        let view = map.view();
        (0..5000).for_each(|row| (0..3).for_each(|step| _ = view.insert(row, row + step)));
        let larger = map.rehash(&threads, &[9; 5000]).unwrap();
        assert_eq!((map.failed(), larger.failed(), larger.len(&threads)), (5000, 0, 10_000));
        let pairs = |map: &PairMap| {
            let list = Mutex::new(vec![]);
            map.for_each_key(&threads, |row, column| list.lock().unwrap().push((row, column)));
            let mut list = list.into_inner().unwrap();
            list.sort_unstable();
            list
        };
        assert_eq!(pairs(&map), pairs(&larger));
        assert!(pairs(&map).iter().all(|&(row, column)| larger.contains(row, column)));
        assert_eq!(larger.rehash(&threads, &[1; 5000]).unwrap().failed(), 5000);
    }
}
