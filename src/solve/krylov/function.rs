//! Functions as operators and preconditioners on hosts: for matrices in a format of another crate, and for those that are
//! never stored.
//!
//! With several ranks the function must exchange ghost values itself; [`DistributedOperator`](super::DistributedOperator) does so for
//! stored matrices.

use super::Preconditioner;
use crate::Result;
use crate::blas::{Blas, Reductions};
use crate::error::check_at_least;
use crate::space::Threads;
use crate::sparse::Operator;
use std::cell::RefCell;
use std::fmt;

/// An operator that a function applies, see [`operator_fn`].
pub struct OperatorFn<F> {
    n: usize,
    apply: RefCell<F>,
}

/// A preconditioner that a function applies, see [`preconditioner_fn`].
pub struct PreconditionerFn<F> {
    apply: F,
}

/// Makes an operator of n unknowns from a function that writes y = A x. Both slices have n items.
///
/// ```
/// use minifenl::comm::Solo;
/// use minifenl::solve::{CgParams, CgWorkspace, LinearSystem, cg, operator_fn, preconditioner_fn};
/// use minifenl::space::Threads;
///
/// // -u'' = 1 with u = 0 at both ends, never stored: A = (-1, 2, -1) / h^2.
/// let (space, n, h) = (Threads::new(2)?, 99, 0.01);
/// let operator = operator_fn(n, |x, y| {
///     for i in 0..n {
///         let (left, right) = (if i == 0 { 0.0 } else { x[i - 1] }, x.get(i + 1).unwrap_or(&0.0));
///         y[i] = (2.0 * x[i] - left - right) / (h * h);
///     }
/// });
/// let preconditioner = &mut preconditioner_fn(|r, z| r.iter().zip(z).for_each(|(r, z)| *z = h * h / 2.0 * r));
/// let (mut work, mut u, b) = (CgWorkspace::new(&space, n, n)?, vec![0.0; n], vec![1.0; n]);
/// let mut system = LinearSystem { operator: &operator, preconditioner, comm: &Solo, rhs: &b[..] };
/// cg(&space, &mut system, &mut u, CgParams::new(1e-12, 200), &mut work, &mut |_, _| Ok(()))?;
/// assert!((u[n / 2] - 0.125).abs() < 1e-12);
/// # Ok::<(), minifenl::Error>(())
/// ```
pub fn operator_fn<F: FnMut(&[f64], &mut [f64])>(n: usize, apply: F) -> OperatorFn<F> {
    OperatorFn { n, apply: RefCell::new(apply) }
}

/// Makes a preconditioner from a function z = M^-1 r, M symmetric positive definite. Both slices have as many items
/// as the rank has unknowns.
pub fn preconditioner_fn<F: FnMut(&[f64], &mut [f64])>(apply: F) -> PreconditionerFn<F> {
    PreconditionerFn { apply }
}

impl<F: FnMut(&[f64], &mut [f64])> Operator<Threads> for OperatorFn<F> {
    fn rows(&self) -> usize {
        self.n
    }

    fn columns(&self) -> usize {
        self.n
    }

    /// The vectors: the library does not know what the function reads.
    fn bytes(&self) -> usize {
        2 * size_of::<f64>() * self.n
    }

    fn apply(&self, _: &Threads, x: &mut [f64], y: &mut [f64]) -> Result<()> {
        check_at_least("OperatorFn", "x", x.len(), self.n)?;
        check_at_least("OperatorFn", "y", y.len(), self.n)?;
        (self.apply.borrow_mut())(&x[..self.n], &mut y[..self.n]);
        Ok(())
    }

    fn apply_dot(
        &self,
        space: &Threads,
        x: &mut [f64],
        y: &mut [f64],
        sums: &mut Reductions<Threads>,
        slot: usize,
    ) -> Result<()> {
        if sums.is_stopped()? {
            return Ok(());
        }
        self.apply(space, x, y)?;
        space.dot(self.n, x, y, sums, slot)
    }
}

impl<F: FnMut(&[f64], &mut [f64])> Preconditioner<Threads> for PreconditionerFn<F> {
    fn apply(&mut self, _: &Threads, n: usize, r: &[f64], z: &mut [f64]) -> Result<()> {
        check_at_least("PreconditionerFn", "r", r.len(), n)?;
        check_at_least("PreconditionerFn", "z", z.len(), n)?;
        (self.apply)(&r[..n], &mut z[..n]);
        Ok(())
    }
}

impl<F> fmt::Debug for OperatorFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorFn").field("n", &self.n).finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for PreconditionerFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreconditionerFn").finish_non_exhaustive()
    }
}
