//! Numbers asked of memory while others are computed, where arrays are larger than the caches near a core.

use super::job::{Job, Operand};
use crate::space::prefetch;

/// Bytes between what is computed and what is asked for, at least.
pub const AHEAD: usize = 4096;

/// What is asked for while a cell is computed: the numbers of one that follows, some lines at every [`STEP`] of k.
#[derive(Debug)]
pub struct Ahead<'a, T> {
    operands: [&'a [T]; 2],
    at: usize,
    step: usize,
}

/// Terms of a tile's sums between two calls of [`Ahead::ask`]: a line in `f64`.
pub const STEP: usize = 8;

impl<'a, T> Ahead<'a, T> {
    /// Items at a time of what `cells` cells have, asked for in `asks` parts; 0 where nothing is to be asked for.
    pub fn step(job: &Job<'a, T>, cells: usize, asks: usize) -> usize {
        let longest = job.operands.iter().map(|x| cells * x.fields() * x.count).max().unwrap_or(0);
        if job.streams { longest.div_ceil(asks).next_multiple_of(64 / size_of::<T>()) } else { 0 }
    }

    /// The numbers of some cells from `first` on, `step` items at a time.
    #[inline(always)]
    pub fn new(job: &Job<'a, T>, first: usize, cells: usize, step: usize) -> Self {
        if step == 0 {
            return Ahead { operands: [&[], &[]], at: 0, step };
        }
        let [left, right] = &job.operands;
        let of = |x: &Operand<'a, T>| {
            let start = (first * x.cell_stride()).min(x.data.len());
            &x.data[start..(start + cells * x.fields() * x.count).min(x.data.len())]
        };
        Ahead { operands: [of(left), of(right)], at: 0, step }
    }

    /// Asks for the next part.
    #[inline(always)]
    pub fn ask(&mut self) {
        if self.step == 0 {
            return;
        }
        for data in self.operands {
            for at in (self.at..(self.at + self.step).min(data.len())).step_by(64 / size_of::<T>()) {
                prefetch(data, at);
            }
        }
        self.at += self.step;
    }
}
