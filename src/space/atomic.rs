//! The atomic view: shared arrays to which many threads add, or which they fill, without locks.
//!
//! All operations use relaxed ordering: no operation orders another, and the join at the end of a parallel loop
//! publishes the results. On x86-64 and AArch64 a relaxed load or store is an ordinary move. Only read-modify-write
//! operations cost more: about 5 ns for an uncontended locked instruction.

#![allow(unsafe_code)]

mod add;

use super::Item;
pub use add::{add, add_unshared};
pub use atomic_float::{AtomicF32, AtomicF64};
use std::sync::atomic::Ordering::Relaxed;
pub use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Adds `value` to `*cell` by a compare-and-swap loop, as GPUs without an atomic addition of `f64` had to.
#[inline(always)]
pub fn add_by_exchange(cell: &AtomicF64, value: f64) {
    let mut before = cell.load(Relaxed);
    while let Err(found) = cell.compare_exchange_weak(before, before + value, Relaxed, Relaxed) {
        before = found;
    }
}

/// Writes `value` to `*cell`.
#[inline(always)]
pub fn set<T: Atomic>(cell: &T::Cell, value: T) {
    value.store_in(cell);
}

/// Adds `value` to `*cell` atomically and returns what the cell held before.
#[inline(always)]
pub fn fetch_add(cell: &AtomicU32, value: u32) -> u32 {
    cell.fetch_add(value, Relaxed)
}

/// Reads `*cell`.
#[inline(always)]
pub fn get<C: Shared>(cell: &C) -> C::Number {
    cell.load_number()
}

/// A cell that the indices of a loop share: of f64 or u32.
pub trait Shared {
    /// The number that it holds.
    type Number;
    /// The number's name in CUDA C++.
    const CUDA: &'static str;
    /// The name of a loop over such cells.
    const LOOP: &'static str;

    /// Returns the number.
    fn load_number(&self) -> Self::Number;
}

macro_rules! shared {
    ($($cell:ty: $number:ty, $cuda:literal, $name:literal;)*) => {$(
        impl Shared for $cell {
            type Number = $number;
            const CUDA: &'static str = $cuda;
            const LOOP: &'static str = $name;

            #[inline(always)]
            fn load_number(&self) -> $number {
                self.load(Relaxed)
            }
        }
    )*};
}
shared! {
    AtomicF64: f64, "double", "for_indices";
    AtomicU32: u32, "unsigned", "for_indices of u32";
}

/// A number type with an atomic type of the same size and alignment.
///
/// # Safety
/// `Cell` must have the size, alignment and bit validity of `Self`.
pub unsafe trait Atomic: Item {
    /// The atomic type.
    type Cell: Sync + 'static;

    /// Stores the number in a cell.
    fn store_in(self, cell: &Self::Cell);

    /// Adds the number to a cell, atomically.
    fn add_to(self, cell: &Self::Cell);

    /// Adds the number to a cell that no other thread changes meanwhile.
    fn add_to_unshared(self, cell: &Self::Cell);
}

macro_rules! atomic {
    ($($number:ty: $cell:ty),*) => {$(
        // SAFETY: the standard library and atomic_float document the same in-memory representation for each pair.
        unsafe impl Atomic for $number {
            type Cell = $cell;

            #[inline(always)]
            fn store_in(self, cell: &$cell) {
                cell.store(self, Relaxed);
            }

            #[inline(always)]
            fn add_to(self, cell: &$cell) {
                cell.fetch_add(self, Relaxed);
            }

            #[inline(always)]
            fn add_to_unshared(self, cell: &$cell) {
                cell.store(cell.load(Relaxed) + self, Relaxed);
            }
        }
    )*};
}
atomic!(u8: AtomicU8, u16: AtomicU16, u32: AtomicU32, u64: AtomicU64, f32: AtomicF32, f64: AtomicF64);

/// Lends an exclusive slice as a shared slice of atomics, at no cost.
pub fn atomic_view<T: Atomic>(slice: &mut [T]) -> &[T::Cell] {
    const {
        assert!(size_of::<T>() == size_of::<T::Cell>() && align_of::<T>() == align_of::<T::Cell>());
    }
    // SAFETY: size, alignment and validity agree (trait contract, and the assertion above). The exclusive borrow lasts
    // as long as the shared view, so no other code reads or writes the slice non-atomically in the meantime.
    unsafe { std::slice::from_raw_parts(slice.as_mut_ptr().cast(), slice.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Threads;
    use rayon::prelude::*;

    #[test]
    fn concurrent_adds_lose_nothing() {
        let mut sums = vec![0.0f64; 7];
        let view = atomic_view(&mut sums);
        Threads::new(4).unwrap().for_each((0..70_000usize).into_par_iter(), |i| add(&view[i % 7], 1.0));
        assert_eq!(sums, [10_000.0; 7]);
    }

    #[test]
    fn each_slot_of_a_counter_is_given_once() {
        let (mut count, mut taken) = ([0u32], vec![0u32; 5000]);
        let (count, slots) = (&atomic_view(&mut count)[0], atomic_view(&mut taken));
        Threads::new(4).unwrap().for_each((0..5000u32).into_par_iter(), |i| {
            set(&slots[fetch_add(count, 1) as usize], i + 1);
        });
        assert_eq!(get(count), 5000);
        taken.sort_unstable();
        assert!(taken.into_iter().eq(1..=5000));
    }

    #[test]
    fn a_view_writes_through() {
        let mut bytes = [0u8; 3];
        atomic_view(&mut bytes)[1].store(9, Relaxed);
        assert_eq!(bytes, [0, 9, 0]);
        let mut one = [1.5f64];
        add_unshared(&atomic_view(&mut one)[0], 2.0);
        assert_eq!((one, get(&atomic_view(&mut one)[0])), ([3.5], 3.5));
    }
}
