//! A window of element matrices that moves along with the rows that read them.
//!
//! Batches of [`LANES`] elements are computed in element order, when the first row needs them, and overwritten when no
//! later row of the piece can need them. The place of a batch is its number modulo the window's capacity. The capacity
//! is the largest distance between the first batch that a row reads and the last batch that this or an earlier row
//! needed, so a batch is never overwritten too early.

use super::batches::Store;
use crate::graph::NodeElem;
use crate::space::lanes::LANES;
use crate::space::{Threads, try_push, try_zeroed};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Window of one piece of rows. Methods take `n`, the dofs per element, which is a constant of the compiled loop for hexahedra.
#[derive(Debug)]
pub(super) struct Window {
    /// Batches that the piece reads, in ascending order.
    batches: Vec<u32>,
    /// Number of batches computed since the last restart.
    computed: usize,
    /// Number of batches that the window holds.
    capacity: usize,
    /// First batch of the current turn: the largest multiple of the capacity up to the newest batch.
    turn: usize,
    /// Matrices `[batch % capacity, lane, i, j]`.
    matrices: Vec<f64>,
    /// Residuals `[batch % capacity, lane, i]`.
    residuals: Vec<f64>,
}

/// Makes a window for each piece of rows between `bounds`.
pub(super) fn windows(space: &Threads, lists: &NodeElem, n: usize, bounds: &[usize]) -> Result<Vec<Window>> {
    let mut windows: Vec<Option<Window>> = bounds.iter().skip(1).map(|_| None).collect();
    space.try_for_each(windows.par_iter_mut().zip(bounds.par_windows(2)), |(window, rows)| {
        *window = Some(Window::new(lists, n, rows[0]..rows[1])?);
        Ok(())
    })?;
    Ok(windows.into_iter().flatten().collect())
}

/// Slots of a batch, which are rows of its element matrices.
#[inline(always)]
fn slots_of_batch(n: usize) -> usize {
    LANES * n
}

impl Window {
    fn new(lists: &NodeElem, n: usize, rows: Range<usize>) -> Result<Self> {
        let batch = |slot: LocalOrdinal| slot / slots_of_batch(n) as u32;
        let mut batches: Vec<u32> = Vec::new();
        let (mut farthest, mut capacity) = (0, 1);
        for slots in rows.map(|row| lists.slots(row)) {
            if let (Some(&first), Some(&last)) = (slots.first(), slots.last()) {
                farthest = farthest.max(batch(last));
                capacity = capacity.max((farthest - batch(first)) as usize + 1);
            }
            // Neighbouring rows use the same batches: comparing with the last eight catches most duplicates before the
            // sort.
            for &slot in slots {
                if !batches[batches.len().saturating_sub(8)..].contains(&batch(slot)) {
                    try_push("batches of a window", &mut batches, batch(slot))?;
                }
            }
        }
        batches.sort_unstable();
        batches.dedup();
        Ok(Window { batches, computed: 0, capacity, turn: 0, matrices: vec![], residuals: vec![] })
    }

    /// Returns the number of elements that one pass over the piece computes.
    pub(super) fn elems(&self) -> usize {
        self.batches.len() * LANES
    }

    /// Returns the range of the elements that one pass over the piece computes.
    pub(super) fn range(&self, elem_count: usize) -> Range<usize> {
        let (Some(&first), Some(&last)) = (self.batches.first(), self.batches.last()) else { return 0..0 };
        first as usize * LANES..elem_count.min((last as usize + 1) * LANES)
    }

    /// Discards all matrices. The first call allocates, so that a thread touches its window's memory first.
    pub(super) fn restart(&mut self, n: usize) -> Result<()> {
        self.computed = 0;
        if self.matrices.is_empty() {
            self.matrices = try_zeroed("window of element matrices", self.capacity * slots_of_batch(n) * n)?;
            self.residuals = try_zeroed("window of residuals", self.capacity * slots_of_batch(n))?;
        }
        Ok(())
    }

    /// Computes the missing batches up to the one with a row's last slot.
    #[inline(always)]
    pub(super) fn reach(
        &mut self,
        slots: &[LocalOrdinal],
        n: usize,
        elem_count: usize,
        store: &mut Store<'_>,
    ) -> Result<()> {
        let Some(&last) = slots.last() else { return Ok(()) };
        let of_batch = slots_of_batch(n);
        while self.computed < self.batches.len() && self.batches[self.computed] <= last / of_batch as u32 {
            let batch = self.batches[self.computed] as usize;
            self.turn = batch / self.capacity * self.capacity;
            let (first, place) = (batch * LANES, batch - self.turn);
            let matrices = &mut self.matrices[place * of_batch * n..][..of_batch * n];
            let residuals = &mut self.residuals[place * of_batch..][..of_batch];
            store(first..elem_count.min(first + LANES), (matrices, residuals))?;
            self.computed += 1;
        }
        Ok(())
    }

    /// Returns the slot's row of its element matrix, and its residual.
    #[inline(always)]
    pub(super) fn terms(&self, slot: usize, n: usize) -> (&[f64], f64) {
        // In 32 bits, which divide faster.
        let (of_batch, slot) = (slots_of_batch(n), slot as u32);
        let (batch, of_slot) = ((slot / of_batch as u32) as usize, (slot % of_batch as u32) as usize);
        // Remainder by the capacity without a division: the batch belongs to this turn or to the one before.
        let place = if batch >= self.turn { batch - self.turn } else { batch + self.capacity - self.turn };
        let at = place * of_batch + of_slot;
        (&self.matrices[at * n..][..n], self.residuals[at])
    }
}
