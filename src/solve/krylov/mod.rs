//! Krylov methods for symmetric positive definite systems, written once for every space.
//!
//! A method takes its matrix as a [`LinearOperator`], its preconditioner as a [`Preconditioner`] and the other ranks as an
//! [`AllReduce`](crate::comm::AllReduce). Its state and its vector updates are its own (`cg/state.rs`, [`CgSteps`]): products and
//! vector operations of lower layers know only the scalar that switches them off ([`Reductions::stop`]).

mod cg;
mod checks;
#[cfg(feature = "cuda")]
mod device;
mod distributed;
mod elements;
mod function;
mod host;
mod preconditioner;

pub use cg::{
    CgParams, CgSlot, CgState, CgSteps, CgVariant, CgVectors, CgWorkspace, FusedSlot, FusedSteps, LinearSystem,
    PipelinedVectors, PreconditionedVectors, Quotient, SingleVectors, cg,
};
pub use checks::{Symmetry, symmetry, true_residual};
pub use distributed::{DistributedOperator, OperatorTimes};
pub use elements::ElementOperator;
pub use function::{OperatorFn, PreconditionerFn, operator_fn, preconditioner_fn};
pub use preconditioner::{Identity, Jacobi, Preconditioner};

use super::Reason;
use crate::Result;
use crate::blas::{Blas, Reductions};
use crate::space::{Item, Slice};
use crate::sparse::{CrsMatrix, Formats, Product, Spmv};

/// A linear operator from this rank's unknowns and ghosts to its unknowns.
pub trait LinearOperator<S: Blas> {
    /// Number of unknowns that this rank owns.
    fn rows(&self) -> usize;

    /// Length of a vector that the operator is applied to: owned unknowns, then ghosts.
    fn columns(&self) -> usize;

    /// y = A x over the owned rows. Refreshes the ghosts of x first.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors; the failure of a device or of communication.
    fn apply(&mut self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()>;

    /// y = A x and `sums.scalars[slot]` = x.y over the owned rows, in one pass, with fresh ghosts of x. Those that x itself holds
    /// may be stale afterwards. Does nothing once `sums` is stopped.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    fn apply_dot(
        &mut self,
        space: &S,
        x: &mut Slice<S, f64>,
        y: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()>;

    /// Whether an application only enqueues work on the space, so that it may be part of a recorded CUDA graph.
    fn is_recordable(&self) -> bool {
        true
    }

    /// Runs all iterations of CG in one launch and returns true, or does nothing and returns false. It takes r, p = r and the
    /// scalars as they are before the first iteration. For small systems on a device, where launches take longer than their
    /// kernels.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    fn cg_at_once(
        &mut self,
        _space: &S,
        _x: &mut Slice<S, f64>,
        _r: &mut Slice<S, f64>,
        _sums: &mut Reductions<S>,
    ) -> Result<bool> {
        Ok(false)
    }
}

/// A space whose stored matrices are operators.
pub trait MatrixOperator: Formats {
    /// A matrix in its storage format, borrowed.
    type Operator<'a>: Product<Self> + LinearOperator<Self>;

    /// Returns the matrix as products read it.
    fn operator(matrix: &Self::Matrix) -> Self::Operator<'_>;

    /// Returns the matrix with the values that were assembled, where products read rounded ones.
    fn assembled(matrix: &Self::Matrix) -> Self::Operator<'_> {
        Self::operator(matrix)
    }
}

/// True residual of a solve, computed from its x alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrueResidual {
    /// ||b - A x||.
    pub residual: f64,
    /// ||x||.
    pub solution: f64,
}

/// Result of a linear solve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolveInfo {
    /// Number of iterations. The product that forms the first residual is not counted.
    pub iterations: usize,
    /// ||r|| after the last iteration, by the recurrence of the method.
    pub residual: f64,
    /// ||b||.
    pub rhs: f64,
    /// Why the iteration ended.
    pub reason: Reason,
    /// Variant of CG.
    pub variant: CgVariant,
    /// Whether all iterations ran in one launch, which is pipelined CG whatever the variant.
    pub one_launch: bool,
    /// Number of sums over all ranks: one for ||b||, those of the iterations, and those of refreshes.
    pub reductions: usize,
    /// The residual of x itself; `None` unless the caller computed it by [`true_residual`].
    pub recomputed: Option<TrueResidual>,
}

/// A matrix of a single process is an operator: it has no ghosts.
impl<S, V> LinearOperator<S> for &CrsMatrix<V, S::Memory>
where
    V: Item,
    S: Blas + Spmv<V>,
{
    fn rows(&self) -> usize {
        self.graph().rows()
    }

    fn columns(&self) -> usize {
        self.graph().columns()
    }

    fn apply(&mut self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        Product::multiply(self, space, x, y)
    }

    fn apply_dot(
        &mut self,
        space: &S,
        x: &mut Slice<S, f64>,
        y: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        Product::multiply_dot(self, space, 0..self.graph().rows(), x, y, sums, slot)
    }
}

/// A borrowed operator is an operator.
impl<S: Blas, A: LinearOperator<S> + ?Sized> LinearOperator<S> for &mut A {
    fn rows(&self) -> usize {
        (**self).rows()
    }

    fn columns(&self) -> usize {
        (**self).columns()
    }

    fn apply(&mut self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        (**self).apply(space, x, y)
    }

    fn apply_dot(
        &mut self,
        space: &S,
        x: &mut Slice<S, f64>,
        y: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        (**self).apply_dot(space, x, y, sums, slot)
    }

    fn is_recordable(&self) -> bool {
        (**self).is_recordable()
    }

    fn cg_at_once(
        &mut self,
        space: &S,
        x: &mut Slice<S, f64>,
        r: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
    ) -> Result<bool> {
        (**self).cg_at_once(space, x, r, sums)
    }
}
