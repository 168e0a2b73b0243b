//! An element kernel made from a function of the element index.
//!
//! One element is evaluated at a time, so such a kernel gains nothing from vector lanes.

use super::kernel::{ElementKernel, Evaluate};
use crate::Result;
use crate::fill::Wanted;
use std::ops::Range;

/// Makes a kernel from `f(elem)`, which returns the element's matrix `[i, j]` and residual `[i]`: `f` itself, with the types of such a
/// function. Both are on the stack of the thread: 8 NN (NN + 1) bytes, so that more than 200 nodes need an [`ElementKernel`], which
/// writes them in place.
pub fn element_fn<F, const NN: usize>(f: F) -> F
where
    F: Fn(usize) -> ([[f64; NN]; NN], [f64; NN]) + Sync,
{
    f
}

impl<F, const NN: usize> ElementKernel<NN> for F
where
    F: Fn(usize) -> ([[f64; NN]; NN], [f64; NN]) + Sync,
{
    fn evaluator(&self, _: Wanted, _: Range<usize>) -> Result<Evaluate<'_, NN>> {
        Ok(Box::new(|elems, out| {
            for (lane, elem) in elems.enumerate() {
                let (matrix, residual) = self(elem);
                for i in 0..NN {
                    out.residual[i][lane] = residual[i];
                    for j in 0..NN {
                        out.matrix[i][j][lane] = matrix[i][j];
                    }
                }
            }
            Ok(())
        }))
    }
}
