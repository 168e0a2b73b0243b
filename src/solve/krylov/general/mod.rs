//! Krylov methods beside CG: GMRES and BiCGStab for any matrix, MINRES for symmetric ones, written once for every space.
//!
//! GMRES and BiCGStab precondition from the right, A M^-1 (M x) = b. The residual of all is b - A x, whatever M is. The host reads their scalars in
//! each iteration; all ranks read the same bits and take the same branches. A solve ends by the residual that is computed from x: where
//! the recurrence has reached the target and b - A x has not, the method starts again from x.

mod bicgstab;
mod gmres;
mod minres;
#[cfg(test)]
mod minres_tests;
#[cfg(test)]
mod reason_tests;
#[cfg(test)]
mod tests;
mod workspace;

use super::cg::CgParams;
use super::{LinearSystem, SolveInfo};
use crate::blas::{Blas, Reductions};
use crate::solve::Reason;
use crate::solve::reason::is_zero;
use crate::space::{Array, MemorySpace, Slice};
use crate::{Error, Result};
pub(crate) use workspace::KrylovWorkspace;

/// Starts without any progress after which a method gives up.
const STARTS: usize = 3;

/// A system with the scratch of its solve and the numbers so far.
struct Solve<'a, 'x, S: Blas> {
    space: &'x S,
    system: &'x mut LinearSystem<'a, S>,
    method: &'static str,
    x: &'x mut Slice<S, f64>,
    z: &'x mut Array<S, f64>,
    sums: &'x mut Reductions<S>,
    params: CgParams,
    info: SolveInfo,
}

impl<'a, 'x, S: Blas> Solve<'a, 'x, S> {
    /// Computes ||b|| and the target. Returns true if x is the solution then, since b is 0.
    fn start(&mut self) -> Result<bool> {
        let (space, n, b) = (self.space, self.n(), self.system.rhs);
        let [square] = self.dots([[b, b]])?;
        self.finite("||b||", square)?;
        (self.info.rhs, self.info.target) = (square.sqrt(), self.params.target(square.sqrt()));
        if square.max(self.params.absolute.powi(2)) < f64::MIN_POSITIVE {
            let scratch = S::Memory::slice_mut(self.z);
            if !is_zero(space, self.system.comm, n, b, scratch, self.sums, 0)? {
                return Err(Error::Underflow { method: self.method, quantity: "||b||", value: self.info.rhs });
            }
            space.fill(n, 0.0, self.x)?;
            self.info.reason = Reason::Zero;
        }
        Ok(self.info.reason == Reason::Zero)
    }

    /// Calls `iterate` from x again until b - A x has reached the target. The first of the K vectors holds b - A x.
    fn restarted<const K: usize>(
        &mut self,
        vectors: &mut [Array<S, f64>],
        mut iterate: impl FnMut(&mut Self, &mut [&mut Slice<S, f64>; K]) -> Result<()>,
    ) -> Result<()> {
        let vectors: &mut [_; K] = vectors.try_into().map_err(|_| self.wrong_workspace())?;
        let mut vectors = vectors.each_mut().map(S::Memory::slice_mut);
        let (mut best, mut idle) = (f64::INFINITY, 0);
        if self.start()? {
            return Ok(());
        }
        while !self.residual(vectors[0])? {
            idle = if self.info.residual < best { 0 } else { idle + 1 };
            if idle == STARTS {
                return Err(self.not_converged());
            }
            best = best.min(self.info.residual);
            iterate(self, &mut vectors)?;
        }
        Ok(())
    }

    /// Number of unknowns of this rank.
    fn n(&self) -> usize {
        self.system.operator.rows()
    }

    /// x.y of each pair, summed over all ranks in one message.
    fn dots<const K: usize>(&mut self, pairs: [[&Slice<S, f64>; 2]; K]) -> Result<[f64; K]> {
        for (slot, [x, y]) in pairs.into_iter().enumerate() {
            self.space.dot(self.n(), x, y, self.sums, slot)?;
        }
        let mut values = [0.0; K];
        self.sum(&mut values)?;
        Ok(values)
    }

    /// Sums the first scalars over all ranks and reads them.
    fn sum(&mut self, values: &mut [f64]) -> Result<()> {
        self.system.comm.all_reduce(self.space, self.sums, 0..values.len())?;
        self.info.reductions += 1;
        self.space.read(&self.sums.scalars, values)
    }

    /// z = M^-1 v.
    fn precondition(&mut self, v: &Slice<S, f64>) -> Result<()> {
        let n = self.n();
        self.system.preconditioner.apply(self.space, n, v, S::Memory::slice_mut(self.z))
    }

    /// z = M^-1 v, w = A z.
    fn product(&mut self, v: &Slice<S, f64>, w: &mut Slice<S, f64>) -> Result<()> {
        self.precondition(v)?;
        self.apply(w)
    }

    /// w = A z. The sum is of no use, but rows without ghosts overlap the messages.
    fn apply(&mut self, w: &mut Slice<S, f64>) -> Result<()> {
        let (space, spare) = (self.space, S::Memory::len(S::Memory::slice(&self.sums.scalars)) - 1);
        self.system.operator.apply_dot(space, S::Memory::slice_mut(self.z), w, self.sums, spare)
    }

    /// x += alpha z.
    fn advance(&mut self, alpha: f64) -> Result<()> {
        self.space.axpy(self.n(), alpha, S::Memory::slice(self.z), self.x)
    }

    /// r = b - A x; returns its norm, and whether that ends the solve.
    fn residual(&mut self, r: &mut Slice<S, f64>) -> Result<bool> {
        let (space, n) = (self.space, self.n());
        space.copy(n, self.x, S::Memory::slice_mut(self.z))?;
        self.apply(r)?;
        // axpby takes no array twice: -(A x) + b in two steps.
        space.copy(n, r, S::Memory::slice_mut(self.z))?;
        space.axpby(n, 1.0, self.system.rhs, -1.0, S::Memory::slice(self.z), r)?;
        let [square] = self.dots([[&*r, &*r]])?;
        self.finite("||r||", square)?;
        self.info.residual = square.sqrt();
        self.has_ended()
    }

    /// Whether ||b - A x|| has reached the target; an error at the limit.
    fn has_ended(&mut self) -> Result<bool> {
        let SolveInfo { iterations, residual, target, .. } = self.info;
        if residual > target {
            return if iterations < self.params.max_iterations { Ok(false) } else { Err(self.not_converged()) };
        }
        if target * target < f64::MIN_POSITIVE {
            return Err(Error::Underflow { method: self.method, quantity: "tolerance ||b||", value: target });
        }
        if self.params.target(0.0) == target {
            self.info.reason = Reason::AbsoluteTolerance;
        }
        Ok(true)
    }

    /// Refuses a workspace of another method.
    fn wrong_workspace(&self) -> Error {
        Error::Invalid(format!("{}: expected the workspace of this method", self.method))
    }

    fn not_converged(&self) -> Error {
        let SolveInfo { iterations, residual, target: tolerance, .. } = self.info;
        Error::NotConverged { method: self.method, iterations, residual, tolerance }
    }

    /// Refuses a sum that is NaN or infinite.
    fn finite(&self, quantity: &'static str, value: f64) -> Result<()> {
        let (method, iteration) = (self.method, self.info.iterations);
        if value.is_finite() { Ok(()) } else { Err(Error::NotFinite { method, quantity, value, iteration }) }
    }
}
