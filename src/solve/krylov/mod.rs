//! Krylov methods, written once for every space: CG, MINRES for symmetric indefinite matrices, GMRES and BiCGStab for any.
//!
//! A method knows its matrix as an [`Operator`](crate::sparse::Operator), its preconditioner as a [`Preconditioner`] and the other ranks
//! as a [`Collective`](crate::blas::Collective). Its state and its vector updates are its own (`cg/state.rs`, [`CgSteps`]): products and
//! vector operations of lower layers know only the scalar that switches them off ([`Reductions::stop`](crate::blas::Reductions::stop)).

mod cg;
mod checks;
mod distributed;
mod elements;
mod function;
mod general;
mod method;
mod preconditioner;
mod system;

pub use cg::{
    CgDirection, CgParams, CgSlot, CgState, CgStep, CgSteps, CgVariant, CgWorkspace, FusedSlot, SingleLaunch,
    SingleVectors, cg, cg_single_launch,
};
pub use checks::{Symmetry, symmetry, true_residual};
pub(super) use checks::{rough, symmetry_of};
pub use distributed::{DistributedOperator, OperatorTimes};
pub use elements::ElementOperator;
pub use function::{OperatorFn, PreconditionerFn, operator_fn, preconditioner_fn};
pub(crate) use general::KrylovWorkspace;
pub use method::Method;
pub use preconditioner::{Identity, Jacobi, Preconditioner, Sweeps};
pub use system::LinearSystem;

use super::Reason;

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
    /// Norm of r to reach: max(tolerance ||b||, absolute tolerance); negative where a number of iterations was asked for.
    pub target: f64,
    /// Why the iteration ended.
    pub reason: Reason,
    /// Variant of CG.
    pub variant: CgVariant,
    /// Whether all iterations ran in one launch, which is pipelined CG whatever the variant.
    pub one_launch: bool,
    /// Number of sums over all ranks: one for ||b||, those of the first residual, of the iterations and of refreshes.
    pub reductions: usize,
    /// The residual of x itself, which [`solve`](super::solve()) computes; `None` from others unless the caller computed it by [`true_residual`].
    pub recomputed: Option<TrueResidual>,
}
