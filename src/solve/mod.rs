//! Iterative methods, written once for every space: Krylov methods and Newton's method.
//!
//! They name no backend and loop over no data. [`solve()`] solves a linear system in one call; [`cg()`] takes a workspace, which many solves
//! share, and allocates nothing.
//!
//! ```
//! use minifenl::comm::Solo;
//! use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
//! use minifenl::sparse::{CrsGraph, CrsMatrix};
//! use minifenl::{Error, space::Serial};
//! use std::sync::Arc;
//!
//! // [ 2 -1  0]       [1]                            [1]
//! // [-1  2 -1]  x  = [0],  with the solution  x  =  [1]
//! // [ 0 -1  2]       [1]                            [1]
//! let graph = CrsGraph::new(vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2], 3)?;
//! let a = CrsMatrix::new(Arc::new(graph), vec![2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0])?;
//! let (mut work, mut x, b) = (CgWorkspace::new(&Serial, 3, 3)?, vec![0.0; 3], vec![1.0, 0.0, 1.0]);
//! let mut system = LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: &b[..] };
//! let params = CgParams::new(1e-12, 3);
//! let info = cg(&Serial, &mut system, &mut x, params, &mut work, &mut |_, _| Ok(()))?;
//! assert!(info.iterations <= 3 && x.iter().all(|x| (x - 1.0).abs() < 1e-12));
//!
//! // A failure to converge is an error with its numbers.
//! let mut x = vec![0.0; 3];
//! let params = CgParams { max_iterations: 1, ..params };
//! let error = cg(&Serial, &mut system, &mut x, params, &mut work, &mut |_, _| Ok(())).unwrap_err();
//! assert!(matches!(error, Error::NotConverged { .. }), "{error}");
//! # Ok::<(), minifenl::Error>(())
//! ```

mod aggregation;
mod call;
#[cfg(feature = "cuda")]
mod kernel_files;
mod krylov;
mod multigrid;
mod newton;
mod null_space;
mod numbering;
mod reason;

pub use aggregation::{Aggregate, NearNull, SmoothedAggregation};
pub use call::{Options, solve};
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
#[cfg(feature = "cli")]
pub(crate) use krylov::KrylovWorkspace;
pub use krylov::{
    CgDirection, CgParams, CgSlot, CgState, CgStep, CgSteps, CgVariant, CgWorkspace, DistributedOperator,
    ElementOperator, FusedSlot, Identity, Jacobi, LinearSystem, Method, OperatorFn, OperatorTimes, Preconditioner,
    PreconditionerFn, SingleLaunch, SingleVectors, SolveInfo, Sweeps, Symmetry, TrueResidual, cg, cg_single_launch,
    operator_fn, preconditioner_fn, symmetry, true_residual,
};
pub use multigrid::{Cycle, DistributedMatrix, Hierarchy, Level, MOST_INVERTED, Smoothing, Transfer, gathers};
pub use newton::{NewtonInfo, NewtonParams, NewtonStep, NonlinearProblem, newton, newton_bytes};
pub use null_space::NullSpace;
pub use reason::Reason;
