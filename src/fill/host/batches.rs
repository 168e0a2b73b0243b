//! Batches of element matrices for the threads of an assembly: on the stack while they are small, otherwise on the heap.
//!
//! A batch has 64 NN (NN + 1) bytes: 4.5 KiB for hexahedra, 2.3 MiB for elements of 192 nodes, more than a thread's stack.
//! Those on the heap are allocated once, one per thread, and lent from call to call.

use super::kernel::ElementBatch;
use super::pool::Pool;
use crate::Result;
use crate::space::try_reserve;

/// Largest batch on the stack, in bytes: elements of 31 nodes.
const ON_STACK: usize = 64 << 10;

/// The batches of an assembly.
#[derive(Debug)]
pub(super) struct Batches<const NN: usize> {
    large: Pool<HeapBatch<NN>>,
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
        Ok(Batches { large: Pool::new(count, HeapBatch::new)? })
    }

    /// Calls `work` with a batch of arbitrary numbers.
    #[inline(always)]
    pub(super) fn lend<R>(&self, work: impl FnOnce(&mut ElementBatch<NN>) -> R) -> Result<R> {
        if Self::IS_SMALL {
            return Ok(on_stack(work));
        }
        self.large.lend(HeapBatch::new, |batch| work(batch.get()))
    }
}

/// Not inlined: the frame of a caller that takes a large batch from the heap must not hold one.
#[inline(never)]
fn on_stack<const NN: usize, R>(work: impl FnOnce(&mut ElementBatch<NN>) -> R) -> R {
    let mut batch = ElementBatch::ZERO;
    work(&mut batch)
}
