//! Element kernels: they compute matrices and residuals of a batch of elements.

mod contraction;
mod equation;
mod fused;
mod gather;
#[cfg(test)]
mod tests;

pub use contraction::ContractionKernel;
pub use equation::{EquationKernel, EquationScratch};
pub use fused::FusedKernel;
pub use gather::Elements;

use crate::element::{HEX8_NODES, SymmetricSink};
use crate::fill::Wanted;
use crate::space::lanes::{LANES, Lanes};
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

/// The lanes of a batch from `first` on.
struct BatchPart<'a> {
    out: &'a mut ElementBatch<HEX8_NODES>,
    first: usize,
}

impl<'a> BatchPart<'a> {
    fn new(out: &'a mut ElementBatch<HEX8_NODES>, first: usize) -> Self {
        BatchPart { out, first }
    }

    #[inline(always)]
    fn put_residual<const FUSED: bool, const WIDTH: usize>(&mut self, m: usize, value: Lanes<FUSED, f64, WIDTH>) {
        self.out.residual[m][self.first..][..WIDTH].copy_from_slice(&value.0);
    }

    #[inline(always)]
    fn put_matrix<const FUSED: bool, const WIDTH: usize>(
        &mut self,
        [m, n]: [usize; 2],
        value: Lanes<FUSED, f64, WIDTH>,
    ) {
        self.out.matrix[m][n][self.first..][..WIDTH].copy_from_slice(&value.0);
    }
}

impl<const FUSED: bool, const WIDTH: usize> SymmetricSink<Lanes<FUSED, f64, WIDTH>> for BatchPart<'_> {
    #[inline(always)]
    fn put(&mut self, row: usize, column: usize, entry: Lanes<FUSED, f64, WIDTH>) {
        self.put_matrix([row, column], entry);
        if row != column {
            self.put_matrix([column, row], entry);
        }
    }
}

/// Computes matrices and residuals of elements with `NN` nodes, one unknown per node.
pub trait ElementKernel<const NN: usize>: Sync {
    /// Working memory of one thread, reused from batch to batch.
    type Scratch: Send;

    /// Returns the name for reports.
    fn name(&self) -> &'static str;

    /// Allocates the working memory.
    fn scratch(&self) -> Self::Scratch;

    /// Fills lanes `0..elems.len()` of `out` with elements `elems` (at most [`LANES`]); the other lanes are unspecified.
    /// The values in a lane depend on its element alone, never on its neighbours in the batch.
    fn evaluate(&self, elems: Range<usize>, scratch: &mut Self::Scratch, out: &mut ElementBatch<NN>);

    /// Fills the wanted part of `out` as [`evaluate`](Self::evaluate); the other part is unspecified. Kernels that save work by
    /// it override this function; the default computes both.
    fn evaluate_part(
        &self,
        elems: Range<usize>,
        _wanted: Wanted,
        scratch: &mut Self::Scratch,
        out: &mut ElementBatch<NN>,
    ) {
        self.evaluate(elems, scratch, out);
    }
}

/// Computes the wanted part of a batch, as [`ElementKernel::evaluate_part`].
pub(super) type Evaluate<'a, const ND: usize> = Box<dyn FnMut(Range<usize>, &mut ElementBatch<ND>) + 'a>;

/// An element kernel whose type is not known: strategies are compiled once for all kernels. A call per batch costs nothing beside
/// its elements.
pub(super) trait AnyKernel<const ND: usize>: Sync {
    /// Makes the function of one thread, with working memory of its own.
    fn evaluator(&self, wanted: Wanted) -> Evaluate<'_, ND>;
}

impl<const ND: usize, K: ElementKernel<ND>> AnyKernel<ND> for K {
    fn evaluator(&self, wanted: Wanted) -> Evaluate<'_, ND> {
        let mut scratch = self.scratch();
        match wanted {
            Wanted::Both => Box::new(move |elems, out| self.evaluate(elems, &mut scratch, out)),
            part => Box::new(move |elems, out| self.evaluate_part(elems, part, &mut scratch, out)),
        }
    }
}
