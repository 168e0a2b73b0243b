//! Element kernels: they compute matrices and residuals of a batch of elements.

mod equation;
mod fused;
mod integrand;
mod intrepid;
#[cfg(test)]
mod tests;
mod tiles;

pub use equation::EquationKernel;
pub use fused::FusedKernel;
pub(super) use integrand::Integrand;
pub(super) use intrepid::workset_bytes;
pub use intrepid::{IntrepidKernel, Worksets};

use crate::Result;
use crate::fill::Wanted;
use crate::mesh::ElemNode;
use crate::space::lanes::LANES;
use std::ops::Range;

/// Element matrices and residuals of up to [`LANES`] elements, the element index fastest.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct ElementBatch<const NN: usize> {
    /// `[i, j, lane]`: derivative of residual `i` by the unknown at node `j`.
    pub matrix: [[[f64; LANES]; NN]; NN],
    /// `[i, lane]`.
    pub residual: [[f64; LANES]; NN],
}

impl<const NN: usize> ElementBatch<NN> {
    /// All zero.
    pub const ZERO: Self = ElementBatch { matrix: [[[0.0; LANES]; NN]; NN], residual: [[0.0; LANES]; NN] };

    /// Transposes the batch to `matrices [lane, i, j]` and `residuals [lane, i]`: as many elements as fit.
    #[inline(always)]
    pub(super) fn store(&self, matrices: &mut [f64], residuals: &mut [f64]) {
        let elems = matrices.chunks_exact_mut(NN * NN).zip(residuals.chunks_exact_mut(NN));
        for (lane, (matrix, residual)) in elems.enumerate().take(LANES) {
            for i in 0..NN {
                residual[i] = self.residual[i][lane];
                for j in 0..NN {
                    matrix[i * NN + j] = self.matrix[i][j][lane];
                }
            }
        }
    }
}

/// Computes matrices and residuals of elements with `NN` dofs.
pub trait ElementKernel<const NN: usize>: Sync {
    /// Makes the function of one thread, with working memory of its own. It fills the wanted part of lanes `0..batch.len()` with the
    /// elements of a batch (at most [`LANES`]); the rest is unspecified. The values in a lane depend on its element alone, never on
    /// its neighbours in the batch. The batches asked for ascend within `elems`, and may leave out some of them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the working memory is not available.
    fn evaluator(&self, wanted: Wanted, elems: Range<usize>) -> Result<Evaluate<'_, NN>>;

    /// Returns the element-node table that the kernel reads, if it reads one. [`Fill`](crate::fill::Fill) refuses other elements
    /// than those of its graph.
    fn elem_node(&self) -> Option<&ElemNode> {
        None
    }
}

/// Fills a batch with elements. Strategies are compiled once for all kernels: a call per batch costs nothing beside its elements.
pub type Evaluate<'a, const NN: usize> = Box<dyn FnMut(Range<usize>, &mut ElementBatch<NN>) -> Result<()> + 'a>;
