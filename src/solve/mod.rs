//! Iterative methods, written once for every space: conjugate gradients and Newton's method.
//!
//! They name no backend, loop over no data and allocate nothing inside an iteration. The operator of a matrix on a GPU is in
//! `cuda`.

mod cg;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod kernel_files;
mod newton;
mod operator;

pub use cg::{CgInfo, CgParams, CgWorkspace, LinearOperator, Sums, cg};
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use newton::{NewtonInfo, NewtonParams, NewtonStep, NonlinearProblem, newton};
pub use operator::{DistributedOperator, OperatorTimes};
