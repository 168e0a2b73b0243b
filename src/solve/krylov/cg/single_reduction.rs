//! Single-reduction CG (Chronopoulos and Gear 1989): one all-reduce per iteration.
//!
//! ```text
//! state from r.r;  beta, alpha from gamma, delta
//! p = u + beta p,  s = w + beta s,  x += alpha p,  r -= alpha s,  r.r      single_step; s = A p
//! u = M^-1 r,  gamma = r.u                                                 preconditioner, dot; not for M = I, where u = r
//! w = A u,  delta = w.u                                                    apply_dot
//! gamma, delta, r.r                                                        all-reduce
//! ```
//! Memory traffic per iteration and unknown without a preconditioner, for 27 entries per row: product and delta 348 bytes, update
//! 72; together 420 bytes and 66 flops, as classic CG. Convergence is known after the all-reduce, so a solve makes one product
//! more.
//!
//! s follows its recurrence. Every 64 iterations s = A p is computed, with u.s and p.s from which the next
//! update takes beta: 1 product, 2 dot products and 1 all-reduce.

use super::solve::Solve;
use super::{CgSlot, CgSteps, FusedSlot, Parts, SingleVectors};
use crate::Result;

impl<S: CgSteps> Solve<'_, S> {
    /// r = b - A x, p = s = 0, and the sums.
    pub(super) fn single_start(&mut self) -> Result<()> {
        self.work.sums.stop = Some(CgSlot::STATE);
        self.residual()?;
        let Parts { p, s, .. } = self.work.parts();
        self.space.fill(self.n, 0.0, p)?;
        self.space.fill(self.n, 0.0, s)?;
        self.single_again()
    }

    /// One iteration.
    pub(super) fn single_iteration(&mut self) -> Result<()> {
        let Parts { p, q: w, r, s, z: u, sums, .. } = self.work.parts();
        let u = (!self.m.is_identity()).then_some(&*u);
        self.space.single_step(self.n, SingleVectors { u, w, p, s, x: self.x, r }, sums)?;
        self.single_product()
    }

    /// u = M^-1 r, w = A u, and the sums over all ranks of gamma, delta and the r.r that is there.
    fn single_product(&mut self) -> Result<()> {
        let Solve { space, a, m, comm, work, .. } = self;
        let (n, space) = (self.n, *space);
        let Parts { q: w, r, z: u, sums, .. } = work.parts();
        if m.is_identity() {
            a.apply_dot(space, r, w, sums, FusedSlot::DELTA)?;
        } else {
            m.apply(space, n, r, u)?;
            space.dot(n, r, u, sums, FusedSlot::GAMMA)?;
            a.apply_dot(space, u, w, sums, FusedSlot::DELTA)?;
        }
        sums.complete(space, *comm, FusedSlot::sums(m.is_identity()))
    }

    /// u, w and all sums for an r that no update computed.
    fn single_again(&mut self) -> Result<()> {
        let Parts { r, sums, .. } = self.work.parts();
        self.space.dot(self.n, r, r, sums, FusedSlot::RR)?;
        self.reductions += 1;
        self.single_product()
    }

    /// s = A p, u.s and p.s. `is_new`: r was computed from x.
    pub(super) fn single_refresh(&mut self, is_new: bool) -> Result<()> {
        if is_new {
            self.single_again()?;
        }
        let Solve { space, n, a, m, comm, work, reductions, .. } = self;
        let Parts { p, r, s, z: u, sums, .. } = work.parts();
        a.apply_dot(space, p, s, sums, FusedSlot::PS)?;
        space.dot(*n, if m.is_identity() { r } else { u }, s, sums, FusedSlot::US)?;
        *reductions += 1;
        sums.complete(space, *comm, FusedSlot::US..FusedSlot::PS + 1)
    }
}
