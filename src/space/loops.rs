//! Loops over arrays of any space with functions of a user.
//!
//! ```text
//! for_items      out_k[i] = f(i, in_0[i], in_1[i], ..., out_0[i], ...)_k
//! for_indices    f(i, arrays to read at any index, cells to add to at any index)
//! reduce_items   v_0 o v_1 o ... o v_(n-1),   v_i = f(i, in_0[i], in_1[i], ...)
//! reduce_into    out[0] = the same
//! scan_items     out[i] = v_0 o ... o v_i
//! for_teams      loops in loops, see teams.rs
//! for_tiles      teams with scratch, see tiles.rs
//! ```
//! The functions are methods of a struct. With the attribute [`device`](crate::device) a GPU runs them, too (example: docs/own_equation.md).
//! Results of `for_items`, `reduce_items` and `scan_items` do not depend on the number of threads; a GPU groups items differently.
//! An index out of range panics on a host, as it does for a slice, and is a failure of the device on a GPU.

use super::atomic::{Atomic, Shared};
use super::{ExecutionSpace, Item, Slice, Team, TeamFn, TileFn};
use crate::Result;

/// A function of an index and of one item of each of `IN` + `OUT` arrays.
pub trait ItemFn<const IN: usize, const OUT: usize>: Sync {
    /// The items of the arrays.
    type Item: Item;

    /// Returns the new items of the outputs from those of the inputs, `x`, and of the outputs, `y`.
    fn item(&self, i: usize, x: [Self::Item; IN], y: [Self::Item; OUT]) -> [Self::Item; OUT];
}

/// A function of an index that reads arrays anywhere and changes shared cells of `T` by [`atomic`](super::atomic).
pub trait IndexFn<const NUMBERS: usize, const INDICES: usize, const CELLS: usize, T: Atomic<Cell: Shared> = f64>:
    Sync
{
    /// Does the work of index `i`.
    fn at(&self, i: usize, numbers: [&[f64]; NUMBERS], indices: [&[u32]; INDICES], cells: [&[T::Cell]; CELLS]);
}

/// Values of items, and an associative operation that joins them.
pub trait Reduction<const IN: usize>: Sync {
    /// The items of the arrays.
    type Item: Item;
    /// What is joined: a number, an array, or a struct of the module.
    type Value: Item;
    /// Whether values may be joined in any order, which is faster; otherwise they keep the order of their items.
    const COMMUTES: bool = false;

    /// Returns the value that changes no other.
    fn identity(&self) -> Self::Value;

    /// Returns the value of index `i`, with an item of each array.
    fn value(&self, i: usize, x: [Self::Item; IN]) -> Self::Value;

    /// Returns `a` joined with `b`.
    fn join(&self, a: Self::Value, b: Self::Value) -> Self::Value;
}

/// A space that runs loops with functions of type `F`.
pub trait Loops<F>: ExecutionSpace {
    /// Calls a function for the first `n` items.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short arrays, here and below; [`Error::Device`](crate::Error::Device) when a device
    /// fails, [`Error::TooLarge`](crate::Error::TooLarge) for more items than it can index, [`Error::Invalid`](crate::Error::Invalid)
    /// for more arrays, or numbers of a struct, than it takes.
    fn for_items<const IN: usize, const OUT: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&Slice<Self, F::Item>; IN],
        outputs: [&mut Slice<Self, F::Item>; OUT],
    ) -> Result<()>
    where
        F: ItemFn<IN, OUT>;

    /// Calls a function for each index below `n`, in any order.
    ///
    /// # Errors
    /// As [`for_items`](Self::for_items).
    fn for_indices<const NUMBERS: usize, const INDICES: usize, const CELLS: usize, T: Atomic<Cell: Shared>>(
        &self,
        n: usize,
        f: &F,
        numbers: [&Slice<Self, f64>; NUMBERS],
        indices: [&Slice<Self, u32>; INDICES],
        cells: [&mut Slice<Self, T>; CELLS],
    ) -> Result<()>
    where
        F: IndexFn<NUMBERS, INDICES, CELLS, T>;

    /// Returns the values of the first `n` items joined, the identity for none.
    ///
    /// # Errors
    /// As [`for_items`](Self::for_items), and [`Error::OutOfMemory`](crate::Error::OutOfMemory). A GPU refuses values of more than 64 bytes, those of a
    /// scan of more than 32, by [`Error::Invalid`](crate::Error::Invalid).
    fn reduce_items<const IN: usize>(&self, n: usize, f: &F, inputs: [&Slice<Self, F::Item>; IN]) -> Result<F::Value>
    where
        F: Reduction<IN>;

    /// As [`reduce_items`](Self::reduce_items), written to the first item of `out`. A GPU's host does not wait. If the values commute,
    /// the work is one kernel and may be part of [`repeat`](ExecutionSpace::repeat).
    ///
    /// # Errors
    /// As [`reduce_items`](Self::reduce_items).
    fn reduce_into<const IN: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&Slice<Self, F::Item>; IN],
        out: &mut Slice<Self, F::Value>,
    ) -> Result<()>
    where
        F: Reduction<IN>;

    /// Writes the value of each of the first `n` items joined with those before it.
    ///
    /// # Errors
    /// As [`reduce_items`](Self::reduce_items).
    fn scan_items<const IN: usize>(
        &self,
        n: usize,
        f: &F,
        inputs: [&Slice<Self, F::Item>; IN],
        out: &mut Slice<Self, F::Value>,
    ) -> Result<()>
    where
        F: Reduction<IN>;

    /// Joins the values of the inner range of each index below `n`.
    ///
    /// # Errors
    /// Those of [`for_indices`](Self::for_indices); a GPU also refuses values of more than 64 bytes.
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

    /// Runs `n` teams, in any order.
    ///
    /// # Errors
    /// Those of [`for_indices`](Self::for_indices), and [`Error::OutOfMemory`](crate::Error::OutOfMemory); a GPU refuses more
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
