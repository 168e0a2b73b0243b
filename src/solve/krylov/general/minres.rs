//! MINRES (Paige and Saunders 1975), preconditioned by a symmetric positive definite M: for symmetric matrices, definite or not.
//!
//! ```text
//! z = M^-1 v,  g^2 = z.v,  q = A z,  d = q.z / g^2                                     1 all-reduce
//! next v = q / g - (d / g) v - (g / old g) old v                                       Lanczos, in the inner product of M^-1
//! next w = z / g - a3 old w - a2 w,  divided by a1;  x += c eta w                      three terms: T = Q R by Givens rotations
//! next g^2 = z.v, and r.v, v.v for ||r||, r = s^2 r + (c eta / next g) next v          1 all-reduce
//! ```
//! It minimises the norm of b - A x in the inner product of M^-1, and ||r|| is that of b - A x itself. Singular systems that have a
//! solution are solved. Where the space cannot grow, and where b - A x has not reached the target, the method starts again from x. Memory:
//! 7 vectors, and z. Traffic per iteration and unknown besides the product: 200 bytes.

use super::Solve;
use crate::blas::Blas;
use crate::space::{Array, MemorySpace, Slice};
use crate::{Error, Result};
use std::mem::swap;

/// Part of the longest column of T below which an item of it is 0 up to rounding.
const DEPENDENT: f64 = 1e-14;

/// Solves A x = b from the given x, with 7 vectors.
pub(super) fn minres<S: Blas>(
    solve: &mut Solve<'_, '_, S>,
    vectors: &mut [Array<S, f64>],
    observe: &mut dyn FnMut(usize, f64) -> Result<()>,
) -> Result<()> {
    let mut longest = 0.0;
    solve.restarted(vectors, |solve, vectors| solve.lanczos(vectors, &mut longest, observe))
}

impl<S: Blas> Solve<'_, '_, S> {
    /// Iterates from r = b - A x to the target, the limit, or the end of the Krylov space. `longest`: norm of the longest column of T
    /// so far.
    fn lanczos(
        &mut self,
        [r, v, old_v, w, old_w, q, t]: &mut [&mut Slice<S, f64>; 7],
        longest: &mut f64,
        observe: &mut dyn FnMut(usize, f64) -> Result<()>,
    ) -> Result<()> {
        let (space, n) = (self.space, self.n());
        space.copy(n, r, v)?;
        for zero in [&mut **old_v, &mut **w, &mut **old_w] {
            space.fill(n, 0.0, zero)?;
        }
        let mut square = self.info.residual * self.info.residual;
        let [mut g, _, _] = self.precondition_and_sum(v, r)?;
        // The item of T above the diagonal; the first column has none.
        let (mut old_g, mut eta, mut above) = (1.0, g, 0.0f64);
        let [mut c, mut old_c, mut s, mut old_s] = [1.0, 1.0, 0.0, 0.0];
        while g > 0.0 && self.info.residual > self.info.target && self.info.iterations < self.params.max_iterations {
            let d = self.product_and_sum(q)? / (g * g);
            space.axpby(n, 1.0 / g, q, -d / g, v, t)?;
            space.axpy(n, -g / old_g, old_v, t)?;
            // What the rotations so far make of the column of T.
            let (a0, a2, a3) = (c * d - old_c * s * g, s * d + old_c * c * g, old_s * g);
            self.scale_z(1.0 / g, -a3, old_w, q)?;
            space.axpy(n, -a2, w, q)?;
            let [next, rv, vv] = self.precondition_and_sum(t, r)?;
            let a1 = a0.hypot(next);
            *longest = longest.max(above.hypot(d).hypot(next));
            if a1 <= DEPENDENT * *longest {
                // The last pivot of a singular matrix: x is the best of its space.
                break;
            }
            (old_c, c, old_s, s) = (c, a0 / a1, s, next / a1);
            let along = c * eta;
            eta *= -s;
            // w = q / a1, as old w takes its place.
            space.axpby(n, 1.0 / a1, q, 0.0, q, old_w)?;
            swap(w, old_w);
            space.axpy(n, along, w, self.x)?;
            let k = if next > 0.0 { c * eta / next } else { 0.0 };
            space.axpby(n, s * s, r, k, t, q)?;
            swap(r, q);
            square = (s.powi(4) * square + 2.0 * s * s * k * rv + k * k * vv).max(0.0);
            self.finite("r.r", square)?;
            self.info.iterations += 1;
            self.info.residual = square.sqrt();
            observe(self.info.iterations, self.info.residual)?;
            if next <= DEPENDENT * *longest {
                break;
            }
            (old_g, g, above) = (g, next, next);
            // old v, v = v, t
            swap(old_v, v);
            swap(v, t);
        }
        Ok(())
    }

    /// z = M^-1 v; returns the square root of z.v, and r.v and v.v.
    fn precondition_and_sum(&mut self, v: &Slice<S, f64>, r: &Slice<S, f64>) -> Result<[f64; 3]> {
        let (space, n) = (self.space, self.n());
        self.precondition(v)?;
        space.dot(n, S::Memory::slice(self.z), v, self.sums, 0)?;
        space.dot(n, r, v, self.sums, 1)?;
        space.dot(n, v, v, self.sums, 2)?;
        let mut sums = [0.0; 3];
        self.sum(&mut sums)?;
        let [zv, rv, vv] = sums;
        self.finite("v.M^-1 v", zv)?;
        if zv < 0.0 {
            return Err(Error::IndefinitePreconditioner { iteration: self.info.iterations, product: zv });
        }
        Ok([zv.sqrt(), rv, vv])
    }

    /// q = A z; returns q.z.
    fn product_and_sum(&mut self, q: &mut Slice<S, f64>) -> Result<f64> {
        self.system.operator.apply_dot(self.space, S::Memory::slice_mut(self.z), q, self.sums, 0)?;
        let mut sum = [0.0];
        self.sum(&mut sum)?;
        self.finite("z.Az", sum[0])?;
        Ok(sum[0])
    }

    /// q = alpha z + beta w
    fn scale_z(&mut self, alpha: f64, beta: f64, w: &Slice<S, f64>, q: &mut Slice<S, f64>) -> Result<()> {
        self.space.axpby(self.n(), alpha, S::Memory::slice(self.z), beta, w, q)
    }
}
