//! Classic CG (Hestenes and Stiefel 1952) in three fused steps per iteration.
//!
//! ```text
//! q = A p,            p.q                                        apply_dot, all-reduce
//! alpha = r.z / p.q,  x += alpha p,  r -= alpha q,  r.r          cg_step, all-reduce
//! z = M^-1 r,         r.z                                        preconditioner, dot, all-reduce; not for M = I, where z = r
//! beta = r.z / (r.z of the iteration before),  p = z + beta p    cg_direction
//! ```
//! Memory traffic per iteration and unknown without a preconditioner, for 27 entries per row: product and p.q 348 bytes, step 48,
//! direction 24; together 420 bytes and 64 flops. Two all-reduces.

use super::solve::Solve;
use super::{CgDirection, CgSlot, CgStep, CgSteps, Parts};
use crate::Result;

/// Slots of r.z: without a preconditioner r.z is r.r.
const fn rz(is_identity: bool) -> [usize; 2] {
    if is_identity { CgSlot::RR } else { CgSlot::RZ }
}

impl<S: CgSteps> Solve<'_, S> {
    /// r = b - A x, p = z = M^-1 r, r.r, r.z, and the state.
    pub(super) fn classic_start(&mut self) -> Result<()> {
        let Solve { space, a, m, comm, b, x, work, reductions, .. } = self;
        let (n, space) = (self.n, *space);
        let Parts { p, q, r, z, sums, .. } = work.parts();
        let [rr, _] = CgSlot::RR;
        // p carries x through the first product: it has room for the ghosts.
        space.copy(n, x, p)?;
        a.apply(space, p, q)?;
        space.axpby(n, 1.0, b, -1.0, q, r)?;
        space.dot(n, r, r, sums, rr)?;
        sums.complete(space, *comm, rr..rr + 1)?;
        *reductions += 1;
        if m.is_identity() {
            space.copy(n, r, p)?;
        } else {
            let [rz, _] = CgSlot::RZ;
            m.apply(space, n, r, z)?;
            space.dot(n, r, z, sums, rz)?;
            sums.complete(space, *comm, rz..rz + 1)?;
            *reductions += 1;
            space.copy(n, z, p)?;
        }
        space.cg_check(rr, sums)?;
        sums.stop = Some(CgSlot::STATE);
        Ok(())
    }

    /// One iteration.
    pub(super) fn classic_iteration(&mut self, iteration: usize) -> Result<()> {
        let Solve { space, a, m, comm, x, work, .. } = self;
        let (n, space) = (self.n, *space);
        let Parts { p, q, r, z, sums, .. } = work.parts();
        // Old and new r.r alternate. A recorded batch is replayed with its slots, so its length is even.
        let (now, next) = (iteration % 2, (iteration + 1) % 2);
        let rz = rz(m.is_identity());
        // q = A p, p.q
        a.apply_dot(space, p, q, sums, CgSlot::PQ)?;
        sums.complete(space, *comm, CgSlot::PQ..CgSlot::PQ + 1)?;
        // alpha = r.z / p.q; x += alpha p; r -= alpha q; r.r
        let step = CgStep { rz: rz[now], rr: CgSlot::RR[next], p: &*p, q: &*q, x: &mut **x, r: &mut *r };
        space.cg_step(n, step, sums)?;
        sums.complete(space, *comm, CgSlot::RR[next]..CgSlot::RR[next] + 1)?;
        // beta = r.z / old r.z; p = z + beta p
        if !m.is_identity() {
            m.apply(space, n, r, z)?;
            space.dot(n, r, z, sums, rz[next])?;
            sums.complete(space, *comm, rz[next]..rz[next] + 1)?;
        }
        let z = if m.is_identity() { r } else { z };
        let direction = CgDirection { rr: CgSlot::RR[next], top: rz[next], bottom: rz[now], z, p };
        space.cg_direction(n, direction, sums)
    }
}
