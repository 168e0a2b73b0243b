//! Teams with scratch: a team fills an array of its own, then each of its lanes reads all of it, phase after phase.
//!
//! ```text
//! for_tiles   each team t < n:   v_l = start()                                  lanes l < LANES
//!             each phase p:      scratch[k] = load(t, p, k)                     items k < SCRATCH, shared among the lanes
//!                                v_l = step(l, v_l, scratch)
//!             at the end:        at(t, l, v_l, cells)
//! ```
//! A team is a block on a GPU, its scratch lies in shared memory, and the lanes wait for each other before and after each step. On a host one
//! thread does the lanes in turn; its scratch stays in cache. So the same numbers are read `LANES` times and loaded once.

use super::Item;
use super::atomic::AtomicF64;

/// A number of the scratch. The name tells a GPU's compiler that it lies in shared memory.
pub type Scratch = f64;

/// What the lanes of a team load and compute.
pub trait TileFn<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>: Sync {
    /// What a lane keeps between phases.
    type Value: Item;
    /// Lanes of a team; a GPU takes 1 to 1024.
    const LANES: usize;
    /// Numbers of the scratch; a GPU takes 1 to 6144 (48 KiB).
    const SCRATCH: usize;

    /// Returns the value of a lane before the first phase.
    fn start(&self) -> Self::Value;

    /// Returns the number of phases of a team.
    fn phases(&self, team: usize, indices: [&[u32]; INDICES]) -> usize;

    /// Returns item `k` of the scratch in a phase.
    fn load(&self, team: usize, phase: usize, k: usize, numbers: [&[f64]; NUMBERS], indices: [&[u32]; INDICES]) -> f64;

    /// Returns the value of a lane behind a phase. Reads of a part, `&scratch[i..i + 32]`, are checked once where the length is constant.
    fn step(&self, lane: usize, value: Self::Value, scratch: &[Scratch]) -> Self::Value;

    /// Uses the value of a lane behind the last phase.
    fn at(&self, team: usize, lane: usize, value: Self::Value, cells: [&[AtomicF64]; CELLS]);
}
