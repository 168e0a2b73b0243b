//! Sums of values into the entries of the graph: each row adds its values in the order of the input.
//!
//! ```text
//! out[row_map[row] + position[t, b]] += values[slot[t], b]      t over the list of the row, b over 0..width
//! ```
//! A row belongs to one thread, so there are no atomics and the order of a sum is that of the input. Bytes moved per value of 8
//! bytes: 8 + 1 for value and position, 4 / width for the slot; 8 per entry written.

use super::plan::Coo;
use crate::contraction::Sum;
use crate::error::check_length;
use crate::graph::{Position, with_positions};
use crate::space::{Item, PREFETCH_DISTANCE, Threads, prefetch};
use crate::sparse::CrsMatrix;
use crate::{LocalOrdinal, Result, RowOffset};
use num_traits::Zero;
use rayon::prelude::*;
use std::ops::Range;

/// Values of slots, `[slot, b]`: the caller's for slots `first..first + own.len() / width`, and others before and behind them.
#[derive(Clone, Copy)]
pub(super) struct Values<'a, V> {
    pub own: &'a [V],
    /// First slot of the caller.
    pub first: usize,
    /// Values of all other slots.
    pub others: &'a [V],
}

impl<'a, V> Values<'a, V> {
    /// Values of the caller only.
    pub(super) fn all(own: &'a [V]) -> Self {
        Values { own, first: 0, others: &[] }
    }

    /// Prefetches the values of a slot of the caller; harmless for others.
    #[inline(always)]
    fn prefetch(&self, slot: usize, width: usize) {
        prefetch(self.own, slot.wrapping_sub(self.first).wrapping_mul(width));
    }

    /// The values of a slot.
    #[inline(always)]
    fn slot<const PLAIN: bool>(&self, slot: usize, width: usize) -> &'a [V] {
        if PLAIN {
            return &self.own[slot * width..][..width];
        }
        let (first, at) = (self.first * width, slot * width);
        // One unsigned comparison tests both ends of the caller's range.
        let (values, at) = if at.wrapping_sub(first) < self.own.len() {
            (self.own, at - first)
        } else {
            (self.others, if at < first { at } else { at - self.own.len() })
        };
        &values[at..][..width]
    }
}

impl Coo {
    /// Sums `values`, one per pair of the plan, into a matrix on the plan's graph. Allocates nothing. Each entry adds its values in the
    /// order of the input, so the result has the same bits on any number of threads.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there are [`value_count`](Self::value_count) values,
    /// [`Error::Invalid`](crate::Error::Invalid) for a matrix on another graph.
    pub fn set_values<V: Item + Zero>(
        &self,
        space: &Threads,
        values: &[V],
        sum: Sum,
        matrix: &mut CrsMatrix<V>,
    ) -> Result<()> {
        check_length("Coo::set_values", "values", values.len(), self.value_count())?;
        self.check_matrix("Coo::set_values", matrix)?;
        self.sum_entries(space, values, sum, matrix.parts_mut().1)
    }

    /// Sums `values` as [`set_values`](Self::set_values), into memory of the caller: one item per entry of the plan's graph.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for arrays of other lengths.
    pub fn sum_entries<V: Item + Zero>(
        &self,
        space: &Threads,
        values: &[V],
        sum: Sum,
        entries: &mut [V],
    ) -> Result<()> {
        check_length("Coo::sum_entries", "values", values.len(), self.value_count())?;
        check_length("Coo::sum_entries", "entries", entries.len(), self.graph().nnz())?;
        self.add_values(space, Values::all(values), sum, entries);
        Ok(())
    }

    /// Sums element vectors `[elem, a]` into `rows`, which has one item per row: the right-hand side that belongs to
    /// [`from_elements`](Self::from_elements). With pairs it sums one value per pair into the row of the pair; a pair that is
    /// ignored for its row or its column adds nothing.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for arrays of other lengths.
    pub fn sum_rows<V: Item + Zero>(&self, space: &Threads, values: &[V], sum: Sum, rows: &mut [V]) -> Result<()> {
        check_length("Coo::sum_rows", "values", values.len(), self.slots * self.per_slot)?;
        check_length("Coo::sum_rows", "rows", rows.len(), self.graph().rows())?;
        self.add_rows(space, Values::all(values), self.per_slot, sum, rows);
        Ok(())
    }

    /// Adds `values` to `out`, one item per entry, or replaces it.
    pub(super) fn add_values<V: Item + Zero>(&self, space: &Threads, values: Values<'_, V>, sum: Sum, out: &mut [V]) {
        with_positions!(&self.positions, positions => self.add_by(space, positions, values, sum, out));
    }

    fn add_by<V: Item + Zero, P: Position>(
        &self,
        space: &Threads,
        positions: &[P],
        values: Values<'_, V>,
        sum: Sum,
        out: &mut [V],
    ) {
        let row_map = self.graph().row_map();
        for_each_piece(space, &self.bounds, row_map, out, &|rows, out: &mut [V]| {
            if sum == Sum::Overwrite {
                out.fill(V::zero());
            }
            let is_plain = values.others.is_empty();
            // The same code for common widths, with the width a constant.
            match (self.ignores, is_plain, self.width) {
                (false, true, 1) => self.add_to_rows::<V, P, 1, true, false>(rows, positions, values, out),
                (false, true, 3) => self.add_to_rows::<V, P, 3, true, false>(rows, positions, values, out),
                (false, true, 4) => self.add_to_rows::<V, P, 4, true, false>(rows, positions, values, out),
                (false, true, 8) => self.add_to_rows::<V, P, 8, true, false>(rows, positions, values, out),
                (false, true, _) => self.add_to_rows::<V, P, ANY, true, false>(rows, positions, values, out),
                (false, false, _) => self.add_to_rows::<V, P, ANY, false, false>(rows, positions, values, out),
                (true, ..) => self.add_to_rows::<V, P, ANY, false, true>(rows, positions, values, out),
            }
        });
    }

    #[inline(always)]
    fn add_to_rows<V: Item + Zero, P: Position, const WIDTH: usize, const PLAIN: bool, const IGNORES: bool>(
        &self,
        rows: Range<usize>,
        positions: &[P],
        values: Values<'_, V>,
        mut out: &mut [V],
    ) {
        let (width, row_map) = (if WIDTH == ANY { self.width } else { WIDTH }, self.graph().row_map());
        for row in rows {
            let entries = (row_map[row + 1] - row_map[row]) as usize;
            let entries = out.split_off_mut(..entries).expect("the entries of a row");
            let (list, slots) = (self.lists.row_map()[row] as usize, self.lists.slots_from(row));
            let positions = positions[list * width..][..self.lists.slots(row).len() * width].chunks_exact(width);
            for (at, positions) in positions.enumerate() {
                // Neighbours in a list are often neighbours in the input: one line holds the values of several.
                if (WIDTH != 1 || at % 4 == 0)
                    && let Some(&slot) = slots.get(at + PREFETCH_DISTANCE.div_ceil(width))
                {
                    values.prefetch(slot as usize, width);
                }
                let values = values.slot::<PLAIN>(slots[at] as usize, width);
                for (position, &value) in positions.iter().zip(values) {
                    if IGNORES && *position == P::NONE {
                        continue;
                    }
                    let entry = &mut entries[position.get()];
                    *entry = *entry + value;
                }
            }
        }
    }

    /// Adds `width` values per slot to `out`, one item per row, or replaces it.
    pub(super) fn add_rows<V: Item + Zero>(
        &self,
        space: &Threads,
        values: Values<'_, V>,
        width: usize,
        sum: Sum,
        out: &mut [V],
    ) {
        space.for_each(out.par_chunks_mut(Threads::CHUNK).enumerate(), |(chunk, out)| {
            for (row, out) in (chunk * Threads::CHUNK..).zip(out) {
                let start = if sum == Sum::Overwrite { V::zero() } else { *out };
                let values = self.lists.slots(row).iter().flat_map(|&slot| values.slot::<false>(slot as usize, width));
                *out = values.fold(start, |sum, &value| sum + value);
            }
        });
    }
}

/// Calls `work` with the rows of each piece and their items, halves of the pieces in parallel. Allocates nothing.
fn for_each_piece<T: Send>(
    space: &Threads,
    bounds: &[LocalOrdinal],
    offsets: &[RowOffset],
    items: &mut [T],
    work: &(dyn Fn(Range<usize>, &mut [T]) + Sync),
) {
    let row = |piece: usize| bounds[piece] as usize;
    let half = match bounds.len() {
        0 | 1 => return,
        2 => return work(row(0)..row(1), items),
        count => count / 2,
    };
    let (left, right) = items.split_at_mut((offsets[row(half)] - offsets[row(0)]) as usize);
    let left = || for_each_piece(space, &bounds[..=half], offsets, left, work);
    let right = || for_each_piece(space, &bounds[half..], offsets, right, work);
    space.join(left, right);
}

/// Stands for a width that is known at run time only.
const ANY: usize = 0;
