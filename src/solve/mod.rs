//! Iterative methods, written once for every space: Krylov methods and Newton's method.
//!
//! They name no backend, loop over no data and allocate nothing inside an iteration.

#[cfg(feature = "cuda")]
mod kernel_files;
mod krylov;
mod newton;
mod reason;

#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use krylov::{
    CgParams, CgSlot, CgState, CgSteps, CgVariant, CgVectors, CgWorkspace, DistributedOperator, FusedSlot, FusedSteps,
    Identity, LinearOperator, LinearSystem, MatrixOperator, OperatorTimes, PipelinedVectors, PreconditionedVectors,
    Preconditioner, Quotient, SingleVectors, SolveInfo, Symmetry, TrueResidual, cg, symmetry, true_residual,
};
pub use newton::{NewtonInfo, NewtonParams, NewtonStep, NonlinearProblem, newton, newton_into};
pub use reason::Reason;
