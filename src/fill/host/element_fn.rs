//! An element kernel made from a function of the element index.
//!
//! One element is evaluated at a time, so such a kernel gains nothing from vector lanes.

use super::kernel::{ElementBatch, ElementKernel};
use std::ops::Range;

/// The [`ElementKernel`] that [`element_fn`] makes.
#[derive(Clone, Copy)]
pub struct ElementFn<F>(F);

impl<F> std::fmt::Debug for ElementFn<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ElementFn")
    }
}

/// Makes a kernel from `f(elem)`, which returns the element's matrix `[i, j]` and residual `[i]`. Both are on the stack of the
/// thread: 8 NN (NN + 1) bytes, so that more than 200 nodes need an [`ElementKernel`], which writes them in place.
pub fn element_fn<F, const NN: usize>(f: F) -> ElementFn<F>
where
    F: Fn(usize) -> ([[f64; NN]; NN], [f64; NN]) + Sync,
{
    ElementFn(f)
}

impl<F, const NN: usize> ElementKernel<NN> for ElementFn<F>
where
    F: Fn(usize) -> ([[f64; NN]; NN], [f64; NN]) + Sync,
{
    type Scratch = ();

    fn name(&self) -> &'static str {
        "function"
    }

    fn scratch(&self) {}

    fn evaluate(&self, elems: Range<usize>, (): &mut (), out: &mut ElementBatch<NN>) {
        for (lane, elem) in elems.enumerate() {
            let (matrix, residual) = (self.0)(elem);
            for i in 0..NN {
                out.residual[i][lane] = residual[i];
                for j in 0..NN {
                    out.matrix[i][j][lane] = matrix[i][j];
                }
            }
        }
    }
}
