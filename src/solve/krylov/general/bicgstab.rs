//! BiCGStab (van der Vorst 1992), preconditioned from the right.
//!
//! ```text
//! beta = (r'.r / old r'.r) (alpha / omega),  p = r + beta (p - omega v)
//! v = A M^-1 p,     alpha = r'.r / r'.v,     x += alpha M^-1 p,  r -= alpha v        1 all-reduce
//! t = A M^-1 r,     omega = t.r / t.t,       x += omega M^-1 r,  r -= omega t        1 all-reduce
//! r.r, r'.r                                                                          1 all-reduce
//! ```
//! r' is r at the start. Where a denominator vanishes beside its vectors, and where b - A x has not reached the target, the method starts
//! again from x. Memory: 5 vectors, and z. Traffic per iteration and unknown besides both products: 264 bytes.

use super::Solve;
use crate::Result;
use crate::blas::Blas;
use crate::space::{Array, Slice};

/// Cosine of an angle that is a right one up to rounding.
const ORTHOGONAL: f64 = 1e-14;

/// Solves A x = b from the given x, with 5 vectors.
pub(super) fn bicgstab<S: Blas>(
    solve: &mut Solve<'_, '_, S>,
    vectors: &mut [Array<S, f64>],
    observe: &mut dyn FnMut(usize, f64) -> Result<()>,
) -> Result<()> {
    solve.restarted(vectors, |solve, vectors| solve.iterate(vectors, observe))
}

impl<S: Blas> Solve<'_, '_, S> {
    /// Iterates from r = b - A x to the target, the limit or a breakdown.
    fn iterate(
        &mut self,
        [r, shadow, p, v, t]: &mut [&mut Slice<S, f64>; 5],
        observe: &mut dyn FnMut(usize, f64) -> Result<()>,
    ) -> Result<()> {
        let (space, n) = (self.space, self.n());
        let (p, v, r, t) = (&mut **p, &mut **v, &mut **r, &mut **t);
        space.copy(n, r, shadow)?;
        space.copy(n, r, p)?;
        let shadow = &**shadow;
        let first = self.info.residual;
        let mut rho = first * first;
        while self.info.residual > self.info.target && self.info.iterations < self.params.max_iterations {
            self.product(p, v)?;
            let [along, vv] = self.dots([[shadow, &*v], [&*v, &*v]])?;
            self.finite("r'.v", along)?;
            if along.abs() <= ORTHOGONAL * first * vv.sqrt() {
                return Ok(());
            }
            let alpha = rho / along;
            self.advance(alpha)?;
            space.axpy(n, -alpha, v, r)?;
            self.product(r, t)?;
            let [tr, tt] = self.dots([[&*t, &*r], [&*t, &*t]])?;
            self.finite("t.t", tt)?;
            // t = 0 for r = 0, which the next sum finds.
            let omega = if tt > 0.0 { tr / tt } else { 0.0 };
            self.advance(omega)?;
            space.axpy(n, -omega, t, r)?;
            let [rr, next] = self.dots([[&*r, &*r], [shadow, &*r]])?;
            self.finite("r.r", rr)?;
            self.info.iterations += 1;
            self.info.residual = rr.sqrt();
            observe(self.info.iterations, self.info.residual)?;
            if omega == 0.0 || next.abs() <= ORTHOGONAL * first * rr.sqrt() {
                return Ok(());
            }
            let beta = next / rho * (alpha / omega);
            rho = next;
            // p = r + beta (p - omega v)
            space.axpy(n, -omega, v, p)?;
            space.copy(n, p, t)?;
            space.axpby(n, 1.0, r, beta, t, p)?;
        }
        Ok(())
    }
}
