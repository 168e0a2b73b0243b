//! Batches of element matrices for the threads of an assembly: on the stack while they are small, otherwise on the heap.
//!
//! A batch has 64 NN (NN + 1) bytes: 4.5 KiB for hexahedra, 2.3 MiB for elements of 192 nodes, more than a thread's stack.
//! Those on the heap are allocated once, one per thread, and lent from call to call.

use super::kernel::ElementBatch;
use crate::Result;
use crate::space::{try_collect, try_reserve};
use std::sync::{Mutex, PoisonError};

/// Largest batch on the stack, in bytes: elements of 31 nodes.
const ON_STACK: usize = 64 << 10;

/// The batches of an assembly.
#[derive(Debug)]
pub(super) struct Batches<const NN: usize> {
    /// Large batches that no thread uses at the moment.
    large: Mutex<Vec<HeapBatch<NN>>>,
}

/// A batch on the heap, in a list of one: a box would be filled on the stack.
#[derive(Debug)]
pub(super) struct HeapBatch<const NN: usize>(Vec<ElementBatch<NN>>);

impl<const NN: usize> HeapBatch<NN> {
    const ZERO: &'static [ElementBatch<NN>] = &[ElementBatch::ZERO];

    pub(super) fn new() -> Result<Self> {
        let mut batch = Vec::new();
        try_reserve("batch of element matrices", &mut batch, 1)?;
        batch.extend_from_slice(Self::ZERO);
        Ok(HeapBatch(batch))
    }

    #[inline(always)]
    pub(super) fn get(&mut self) -> &mut ElementBatch<NN> {
        &mut self.0[0]
    }
}

impl<const NN: usize> Batches<NN> {
    const IS_SMALL: bool = size_of::<ElementBatch<NN>>() <= ON_STACK;

    /// Allocates the batches of `threads` threads, if they do not fit on their stacks.
    pub(super) fn new(threads: usize) -> Result<Self> {
        let count = if Self::IS_SMALL { 0 } else { threads };
        let batches = try_collect("batches of threads", (0..count).map(|_| HeapBatch::new()))?;
        Ok(Batches { large: Mutex::new(batches.into_iter().collect::<Result<_>>()?) })
    }

    /// Calls `work` with a batch of arbitrary numbers. A space with more threads than the plan was made for adds batches.
    #[inline(always)]
    pub(super) fn lend<R>(&self, work: impl FnOnce(&mut ElementBatch<NN>) -> R) -> Result<R> {
        if Self::IS_SMALL {
            return Ok(on_stack(work));
        }
        let free = || self.large.lock().unwrap_or_else(PoisonError::into_inner);
        // A statement of its own, which ends the lock.
        let taken = free().pop();
        let mut batch = taken.map_or_else(HeapBatch::new, Ok)?;
        let result = work(batch.get());
        free().push(batch);
        Ok(result)
    }
}

/// Not inlined: the frame of a caller that takes a large batch from the heap must not hold one.
#[inline(never)]
fn on_stack<const NN: usize, R>(work: impl FnOnce(&mut ElementBatch<NN>) -> R) -> R {
    let mut batch = ElementBatch::ZERO;
    work(&mut batch)
}
