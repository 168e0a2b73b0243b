//! Loops in loops: a team of threads joins the values of an inner range.
//!
//! ```text
//! for_teams   f.at(i, v_first o ... o v_(end-1), cells),   v_k = f.value(i, k, ...),   [first, end] = f.range(i, ...)
//! ```
//! A team is some lanes of a warp on a GPU, which join their values in shared memory, and one thread on a host.

use super::atomic::{AtomicF64, atomic_view};
use super::{ExecutionSpace, Item, Slice, Threads, choice::named_choice};
use crate::Result;
use rayon::prelude::*;

named_choice! {
    "threads of a team";
    /// Threads of a team on a GPU.
    #[derive(Default)]
    pub enum Team {
        /// 4
        Four = "4",
        /// 8
        #[default]
        Eight = "8",
        /// 16
        Sixteen = "16",
        /// A warp.
        Warp = "32",
    }
}

/// Values of the inner ranges of indices, and an associative and commutative operation that joins them.
pub trait TeamFn<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>: Sync {
    /// What is joined.
    type Value: Item;

    /// Returns the value that changes no other.
    fn identity(&self) -> Self::Value;

    /// Returns the first inner index of index `i`, and the one behind the last.
    fn range(&self, i: usize, indices: [&[u32]; INDICES]) -> [usize; 2];

    /// Returns the value of inner index `k` of index `i`.
    fn value(&self, i: usize, k: usize, numbers: [&[f64]; NUMBERS], indices: [&[u32]; INDICES]) -> Self::Value;

    /// Returns `a` joined with `b`.
    fn join(&self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// Uses the values of index `i` joined; one thread of its team calls it.
    fn at(&self, i: usize, joined: Self::Value, cells: [&[AtomicF64]; CELLS]);
}

/// A space that runs loops in loops with functions of type `F`.
pub trait Teams<F>: ExecutionSpace {
    /// Joins the values of the inner range of each index below `n`.
    ///
    /// # Errors
    /// Those of [`for_indices`](super::Loops::for_indices); a GPU also refuses values of more than 64 bytes.
    fn for_teams<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>(
        &self,
        n: usize,
        team: Team,
        f: &F,
        numbers: [&Slice<Self, f64>; NUMBERS],
        indices: [&Slice<Self, u32>; INDICES],
        cells: [&mut Slice<Self, f64>; CELLS],
    ) -> Result<()>
    where
        F: TeamFn<NUMBERS, INDICES, CELLS>;
}

impl<F> Teams<F> for Threads {
    fn for_teams<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>(
        &self,
        n: usize,
        _: Team,
        f: &F,
        numbers: [&[f64]; NUMBERS],
        indices: [&[u32]; INDICES],
        cells: [&mut [f64]; CELLS],
    ) -> Result<()>
    where
        F: TeamFn<NUMBERS, INDICES, CELLS>,
    {
        let cells: [&[AtomicF64]; CELLS] = cells.map(atomic_view);
        // Some chunks per thread.
        let chunk = (n / (8 * self.concurrency())).clamp(64, Threads::CHUNK);
        self.for_each((0..n.div_ceil(chunk)).into_par_iter(), |piece| {
            for i in piece * chunk..n.min((piece + 1) * chunk) {
                let [first, end] = f.range(i, indices);
                let joined = (first..end).fold(f.identity(), |sum, k| f.join(sum, f.value(i, k, numbers, indices)));
                f.at(i, joined, cells);
            }
        });
        Ok(())
    }
}
