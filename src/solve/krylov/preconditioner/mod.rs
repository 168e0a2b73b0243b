//! Preconditioners: z = M^-1 r, where M approximates A and M^-1 is symmetric positive definite.

mod jacobi;
mod sweeps;

pub use jacobi::Jacobi;
pub use sweeps::Sweeps;

use crate::Result;
use crate::blas::Blas;
use crate::space::Slice;

/// An approximate inverse of an operator, as a Krylov method applies it.
pub trait Preconditioner<S: Blas> {
    /// Returns whether z is r itself. The method then keeps no z, calls no [`apply`](Self::apply) and reduces r.r only.
    fn is_identity(&self) -> bool {
        false
    }

    /// Returns whether an application only enqueues work on the space, so that it may be part of a recorded CUDA graph.
    fn is_recordable(&self) -> bool {
        true
    }

    /// Returns whether an application costs several products. The method then enqueues few iterations ahead of its convergence checks.
    fn is_costly(&self) -> bool {
        false
    }

    /// z = M^-1 r over the `n` owned unknowns. Enqueues the same launches at every call and returns without waiting, so that an
    /// iteration can be recorded.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors; a device's failure.
    fn apply(&mut self, space: &S, n: usize, r: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()>;

    /// Does the work of [`apply`](Self::apply), and calls `enter(level)` where that of a level begins; without levels once, with 0.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply) and of `enter`.
    fn apply_visiting(
        &mut self,
        space: &S,
        n: usize,
        r: &Slice<S, f64>,
        z: &mut Slice<S, f64>,
        enter: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        enter(0)?;
        self.apply(space, n, r, z)
    }
}

/// No preconditioning: z = r.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<S: Blas> Preconditioner<S> for Identity {
    fn is_identity(&self) -> bool {
        true
    }

    fn apply(&mut self, space: &S, n: usize, r: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()> {
        space.copy(n, r, z)
    }
}
