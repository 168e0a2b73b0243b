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

use super::{CgParams, Solve, System};
use crate::Result;
use crate::blas::Blas;
use crate::solve::Reason;
use crate::solve::krylov::SolveInfo;
use crate::space::{Array, MemorySpace, Slice};

/// Cosine of an angle that is a right one up to rounding.
const ORTHOGONAL: f64 = 1e-14;
/// Starts without any progress after which the method gives up.
const STARTS: usize = 3;

/// Solves A x = b from the given x.
pub(in crate::solve) fn bicgstab<S: Blas>(
    system: System<'_, S>,
    x: &mut Slice<S, f64>,
    params: CgParams,
    observe: &mut dyn FnMut(usize, f64),
) -> Result<SolveInfo> {
    let mut solve = Solve::new("BiCGStab", system, x, params, 3)?;
    if solve.info.reason == Reason::Zero {
        return Ok(solve.info);
    }
    let (space, n) = (solve.system.space, solve.n());
    let vector = || -> Result<Array<S, f64>> { space.zeros(n) };
    let mut vectors = Vectors::<S> { shadow: vector()?, p: vector()?, v: vector()?, r: vector()?, t: vector()? };
    let (mut best, mut idle) = (f64::INFINITY, 0);
    while !solve.residual(S::Memory::slice_mut(&mut vectors.r))? {
        idle = if solve.info.residual < best { 0 } else { idle + 1 };
        if idle == STARTS {
            return Err(solve.not_converged());
        }
        best = best.min(solve.info.residual);
        solve.iterate(&mut vectors, observe)?;
    }
    Ok(solve.info)
}

struct Vectors<S: Blas> {
    shadow: Array<S, f64>,
    p: Array<S, f64>,
    v: Array<S, f64>,
    r: Array<S, f64>,
    t: Array<S, f64>,
}

impl<S: Blas> Solve<'_, '_, S> {
    /// Iterates from r = b - A x to the target, the limit or a breakdown.
    fn iterate(&mut self, vectors: &mut Vectors<S>, observe: &mut dyn FnMut(usize, f64)) -> Result<()> {
        let (space, n) = (self.system.space, self.n());
        let Vectors { shadow, p, v, r, t } = vectors;
        let (p, v) = (S::Memory::slice_mut(p), S::Memory::slice_mut(v));
        let (r, t) = (S::Memory::slice_mut(r), S::Memory::slice_mut(t));
        space.copy(n, r, S::Memory::slice_mut(shadow))?;
        space.copy(n, r, p)?;
        let shadow = S::Memory::slice(shadow);
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
            observe(self.info.iterations, self.info.residual);
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
