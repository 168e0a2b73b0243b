//! Batches of element matrices for the threads of an assembly: blocks keep small ones on the stack, `gather` keeps all on the heap.
//!
//! A batch has 64 NN (NN + 1) bytes: 4.5 KiB for hexahedra, 2.3 MiB for elements of 192 nodes, more than a thread's stack.

use super::kernel::{ElementBatch, ElementKernel};
use crate::Result;
use crate::fill::Wanted;
use crate::space::try_reserve;
use std::ops::Range;

/// Largest batch on the stack, in bytes: elements of 31 nodes.
const ON_STACK: usize = 64 << 10;

/// A batch on the heap, in a list of one: a box would be filled on the stack.
#[derive(Debug)]
struct HeapBatch<const NN: usize>(Vec<ElementBatch<NN>>);

impl<const NN: usize> HeapBatch<NN> {
    const ZERO: &'static [ElementBatch<NN>] = &[ElementBatch::ZERO];

    fn new() -> Result<Self> {
        let mut batch = Vec::new();
        try_reserve("batch of element matrices", &mut batch, 1)?;
        batch.extend_from_slice(Self::ZERO);
        Ok(HeapBatch(batch))
    }

    #[inline(always)]
    fn get(&mut self) -> &mut ElementBatch<NN> {
        &mut self.0[0]
    }
}

/// Calls `work` with a batch.
#[inline(always)]
pub(super) fn with_batch<const NN: usize, R>(work: impl FnOnce(&mut ElementBatch<NN>) -> R) -> Result<R> {
    if size_of::<ElementBatch<NN>>() <= ON_STACK {
        return Ok(on_stack(work));
    }
    Ok(work(HeapBatch::new()?.get()))
}

/// Not inlined: the frame of a caller that takes a large batch from the heap must not hold one.
#[inline(never)]
fn on_stack<const NN: usize, R>(work: impl FnOnce(&mut ElementBatch<NN>) -> R) -> R {
    let mut batch = ElementBatch::ZERO;
    work(&mut batch)
}

/// Computes elements and stores their matrices `[elem, i, j]` and residuals `[elem, i]`, as many elements as the slices hold.
pub(super) type Store<'a> = Box<dyn FnMut(Range<usize>, (&mut [f64], &mut [f64])) -> Result<()> + 'a>;

/// Makes the [`Store`] of a kernel for a range of elements, for the wanted parts.
pub(super) fn storing<const NN: usize>(
    kernel: &dyn ElementKernel<NN>,
    wanted: Wanted,
    elems: Range<usize>,
) -> Result<Store<'_>> {
    let (mut evaluate, mut batch) = (kernel.evaluator(wanted, elems)?, HeapBatch::new()?);
    Ok(Box::new(move |elems, (matrices, residuals)| {
        evaluate(elems, batch.get())?;
        batch.get().store(matrices, residuals);
        Ok(())
    }))
}
