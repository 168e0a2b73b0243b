//! The conjugate gradient method (Hestenes and Stiefel 1952) in three fused steps per iteration.
//!
//! ```text
//! q = A p,            p.q                                        apply_dot, all-reduce
//! alpha = r.z / p.q,  x += alpha p,  r -= alpha q,  r.r          cg_step, all-reduce
//! z = M^-1 r,         r.z                                        preconditioner, dot, all-reduce; not for M = I, where z = r
//! beta = r.z / (r.z of the iteration before),  p = z + beta p    cg_direction
//! ```
//! Memory traffic per iteration and unknown without a preconditioner, for 27 entries per row: product and p.q 348 bytes, step 48,
//! direction 24; together 420 bytes and 64 flops. Two all-reduces.

#[cfg(feature = "cuda")]
mod at_once;
#[cfg(feature = "cuda")]
mod cuda;
mod host;
mod state;
#[cfg(test)]
mod tests;

pub use state::{CgSlot, CgState, CgSteps, CgVectors, Quotient};

use super::{LinearOperator, Preconditioner, SolveInfo};
use crate::blas::Reductions;
use crate::comm::AllReduce;
use crate::solve::Reason;
use crate::solve::reason::is_zero;
use crate::space::Array;
use crate::{Error, Result};
use std::collections::VecDeque;

/// Stopping criteria of CG.
#[derive(Clone, Copy, Debug)]
pub struct CgParams {
    /// Bound of ||r|| / ||b||.
    pub tolerance: f64,
    /// Number of iterations after which CG gives up.
    pub max_iterations: usize,
}

/// Vectors and scalars of CG, allocated once and used by every solve.
#[derive(Clone, Debug)]
pub struct CgWorkspace<S: CgSteps> {
    pub(super) p: Array<S, f64>,
    pub(super) q: Array<S, f64>,
    pub(super) r: Array<S, f64>,
    /// M^-1 r; empty until a preconditioner needs it.
    z: Array<S, f64>,
    /// Length of z.
    z_len: usize,
    pub(super) sums: Reductions<S>,
}

impl<S: CgSteps> CgWorkspace<S> {
    /// Allocates for an operator of `rows` rows and `columns` columns: 24 bytes per row. A preconditioner adds 8 at the first
    /// solve with it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had.
    pub fn new(space: &S, rows: usize, columns: usize) -> Result<Self> {
        let sums = Reductions::new(space, rows, CgSlot::LEN)?;
        let (p, q, r) = (space.zeros(columns)?, space.zeros(rows)?, space.zeros(rows)?);
        Ok(CgWorkspace { p, q, r, z: space.zeros(0)?, z_len: 0, sums })
    }
}

/// The system that CG solves: A x = b, with a preconditioner and the ranks that share the unknowns.
#[derive(Debug)]
pub struct LinearSystem<'a, S: CgSteps, A, M, C: ?Sized> {
    /// A, symmetric positive definite.
    pub operator: A,
    /// M^-1, symmetric positive definite.
    pub preconditioner: M,
    /// The ranks.
    pub comm: &'a C,
    /// b over the owned unknowns.
    pub rhs: &'a Array<S, f64>,
}

/// Solves A x = b from the given x. Calls `observe(iteration, ||r||)` at each convergence check, that is every
/// [`CHECK_INTERVAL`](CgSteps::CHECK_INTERVAL) iterations and at the end.
///
/// A right-hand side of exactly 0 gives x = 0 ([`Reason::Zero`]).
///
/// For a given number of ranks the result is deterministic, whatever the number of threads. Iterations are enqueued ahead of the
/// convergence checks. Those enqueued after convergence change nothing, so count and x do not depend on when the host checks.
///
/// # Errors
/// [`Error::NotConverged`] at the limit, [`Error::Breakdown`] if p.Ap <= 0, [`Error::NotFinite`] for a NaN or infinity, each with
/// iteration and residual; [`Error::Underflow`] if the square of ||b|| or of the target underflows and b is not 0. x then holds the
/// last iterate.
pub fn cg<S: CgSteps, A: LinearOperator<S>, M: Preconditioner<S>, C: AllReduce<S> + ?Sized>(
    space: &S,
    system: &mut LinearSystem<'_, S, A, M, C>,
    x: &mut Array<S, f64>,
    params: CgParams,
    work: &mut CgWorkspace<S>,
    observe: &mut dyn FnMut(usize, f64),
) -> Result<SolveInfo> {
    let LinearSystem { operator: a, preconditioner: m, comm, rhs: b } = system;
    let n = a.rows();
    let CgWorkspace { p, q, r, z, z_len, sums } = work;
    // Without a preconditioner r.z is r.r.
    let rz = if M::IS_IDENTITY { CgSlot::RR } else { CgSlot::RZ };
    if !M::IS_IDENTITY && *z_len < n {
        (*z, *z_len) = (space.zeros(n)?, n);
    }

    // ||b||
    let [rr, _] = CgSlot::RR;
    // The state of the last solve would switch these sums off.
    sums.stop = None;
    comm.attach(sums);
    space.dot(n, b, b, sums, rr)?;
    comm.all_reduce(space, sums, rr..rr + 1)?;
    space.cg_begin(params.tolerance, params.max_iterations, rr, sums)?;

    // r = b - A x, p = z = M^-1 r, r.r, r.z
    // p carries x through the first product: it has room for the ghosts.
    space.copy(n, x, p)?;
    a.apply(space, p, q)?;
    space.axpby(n, 1.0, b, -1.0, q, r)?;
    space.dot(n, r, r, sums, rr)?;
    comm.all_reduce(space, sums, rr..rr + 1)?;
    if M::IS_IDENTITY {
        space.copy(n, r, p)?;
    } else {
        m.apply(space, n, r, z)?;
        space.dot(n, r, z, sums, rz[0])?;
        comm.all_reduce(space, sums, rz[0]..rz[0] + 1)?;
        space.copy(n, z, p)?;
    }
    space.cg_check(rr, sums)?;

    // Iterations enqueued after the end must change nothing. All ranks derive the state from the same bits, so they stop together.
    sums.stop = Some(CgSlot::STATE);
    let at_once = M::IS_IDENTITY && a.cg_at_once(space, x, r, sums)?;
    // The next batch runs while the host reads the scalars of the last one. After a solve in one launch no batch is needed.
    let in_flight = if at_once { 0 } else { S::CHECKS_IN_FLIGHT };
    // An exchange of ghosts or an all-reduce over ranks runs on the host, in the middle of an iteration.
    let recordable = a.is_recordable() && comm.is_recordable();
    let mut checks = VecDeque::with_capacity(in_flight + 1);
    let (mut recording, mut enqueued, mut seen) = (S::Recording::default(), 0, 0);
    loop {
        checks.push_back(space.begin_read(&sums.scalars)?);
        if checks.len() > in_flight
            && let Some(check) = checks.pop_front()
        {
            let scalars = space.finish_read(check)?;
            let (count, residual) = progress(&scalars);
            if count > seen {
                observe(count, residual);
                seen = count;
            }
            let end = end(&scalars);
            if end.is_some() {
                // Sums of later callers are their own affair.
                sums.ranks = None;
                comm.check()?;
            }
            match end {
                None => {}
                // The norm of b is 0 or nearly so: b may be 0 itself, and then x is.
                Some(Err(Error::Underflow { .. })) if is_zero(space, *comm, n, b, q, sums, rr)? => {
                    space.fill(n, 0.0, x)?;
                    return Ok(SolveInfo { reason: Reason::Zero, ..SolveInfo::default() });
                }
                Some(end) => return end,
            }
        }
        let iterations = enqueued..enqueued + S::CHECK_INTERVAL;
        let mut work = || {
            for iteration in iterations.clone() {
                // Old and new r.r alternate. A recorded batch is replayed with its slots, so its length is even.
                let (now, next) = (iteration % 2, (iteration + 1) % 2);
                // q = A p, p.q
                a.apply_dot(space, p, q, sums, CgSlot::PQ)?;
                comm.all_reduce(space, sums, CgSlot::PQ..CgSlot::PQ + 1)?;
                // alpha = r.z / p.q; x += alpha p; r -= alpha q; r.r
                let vectors = CgVectors { p: &*p, q: &*q, x: &mut *x, r: &mut *r };
                space.cg_step(n, rz[now], CgSlot::RR[next], vectors, sums)?;
                comm.all_reduce(space, sums, CgSlot::RR[next]..CgSlot::RR[next] + 1)?;
                // beta = r.z / old r.z; p = z + beta p
                let beta = Quotient { top: rz[next], bottom: rz[now] };
                if M::IS_IDENTITY {
                    space.cg_direction(n, CgSlot::RR[next], beta, r, p, a.outgoing(), sums)?;
                } else {
                    m.apply(space, n, r, z)?;
                    space.dot(n, r, z, sums, rz[next])?;
                    comm.all_reduce(space, sums, rz[next]..rz[next] + 1)?;
                    space.cg_direction(n, CgSlot::RR[next], beta, z, p, a.outgoing(), sums)?;
                }
            }
            Ok(())
        };
        if recordable {
            space.repeat(&mut recording, work)?
        } else {
            work()?
        }
        enqueued += S::CHECK_INTERVAL;
    }
}

/// Number of iterations done and ||r||.
fn progress(scalars: &[f64]) -> (usize, f64) {
    let count = scalars[CgSlot::COUNT] as usize;
    (count, scalars[CgSlot::RR[count % 2]].sqrt())
}

/// The result that a state stands for; `None` while the iteration continues.
fn end(scalars: &[f64]) -> Option<Result<SolveInfo>> {
    let (iterations, residual) = progress(scalars);
    let (rhs, curvature) = (scalars[CgSlot::RHS], scalars[CgSlot::PQ]);
    let not_finite = |quantity, value, iteration| Error::NotFinite { method: "CG", quantity, value, iteration };
    Some(match CgState::of(scalars[CgSlot::STATE]) {
        CgState::Running => return None,
        CgState::Converged => Ok(SolveInfo { iterations, residual, rhs, ..SolveInfo::default() }),
        CgState::LimitReached => {
            Err(Error::NotConverged { method: "CG", iterations, residual, tolerance: scalars[CgSlot::TARGET] })
        }
        CgState::Breakdown => Err(Error::Breakdown { iteration: iterations, curvature, residual }),
        CgState::Underflow if iterations == 0 && rhs <= f64::MIN_POSITIVE.sqrt() => {
            Err(Error::Underflow { method: "CG", quantity: "||b||", value: rhs })
        }
        CgState::Underflow => {
            Err(Error::Underflow { method: "CG", quantity: "tolerance ||b||", value: scalars[CgSlot::TARGET] })
        }
        CgState::NotFinite if !rhs.is_finite() => Err(not_finite("||b||", rhs, 0)),
        // The count includes the iteration that computed this r.r; iterations are numbered from 0.
        CgState::NotFinite if !residual.is_finite() => Err(not_finite("||r||", residual, iterations.saturating_sub(1))),
        CgState::NotFinite => Err(not_finite("p.Ap", curvature, iterations)),
    })
}
