//! A window of element matrices that moves along with the rows that read them.
//!
//! Batches of [`LANES`] elements are computed when the first row asks for them, in the order of elements, and overwritten
//! when no later row of the piece can. A batch's place is its number modulo the window's capacity; the capacity is the
//! largest distance between the batches that one row still reads and those that rows before it have asked for.

use super::ElementBatch;
use super::kernel::ElementKernel;
use crate::LocalOrdinal;
use crate::graph::NodeElem;
use crate::space::lanes::LANES;
use crate::space::{HostSpace, zeroed};
use rayon::prelude::*;

/// The window of one piece of rows.
#[derive(Debug)]
pub(super) struct Window<const NN: usize> {
    /// Batches that the piece reads, ascending.
    batches: Vec<u32>,
    /// How many of them have been computed since the last restart.
    computed: usize,
    /// Batches that fit.
    capacity: usize,
    /// The first batch of the newest turn: the largest multiple of the capacity up to the newest batch.
    turn: usize,
    /// `[batch % capacity, lane, i, j]`
    matrices: Vec<f64>,
    /// `[batch % capacity, lane, i]`
    residuals: Vec<f64>,
    batch: Box<ElementBatch<NN>>,
}

/// Windows for the pieces of rows between `bounds`.
pub(super) fn windows<S: HostSpace, const NN: usize>(space: &S, lists: &NodeElem, bounds: &[usize]) -> Vec<Window<NN>> {
    let mut windows: Vec<Option<Window<NN>>> = bounds.iter().skip(1).map(|_| None).collect();
    space.for_each(windows.par_iter_mut().zip(bounds.par_windows(2)), |(window, rows)| {
        *window = Some(Window::new(lists, rows[0]..rows[1]));
    });
    windows.into_iter().flatten().collect()
}

impl<const NN: usize> Window<NN> {
    const BATCH: usize = LANES * NN;

    fn new(lists: &NodeElem, rows: std::ops::Range<usize>) -> Self {
        let batch = |slot: LocalOrdinal| slot / Self::BATCH as u32;
        let mut batches: Vec<u32> = Vec::new();
        let (mut farthest, mut capacity) = (0, 1);
        for slots in rows.map(|row| lists.slots(row)) {
            if let (Some(&first), Some(&last)) = (slots.first(), slots.last()) {
                farthest = farthest.max(batch(last));
                capacity = capacity.max((farthest - batch(first)) as usize + 1);
            }
            // Neighbouring rows name the same batches: the last few names catch most of the repetition.
            for &slot in slots {
                if !batches[batches.len().saturating_sub(8)..].contains(&batch(slot)) {
                    batches.push(batch(slot));
                }
            }
        }
        batches.sort_unstable();
        batches.dedup();
        Window {
            batches,
            computed: 0,
            capacity,
            turn: 0,
            matrices: vec![],
            residuals: vec![],
            batch: Box::new(ElementBatch::ZERO),
        }
    }

    /// Elements that a pass over the piece computes.
    pub(super) fn elems(&self) -> usize {
        self.batches.len() * LANES
    }

    /// Forgets all matrices; allocates at the first call.
    pub(super) fn restart(&mut self) {
        self.computed = 0;
        if self.matrices.is_empty() {
            self.matrices = zeroed(self.capacity * Self::BATCH * NN);
            self.residuals = zeroed(self.capacity * Self::BATCH);
        }
    }

    /// Computes what is missing up to the last of a row's slots.
    #[inline(always)]
    pub(super) fn reach<K: ElementKernel<NN>>(
        &mut self,
        slots: &[LocalOrdinal],
        kernel: &K,
        elem_count: usize,
        scratch: &mut K::Scratch,
    ) {
        let Some(&last) = slots.last() else { return };
        while self.computed < self.batches.len() && self.batches[self.computed] as usize <= last as usize / Self::BATCH
        {
            let batch = self.batches[self.computed] as usize;
            self.turn = batch / self.capacity * self.capacity;
            let (first, place) = (batch * LANES, batch - self.turn);
            kernel.evaluate(first..elem_count.min(first + LANES), scratch, &mut self.batch);
            let matrices = &mut self.matrices[place * Self::BATCH * NN..][..Self::BATCH * NN];
            self.batch.store(matrices, &mut self.residuals[place * Self::BATCH..][..Self::BATCH]);
            self.computed += 1;
        }
    }

    /// The slot's row of its element matrix, and its residual.
    #[inline(always)]
    pub(super) fn terms(&self, slot: usize) -> (&[f64], f64) {
        let batch = slot / Self::BATCH;
        // The remainder by the capacity, without a division: the batch is of this turn or the one before.
        let place = if batch >= self.turn { batch - self.turn } else { batch + self.capacity - self.turn };
        let at = place * Self::BATCH + slot % Self::BATCH;
        (&self.matrices[at * NN..][..NN], self.residuals[at])
    }
}
