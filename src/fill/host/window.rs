//! A window of element matrices that moves along with the rows that read them.
//!
//! Batches of [`LANES`] elements are computed in element order, when the first row needs them, and overwritten when no
//! later row of the piece can need them. The place of a batch is its number modulo the window's capacity. The capacity
//! is the largest distance between the first batch that a row reads and the last batch that this or an earlier row
//! needed, so a batch is never overwritten too early.

use super::batches::Batches;
use crate::graph::NodeElem;
use crate::space::lanes::LANES;
use crate::space::{Threads, try_push, try_zeroed};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Window of one piece of rows.
#[derive(Debug)]
pub(super) struct Window {
    /// Dofs of an element.
    dofs: usize,
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
pub(super) fn windows(space: &Threads, lists: &NodeElem, bounds: &[usize], dofs: usize) -> Result<Vec<Window>> {
    let mut windows: Vec<Option<Window>> = bounds.iter().skip(1).map(|_| None).collect();
    space.try_for_each(windows.par_iter_mut().zip(bounds.par_windows(2)), |(window, rows)| {
        *window = Some(Window::new(lists, rows[0]..rows[1], dofs)?);
        Ok(())
    })?;
    Ok(windows.into_iter().flatten().collect())
}

impl Window {
    fn new(lists: &NodeElem, rows: Range<usize>, dofs: usize) -> Result<Self> {
        let batch = |slot: LocalOrdinal| slot / (LANES * dofs) as u32;
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
        Ok(Window { dofs, batches, computed: 0, capacity, turn: 0, matrices: vec![], residuals: vec![] })
    }

    /// Returns the dofs of an element, `DOFS` unless it is 0, and the slots of a batch, which are rows of its element matrices.
    #[inline(always)]
    fn sizes<const DOFS: usize>(&self) -> (usize, usize) {
        let dofs = if DOFS == 0 { self.dofs } else { DOFS };
        (dofs, LANES * dofs)
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
    pub(super) fn restart(&mut self) -> Result<()> {
        self.computed = 0;
        if self.matrices.is_empty() {
            let (dofs, slots) = self.sizes::<0>();
            self.matrices = try_zeroed("window of element matrices", self.capacity * slots * dofs)?;
            self.residuals = try_zeroed("window of residuals", self.capacity * slots)?;
        }
        Ok(())
    }

    /// Computes the missing batches up to the one with a row's last slot.
    #[inline(always)]
    pub(super) fn reach<const DOFS: usize>(
        &mut self,
        slots: &[LocalOrdinal],
        elem_count: usize,
        evaluate: &mut Batches<'_>,
    ) -> Result<()> {
        let Some(&last) = slots.last() else { return Ok(()) };
        let batch = last / self.sizes::<DOFS>().1 as LocalOrdinal;
        while self.batches.get(self.computed).is_some_and(|&next| next <= batch) {
            self.compute(elem_count, evaluate)?;
        }
        Ok(())
    }

    /// Computes the next batch.
    fn compute(&mut self, elem_count: usize, evaluate: &mut Batches<'_>) -> Result<()> {
        let (batch, (dofs, slots)) = (self.batches[self.computed] as usize, self.sizes::<0>());
        self.turn = batch / self.capacity * self.capacity;
        let (first, place) = (batch * LANES, batch - self.turn);
        let matrices = &mut self.matrices[place * slots * dofs..][..slots * dofs];
        let residuals = &mut self.residuals[place * slots..][..slots];
        self.computed += 1;
        evaluate(first..elem_count.min(first + LANES), &mut |batch| batch.store(matrices, residuals))
    }

    /// Returns the slot's row of its element matrix, and its residual.
    #[inline(always)]
    pub(super) fn terms<const DOFS: usize>(&self, slot: usize) -> (&[f64], f64) {
        let (dofs, slots) = self.sizes::<DOFS>();
        // Slots have 32 bits, and a division of 32 bits takes a third of the time of one of 64.
        let (batch, rest) =
            (slot as LocalOrdinal / slots as LocalOrdinal, slot as LocalOrdinal % slots as LocalOrdinal);
        let batch = batch as usize;
        // Remainder by the capacity without a division: the batch belongs to this turn or to the one before.
        let place = if batch >= self.turn { batch - self.turn } else { batch + self.capacity - self.turn };
        let at = place * slots + rest as usize;
        (&self.matrices[at * dofs..][..dofs], self.residuals[at])
    }
}
