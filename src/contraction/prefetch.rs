//! Software prefetch of later cells' operands, for data larger than the nearer caches.

use super::operands::{Operand, Operands};
use crate::space::prefetch;

/// Least distance in bytes between computed and prefetched data.
pub const DISTANCE: usize = 4096;
/// Terms between two calls of [`Prefetcher::next_part`]: one cache line in f64.
pub const STEP: usize = 8;

/// Prefetches the operands of later cells part by part.
#[derive(Debug)]
pub struct Prefetcher<'a, T> {
    operands: [&'a [T]; 2],
    at: usize,
    part: usize,
}

impl<'a, T> Prefetcher<'a, T> {
    /// Returns the items per part when operands are prefetched in `parts` parts; 0 if the operands fit into the
    /// caches and nothing is to be prefetched.
    pub fn part(operands: &Operands<'a, T>, cells: usize, parts: usize) -> usize {
        let longest = operands.pair.iter().map(|x| cells * x.fields() * x.count).max().unwrap_or(0);
        if operands.exceeds_cache { longest.div_ceil(parts).next_multiple_of(64 / size_of::<T>()) } else { 0 }
    }

    /// Begins at cell `first` of `cells` cells, with `part` items at a time.
    #[inline(always)]
    pub fn new(operands: &Operands<'a, T>, first: usize, cells: usize, part: usize) -> Self {
        if part == 0 {
            return Prefetcher { operands: [&[], &[]], at: 0, part };
        }
        let [left, right] = &operands.pair;
        let of = |x: &Operand<'a, T>| {
            let start = (first * x.cell_stride()).min(x.data.len());
            &x.data[start..(start + cells * x.fields() * x.count).min(x.data.len())]
        };
        Prefetcher { operands: [of(left), of(right)], at: 0, part }
    }

    /// Prefetches the next part.
    #[inline(always)]
    pub fn next_part(&mut self) {
        if self.part == 0 {
            return;
        }
        for data in self.operands {
            for at in (self.at..(self.at + self.part).min(data.len())).step_by(64 / size_of::<T>()) {
                prefetch(data, at);
            }
        }
        self.at += self.part;
    }
}
