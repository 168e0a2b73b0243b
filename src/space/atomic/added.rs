//! Types of numbers that threads add to shared cells.

use super::add::{add, add_unshared};
use super::{Atomic, AtomicF32, AtomicF64};
use std::sync::atomic::Ordering::Relaxed;

/// A number that threads add to cells.
pub trait Added: Atomic {
    /// Adds the number to a cell, atomically.
    fn add_to(self, cell: &Self::Cell);

    /// Adds the number to a cell that no other thread changes meanwhile.
    fn add_to_unshared(self, cell: &Self::Cell);
}

impl Added for f64 {
    #[inline(always)]
    fn add_to(self, cell: &AtomicF64) {
        add(cell, self);
    }

    #[inline(always)]
    fn add_to_unshared(self, cell: &AtomicF64) {
        add_unshared(cell, self);
    }
}

impl Added for f32 {
    #[inline(always)]
    fn add_to(self, cell: &AtomicF32) {
        cell.fetch_add(self, Relaxed);
    }

    #[inline(always)]
    fn add_to_unshared(self, cell: &AtomicF32) {
        cell.store(cell.load(Relaxed) + self, Relaxed);
    }
}
