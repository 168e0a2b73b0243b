//! Batches of element matrices for strategies, which are compiled once for kernels of all numbers of dofs.
//!
//! A batch of elements of `n` dofs has 64 n (n + 1) bytes and lies on the heap: 2.3 MiB for 192 dofs, more than a thread's stack.

use super::kernel::{ElementBatch, ElementKernel};
use crate::Result;
use crate::fill::Wanted;
use crate::space::lanes::LANES;
use crate::space::try_reserve;
use std::ops::Range;

/// Dofs per element for which strategies are compiled once more: heat on `hex8`.
pub(super) const USUAL: usize = 8;

/// An element kernel of some number of dofs.
pub(super) struct AnyKernel<'a> {
    pub dofs: usize,
    start: &'a (dyn Fn(Wanted, Range<usize>) -> Result<Batches<'a>> + Sync),
}

/// Gives the matrices of a batch of elements to a function.
pub(super) type Batches<'a> = Box<dyn FnMut(Range<usize>, &mut dyn FnMut(&Batch<'_>)) -> Result<()> + 'a>;

/// Element matrices and residuals, the element index fastest.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    /// `[(i, j)][lane]`.
    pub matrix: &'a [[f64; LANES]],
    /// `[i][lane]`.
    pub residual: &'a [[f64; LANES]],
}

/// Calls `work` with a kernel.
pub(super) fn with_any<const NN: usize, R>(
    kernel: &dyn ElementKernel<NN>,
    work: impl FnOnce(&AnyKernel<'_>) -> R,
) -> R {
    work(&AnyKernel { dofs: NN, start: &|wanted, elems| batches(kernel, wanted, elems) })
}

fn batches<const NN: usize>(
    kernel: &dyn ElementKernel<NN>,
    wanted: Wanted,
    elems: Range<usize>,
) -> Result<Batches<'_>> {
    let mut evaluate = kernel.evaluator(wanted, elems)?;
    // A list of one: a box would be filled on the stack.
    let mut batch = Vec::new();
    try_reserve("batch of element matrices", &mut batch, 1)?;
    batch.extend_from_slice(const { &[ElementBatch::<NN>::ZERO] });
    Ok(Box::new(move |elems, put| {
        evaluate(elems, &mut batch[0])?;
        put(&Batch { matrix: batch[0].matrix.as_flattened(), residual: &batch[0].residual });
        Ok(())
    }))
}

impl<'a> AnyKernel<'a> {
    /// Returns the batches of one thread, which ascend within `elems`.
    pub fn batches(&self, wanted: Wanted, elems: Range<usize>) -> Result<Batches<'a>> {
        (self.start)(wanted, elems)
    }
}

impl Batch<'_> {
    /// Transposes the batch to `matrices [lane, i, j]` and `residuals [lane, i]`: as many elements as fit.
    pub fn store(&self, matrices: &mut [f64], residuals: &mut [f64]) {
        match self.residual.len() {
            USUAL => self.store_of(USUAL, matrices, residuals),
            dofs => self.store_of(dofs, matrices, residuals),
        }
    }

    #[inline(always)]
    fn store_of(&self, dofs: usize, matrices: &mut [f64], residuals: &mut [f64]) {
        let elems = matrices.chunks_exact_mut(dofs * dofs).zip(residuals.chunks_exact_mut(dofs));
        for (lane, (matrix, residual)) in elems.enumerate().take(LANES) {
            residual.iter_mut().zip(self.residual).for_each(|(number, lanes)| *number = lanes[lane]);
            matrix.iter_mut().zip(self.matrix).for_each(|(number, lanes)| *number = lanes[lane]);
        }
    }
}
