//! Stands in for `space::atomic` of the library: the same names, with loom's types.

#[path = "../../../../src/space/atomic/add.rs"]
mod add;

pub use add::{add, add_unshared};
pub use loom::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::atomic::Ordering;

/// An f64 in the bits of a u64, as that of crate atomic_float: sums by load and compare-and-swap.
#[derive(Debug)]
pub struct AtomicF64(AtomicU64);

impl AtomicF64 {
    pub fn new(value: f64) -> Self {
        AtomicF64(AtomicU64::new(value.to_bits()))
    }

    pub fn load(&self, order: Ordering) -> f64 {
        f64::from_bits(self.0.load(order))
    }

    pub fn store(&self, value: f64, order: Ordering) {
        self.0.store(value.to_bits(), order);
    }

    pub fn fetch_add(&self, value: f64, order: Ordering) -> f64 {
        let sum = |old| Some((f64::from_bits(old) + value).to_bits());
        f64::from_bits(self.0.fetch_update(order, order, sum).unwrap())
    }
}
