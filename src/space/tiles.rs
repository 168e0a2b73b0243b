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

use super::atomic::{AtomicF64, atomic_view};
use super::{ExecutionSpace, Item, Slice, Threads, memory::try_zeroed};
use crate::Result;
use rayon::prelude::*;

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

    /// Returns the value of a lane behind a phase. `scratch` is read by [`atomic::get`](super::atomic::get) and must not be written: other lanes
    /// read it at the same time.
    fn step(&self, lane: usize, value: Self::Value, scratch: &[AtomicF64]) -> Self::Value;

    /// Uses the value of a lane behind the last phase.
    fn at(&self, team: usize, lane: usize, value: Self::Value, cells: [&[AtomicF64]; CELLS]);
}

/// A space that runs teams with scratch for functions of type `F`.
pub trait Tiles<F>: ExecutionSpace {
    /// Runs `n` teams, in any order.
    ///
    /// # Errors
    /// Those of [`for_indices`](super::Loops::for_indices), and [`Error::OutOfMemory`](crate::Error::OutOfMemory); a GPU refuses more
    /// lanes or scratch than a block has, and values of more than 64 bytes, by [`Error::Invalid`](crate::Error::Invalid).
    fn for_tiles<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>(
        &self,
        n: usize,
        f: &F,
        numbers: [&Slice<Self, f64>; NUMBERS],
        indices: [&Slice<Self, u32>; INDICES],
        cells: [&mut Slice<Self, f64>; CELLS],
    ) -> Result<()>
    where
        F: TileFn<NUMBERS, INDICES, CELLS>;
}

impl<F> Tiles<F> for Threads {
    fn for_tiles<const NUMBERS: usize, const INDICES: usize, const CELLS: usize>(
        &self,
        n: usize,
        f: &F,
        numbers: [&[f64]; NUMBERS],
        indices: [&[u32]; INDICES],
        cells: [&mut [f64]; CELLS],
    ) -> Result<()>
    where
        F: TileFn<NUMBERS, INDICES, CELLS>,
    {
        let cells: [&[AtomicF64]; CELLS] = cells.map(atomic_view);
        // Some chunks per thread.
        let chunk = (n / (8 * self.concurrency())).clamp(1, Threads::CHUNK);
        self.try_for_each((0..n.div_ceil(chunk)).into_par_iter(), |piece| {
            let mut scratch = try_zeroed("scratch of a team", F::SCRATCH)?;
            let mut values = try_zeroed("values of a team's lanes", F::LANES)?;
            for team in piece * chunk..n.min((piece + 1) * chunk) {
                values.fill(f.start());
                for phase in 0..f.phases(team, indices) {
                    for (k, item) in scratch.iter_mut().enumerate() {
                        *item = f.load(team, phase, k, numbers, indices);
                    }
                    let scratch = atomic_view(&mut scratch);
                    for (lane, value) in values.iter_mut().enumerate() {
                        *value = f.step(lane, *value, scratch);
                    }
                }
                for (lane, &value) in values.iter().enumerate() {
                    f.at(team, lane, value, cells);
                }
            }
            Ok(())
        })
    }
}
