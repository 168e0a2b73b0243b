//! Pipelined CG (Ghysels and Vanroose 2014): one all-reduce per iteration, in flight during preconditioner and product.
//!
//! ```text
//! gamma, delta, r.r                                                        all-reduce begins
//! m = M^-1 w                                                               preconditioner; not for M = I, where m = w
//! n = A m                                                                  product
//!                                                                          all-reduce ends
//! state from r.r;  beta, alpha from gamma, delta
//! z = n + beta z,  q = m + beta q,  s = w + beta s,  p = u + beta p        z = A q, q = M^-1 s, s = A p
//! x += alpha p,  r -= alpha s,  u -= alpha q,  w -= alpha z                u = M^-1 r, w = A u
//! gamma = r.u,  delta = w.u,  r.r                                          all in pipelined_step
//! ```
//! Without a preconditioner u = r, m = w and q = s are not stored. Memory traffic per iteration and unknown then, for 27 entries per
//! row: product 348 bytes, update 104; together 452 bytes and 72 flops. Convergence is known after the next product, so a solve
//! makes one product more.
//!
//! Rounding drives the recurrences of u, w, s, q and z away from what they stand for. Every 64 iterations
//! all are computed anew, with u.s and p.s from which the next update takes beta: 3 products, 5 dot products and 1 all-reduce.

use super::solve::Solve;
use super::{CgSlot, CgSteps, FusedSlot, Parts, PipelinedVectors, PreconditionedVectors};
use crate::Result;
use crate::comm::AllReduce;
use crate::solve::krylov::{LinearOperator, Preconditioner};

impl<S, A, M, C> Solve<'_, S, A, M, C>
where
    S: CgSteps,
    A: LinearOperator<S>,
    M: Preconditioner<S>,
    C: AllReduce<S> + ?Sized,
{
    /// Computes r = b - A x and this rank's sums; sets p, s, q, z to 0.
    pub(super) fn pipelined_start(&mut self) -> Result<()> {
        self.work.sums.stop = Some(CgSlot::STATE);
        self.residual()?;
        let Parts { p, s, z, preconditioned: [_, _, q], sums, .. } = self.work.parts();
        for vector in [p, s, z] {
            self.space.fill(self.n, 0.0, vector)?;
        }
        if !M::IS_IDENTITY {
            self.space.fill(self.n, 0.0, q)?;
        }
        self.space.fused_begin(sums)?;
        self.pipelined_sums()
    }

    /// One iteration.
    pub(super) fn pipelined_iteration(&mut self) -> Result<()> {
        let Solve { space, a, m: preconditioner, comm, x, work, .. } = self;
        let (size, space, slots) = (self.n, *space, FusedSlot::sums(M::IS_IDENTITY));
        let Parts { p, q: n, r, s, w, z, preconditioned: [u, m, q], sums, .. } = work.parts();
        comm.begin(space, sums, slots.clone())?;
        // A product with a dot product stops with the iteration and overlaps the exchange of ghosts.
        if M::IS_IDENTITY {
            a.apply_dot(space, w, n, sums, FusedSlot::UNUSED)?;
        } else {
            preconditioner.apply(space, size, w, m)?;
            a.apply_dot(space, m, n, sums, FusedSlot::UNUSED)?;
        }
        comm.end(space, sums, slots)?;
        let preconditioned = (!M::IS_IDENTITY).then_some(PreconditionedVectors { m, q, u });
        space.pipelined_step(size, PipelinedVectors { preconditioned, n, z, s, p, x, r, w }, sums)
    }

    /// u = M^-1 r, w = A u, and this rank's share of gamma, delta and r.r.
    fn pipelined_sums(&mut self) -> Result<()> {
        let Solve { space, a, m, work, .. } = self;
        let (n, space) = (self.n, *space);
        let Parts { r, w, preconditioned: [u, ..], sums, .. } = work.parts();
        if M::IS_IDENTITY {
            a.apply_dot(space, r, w, sums, FusedSlot::DELTA)?;
        } else {
            m.apply(space, n, r, u)?;
            space.dot(n, r, u, sums, FusedSlot::GAMMA)?;
            a.apply_dot(space, u, w, sums, FusedSlot::DELTA)?;
        }
        space.dot(n, r, r, sums, FusedSlot::RR)
    }

    /// Recomputes u, w, s = A p, q = M^-1 s, z = A q.
    pub(super) fn pipelined_refresh(&mut self) -> Result<()> {
        self.pipelined_sums()?;
        let Solve { space, a, m, comm, work, reductions, .. } = self;
        let (n, space) = (self.n, *space);
        let Parts { p, r, s, z, preconditioned: [u, _, q], sums, .. } = work.parts();
        a.apply_dot(space, p, s, sums, FusedSlot::PS)?;
        space.dot(n, if M::IS_IDENTITY { r } else { u }, s, sums, FusedSlot::US)?;
        comm.all_reduce(space, sums, FusedSlot::US..FusedSlot::PS + 1)?;
        *reductions += 1;
        if M::IS_IDENTITY {
            return a.apply_dot(space, s, z, sums, FusedSlot::UNUSED);
        }
        m.apply(space, n, s, q)?;
        a.apply_dot(space, q, z, sums, FusedSlot::UNUSED)
    }
}
