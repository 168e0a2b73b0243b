//! Preconditioners: z = M^-1 r, where M approximates A and M^-1 is symmetric positive definite.

mod jacobi;

pub use jacobi::Jacobi;

use crate::Result;
use crate::blas::Blas;
use crate::space::Slice;

/// An approximate inverse of an operator, as a Krylov method applies it.
pub trait Preconditioner<S: Blas> {
    /// Whether z is r itself. The method then keeps no z, calls no [`apply`](Self::apply) and reduces r.r only.
    const IS_IDENTITY: bool = false;

    /// z = M^-1 r over the `n` owned unknowns. Enqueues the same launches at every call and returns without waiting, so that an
    /// iteration can be recorded.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors; a device's failure.
    fn apply(&mut self, space: &S, n: usize, r: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()>;
}

/// No preconditioning: z = r.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<S: Blas> Preconditioner<S> for Identity {
    const IS_IDENTITY: bool = true;

    fn apply(&mut self, space: &S, n: usize, r: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()> {
        space.copy(n, r, z)
    }
}
