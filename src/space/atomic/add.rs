//! Sums in shared cells.
//!
//! `tests/models` compiles this file with the atomics of a model checker, so it uses no others than those of its parent.

use super::AtomicF64;
use std::sync::atomic::Ordering::Relaxed;

/// Adds `value` to `*cell` atomically.
#[inline(always)]
pub fn add(cell: &AtomicF64, value: f64) {
    cell.fetch_add(value, Relaxed);
}

/// Adds `value` to `*cell` without atomicity: what other threads add meanwhile may be lost. Avoids the cost of a locked
/// instruction.
#[inline(always)]
pub fn add_unshared(cell: &AtomicF64, value: f64) {
    cell.store(cell.load(Relaxed) + value, Relaxed);
}
