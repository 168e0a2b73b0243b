//! Batches of element matrices for the threads of an assembly, on the heap.
//!
//! A batch has 64 NN (NN + 1) bytes: 4.5 KiB for hexahedra, 2.3 MiB for elements of 192 nodes, more than a thread's stack. A thread takes
//! one per block of hundreds of elements, as it takes the kernel's working memory.

use super::kernel::{ElementBatch, ElementKernel};
use crate::Result;
use crate::fill::Wanted;
use crate::space::try_with_capacity;
use std::ops::Range;

/// Returns a batch in a list of one: a box would be filled on the stack.
pub(super) fn batch<const NN: usize>() -> Result<Vec<ElementBatch<NN>>> {
    let mut batch = try_with_capacity("batch of element matrices", 1)?;
    batch.extend_from_slice(const { &[ElementBatch::ZERO] });
    Ok(batch)
}

/// Computes elements and stores their matrices `[elem, i, j]` and residuals `[elem, i]`, as many elements as the slices hold.
pub(super) type Store<'a> = Box<dyn FnMut(Range<usize>, (&mut [f64], &mut [f64])) -> Result<()> + 'a>;

/// Makes the [`Store`] of a kernel for a range of elements, for the wanted parts.
pub(super) fn storing<const NN: usize>(
    kernel: &dyn ElementKernel<NN>,
    wanted: Wanted,
    elems: Range<usize>,
) -> Result<Store<'_>> {
    let (mut evaluate, mut batch) = (kernel.evaluator(wanted, elems)?, batch()?);
    Ok(Box::new(move |elems, (matrices, residuals)| {
        evaluate(elems, &mut batch[0])?;
        batch[0].store(matrices, residuals);
        Ok(())
    }))
}
