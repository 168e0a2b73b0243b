//! Loops in loops: a team of threads joins the values of an inner range.
//!
//! ```text
//! for_teams   f.at(i, v_first o ... o v_(end-1), cells),   v_k = f.value(i, k, ...),   [first, end] = f.range(i, ...)
//! ```
//! A team is some lanes of a warp on a GPU, which join their values in shared memory, and one thread on a host.

use super::atomic::AtomicF64;
use super::{Item, choice::named_choice};

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
