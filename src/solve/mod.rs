//! Iterative methods, written once for every space: conjugate gradients and Newton's method.
//!
//! They name no backend, loop over no data and allocate nothing inside an iteration. The operator of a matrix on a GPU is in
//! `cuda`.

mod cg;
#[cfg(feature = "cuda")]
mod cuda;
mod newton;
mod operator;

pub use cg::{CgInfo, CgParams, CgWorkspace, LinearOperator, Sums, cg};
pub use newton::{NewtonInfo, NewtonParams, NewtonStep, NonlinearProblem, newton};
pub use operator::{DistributedOperator, OperatorTimes};
