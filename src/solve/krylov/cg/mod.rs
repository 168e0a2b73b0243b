//! The conjugate gradient method in two variants, written once for every space.
//!
//! [`CgVariant`] compares them; `classic.rs` and `single_reduction.rs` state their formulas. This file holds the loop
//! over their iterations, which enqueues ahead of the convergence checks.
//!
//! Single-reduction CG replaces what rounding spoils:
//! ```text
//! every 64 iterations           the vectors that recurrences stand in for are computed from their definitions
//! p.A p <= 0 by recurrences     the same; still not positive: A is not positive definite
//! converged                     r = b - A x; if that is above the target the iteration continues from it, at most twice
//! ```
//! r is replaced at the end only: at every refresh it would cost the iteration its history (a third more iterations for a condition of
//! 1e6), while the drift of r itself is what the last line corrects.

mod classic;
#[cfg(feature = "cuda")]
mod cuda;
mod host;
mod params;
#[cfg(test)]
pub(super) mod precondition_tests;
#[cfg(test)]
mod rank_tests;
#[cfg(feature = "cuda")]
mod single_launch;
mod single_reduction;
mod solve;
mod state;
#[cfg(test)]
mod tests;
mod variant;
#[cfg(test)]
pub(super) mod variant_tests;
mod workspace;

pub use params::CgParams;
pub use state::{CgDirection, CgSlot, CgState, CgStep, CgSteps, FusedSlot, SingleLaunch, SingleVectors};
pub use variant::CgVariant;
pub use workspace::CgWorkspace;
pub(super) use workspace::Parts;
use workspace::{REFRESH, REPLACEMENTS};

use super::{LinearSystem, SolveInfo};
use crate::blas::agreed;
use crate::solve::Reason;
use crate::solve::reason::is_zero;
use crate::space::{MemorySpace, Slice};
use crate::{Error, Result};
use solve::Solve;
use std::collections::VecDeque;

/// Solves A x = b from the given x. Calls `observe(iteration, ||r||)` at each convergence check, that is every
/// [`CHECK_INTERVAL`](CgSteps::CHECK_INTERVAL) iterations, at most 2 with a costly preconditioner, and at the end; an error of it ends the solve, which returns it.
///
/// A right-hand side of exactly 0 gives x = 0 ([`Reason::Zero`]), unless an absolute tolerance is given. [`CgParams::exactly`] asks for a number of iterations instead of a
/// tolerance ([`Reason::Iterations`]).
///
/// For a given number of ranks the result is deterministic, whatever the number of threads. Iterations are enqueued ahead of the
/// convergence checks. Those enqueued after convergence change nothing, so count and x do not depend on when the host checks.
///
/// # Errors
/// [`Error::NotConverged`] at the limit, [`Error::Breakdown`] if p.Ap <= 0, [`Error::NotFinite`] for a NaN or infinity, each with
/// iteration and residual; [`Error::Underflow`] if the square of ||b|| or of the target underflows and b is not 0. x then holds the
/// last iterate, and [`CgWorkspace::stopped`] has the numbers of the solve. Before the solve [`Error::Shape`] unless x and b have an item
/// per row or per column of the operator and the workspace was made for its sizes, [`Error::Invalid`] for a tolerance that is NaN
/// or an absolute one that is negative. Memory for a preconditioner that fails on one rank, at the first solve, ends all.
pub fn cg<S: CgSteps>(
    space: &S,
    system: &mut LinearSystem<'_, S>,
    x: &mut Slice<S, f64>,
    params: CgParams,
    work: &mut CgWorkspace<S>,
    observe: &mut dyn FnMut(usize, f64) -> Result<()>,
) -> Result<SolveInfo> {
    Solve::new(space, system, x, work, None).run(params, observe)
}

/// Does as [`cg`] with all iterations in one launch of a device, planned by [`CgSteps::single_launch`] for the operator of the system.
///
/// # Errors
/// Those of [`cg`]; [`Error::Invalid`] for a preconditioner, several ranks or a workspace of another variant than classic CG.
pub fn cg_single_launch<S: CgSteps>(
    space: &S,
    launch: &SingleLaunch<'_, S>,
    system: &mut LinearSystem<'_, S>,
    x: &mut Slice<S, f64>,
    params: CgParams,
    work: &mut CgWorkspace<S>,
    observe: &mut dyn FnMut(usize, f64) -> Result<()>,
) -> Result<SolveInfo> {
    if !system.preconditioner.is_identity() || !system.comm.is_alone() || work.variant != CgVariant::Classic {
        let expected = "expected no preconditioner, 1 rank and a workspace for classic CG";
        return Err(Error::Invalid(format!("CG in one launch: {expected}")));
    }
    Solve::new(space, system, x, work, Some(launch)).run(params, observe)
}

impl<S: CgSteps> Solve<'_, S> {
    /// The solve from the first norm to its numbers.
    fn run(mut self, params: CgParams, observe: &mut dyn FnMut(usize, f64) -> Result<()>) -> Result<SolveInfo> {
        self.check(params)?;
        let Solve { space, n, a, m, comm, work, .. } = &mut self;
        if !m.is_identity() {
            agreed(*comm, work.precondition(space, *n, a.columns()))?;
        }
        work.stopped = None;
        match work.variant {
            CgVariant::Classic => comm.attach(&mut work.sums),
            // One message carries all sums of an iteration, so no kernel adds a sum over the ranks by itself.
            CgVariant::SingleReduction => work.sums.collective = None,
        }
        let solved = self.complete(params, CgSlot::RR[0], observe);
        // Detached: later sums are local until a caller attaches again.
        self.work.sums.collective = None;
        if solved.as_ref().is_err_and(Error::is_collective) {
            let space = self.space;
            let scalars = space.finish_read(space.begin_read(&self.work.sums.scalars)?)?;
            let (iterations, residual) = progress(&scalars);
            let (rhs, target) = (scalars[CgSlot::RHS], scalars[CgSlot::TARGET]);
            let info = SolveInfo { iterations, residual, rhs, target, ..SolveInfo::default() };
            self.work.stopped = Some(self.counted(info));
        }
        let mut info = solved?;
        if info.reason == Reason::RelativeTolerance && params.target(0.0) == info.target {
            info.reason = Reason::AbsoluteTolerance;
        }
        if info.reason == Reason::Zero {
            return Ok(SolveInfo { variant: self.work.variant, ..info });
        }
        Ok(self.counted(info))
    }

    /// Refuses vectors and a workspace of other sizes than the operator's, and a tolerance that is no number.
    fn check(&self, params: CgParams) -> Result<()> {
        let sizes @ [rows, columns] = [self.n, self.a.columns()];
        for (array, len) in [("x", S::Memory::len(&*self.x)), ("rhs", S::Memory::len(self.b))] {
            // With or without room for ghosts.
            if !sizes.contains(&len) {
                return Err(Error::length("cg", array, len, rows));
            }
        }
        let actual = self.work.sizes();
        if actual != sizes {
            let (actual, expected) = (actual.to_vec(), vec![rows, columns]);
            return Err(Error::Shape {
                operation: "cg",
                array: "work (rows and columns of its operator)",
                actual,
                expected,
            });
        }
        if params.tolerance.is_nan() {
            return Err(Error::Invalid("cg: the tolerance is NaN; expected a number".into()));
        }
        if params.absolute.is_nan() || params.absolute < 0.0 {
            let value = params.absolute;
            return Err(Error::Invalid(format!(
                "cg: the absolute tolerance is {value}; expected a number that is not negative"
            )));
        }
        Ok(())
    }

    /// Adds variant and number of all-reduces to the numbers of a solve.
    fn counted(&self, info: SolveInfo) -> SolveInfo {
        let reductions = self.reductions + self.reductions_of(info.iterations);
        SolveInfo { variant: self.work.variant, one_launch: self.launch.is_some(), reductions, ..info }
    }

    /// All of the solve. A given number of iterations is completed from the last iterate if r.r underflows.
    fn complete(
        &mut self,
        params: CgParams,
        rr: usize,
        observe: &mut dyn FnMut(usize, f64) -> Result<()>,
    ) -> Result<SolveInfo> {
        let mut done = 0;
        loop {
            let rest = CgParams { max_iterations: params.max_iterations - done, ..params };
            let observe = &mut |iteration, norm| observe(done + iteration, norm);
            let info = self.whole(rest, rr, observe)?;
            done += info.iterations;
            let is_early = info.reason == Reason::Iterations && done < params.max_iterations;
            if !is_early || info.iterations == 0 {
                return Ok(SolveInfo { iterations: done, ..info });
            }
        }
    }

    /// The solve from the x that is there, until a criterion ends it.
    fn whole(
        &mut self,
        params: CgParams,
        rr: usize,
        observe: &mut dyn FnMut(usize, f64) -> Result<()>,
    ) -> Result<SolveInfo> {
        // The state of the last solve would switch these sums off.
        self.work.sums.stop = None;
        let (space, sums) = (self.space, &mut self.work.sums);
        space.dot(self.n, self.b, self.b, sums, rr)?;
        sums.complete(space, self.comm, rr..rr + 1)?;
        space.cg_begin(params, rr, sums)?;
        self.start()?;
        // Iterations enqueued after the end must change nothing. All ranks derive the state from the same bits, so they stop
        // together.
        if let Some(launch) = self.launch {
            let Parts { r, sums, .. } = self.work.parts();
            launch(space, self.x, r, sums)?;
        }
        self.iterate(observe)
    }

    /// Computes r = b - A x and what the first iteration needs.
    fn start(&mut self) -> Result<()> {
        match self.work.variant {
            CgVariant::Classic => self.classic_start(),
            CgVariant::SingleReduction => self.single_start(),
        }
    }

    /// Enqueues one iteration.
    fn iteration(&mut self, iteration: usize) -> Result<()> {
        match self.work.variant {
            CgVariant::Classic => self.classic_iteration(iteration),
            CgVariant::SingleReduction => self.single_iteration(),
        }
    }

    /// Enqueues batches of iterations and reads the state after each, until it is not 0.
    fn iterate(&mut self, observe: &mut dyn FnMut(usize, f64) -> Result<()>) -> Result<SolveInfo> {
        let space = self.space;
        // The next batch runs while the host reads the scalars of the last one. After a solve in one launch no batch is needed.
        let (interval, in_flight) = match (&self.launch, self.m.is_costly()) {
            (Some(_), _) => (S::CHECK_INTERVAL, 0),
            (None, false) => (S::CHECK_INTERVAL, S::CHECKS_IN_FLIGHT),
            (None, true) => (S::CHECK_INTERVAL.min(2), 0),
        };
        // Staged exchanges and all-reduces need the host within an iteration; peer memory and NCCL do not.
        let recordable = self.a.is_recordable() && self.m.is_recordable() && self.comm.is_recordable();
        let mut checks = VecDeque::with_capacity(in_flight + 1);
        let (mut recording, mut enqueued, mut seen) = (S::Recording::default(), 0, 0);
        let (mut since_refresh, mut replacements, mut replaced_at) = (0, 0, 0);
        loop {
            checks.push_back(space.begin_read(&self.work.sums.scalars)?);
            if checks.len() > in_flight
                && let Some(check) = checks.pop_front()
            {
                let scalars = space.finish_read(check)?;
                let (count, residual) = progress(&scalars);
                if count > seen {
                    observe(count, residual)?;
                    seen = count;
                }
                let end = end(&scalars);
                if end.is_some() {
                    self.comm.check()?;
                }
                match end {
                    None if CgState::of(scalars[CgSlot::STATE]) == CgState::Drifted => {
                        self.comm.check()?;
                        // Iterations enqueued meanwhile did nothing.
                        checks.clear();
                        self.refresh(true, false)?;
                        since_refresh = 0;
                    }
                    None => {}
                    Some(Ok(info))
                        if info.reason == Reason::RelativeTolerance
                            && self.follows_recurrences()
                            && replacements < REPLACEMENTS
                            && count > replaced_at =>
                    {
                        checks.clear();
                        if let Some(end) = self.replace_residual(count)? {
                            return end;
                        }
                        (replacements, replaced_at, since_refresh) = (replacements + 1, count, 0);
                    }
                    // The norm of b is 0 or nearly so: b may be 0 itself, and then x is.
                    Some(Err(Error::Underflow { .. })) if self.is_zero()? => {
                        space.fill(self.n, 0.0, self.x)?;
                        return Ok(SolveInfo { reason: Reason::Zero, ..SolveInfo::default() });
                    }
                    Some(end) => return end,
                }
            }
            if self.follows_recurrences() && since_refresh >= REFRESH {
                self.refresh(false, false)?;
                since_refresh = 0;
            }
            let iterations = enqueued..enqueued + interval;
            let mut work = || iterations.clone().try_for_each(|iteration| self.iteration(iteration));
            if recordable {
                space.repeat(&mut recording, work)?
            } else {
                work()?
            }
            enqueued += interval;
            since_refresh += interval;
        }
    }

    /// Whether vectors follow recurrences that drift.
    fn follows_recurrences(&self) -> bool {
        self.work.variant != CgVariant::Classic
    }

    /// Computes the vectors that follow recurrences from their definitions; with `resume` also once the state is set. `is_new`: r
    /// was computed from x.
    fn refresh(&mut self, resume: bool, is_new: bool) -> Result<()> {
        self.space.fused_refresh(resume, &mut self.work.sums)?;
        match self.work.variant {
            CgVariant::Classic => Ok(()),
            CgVariant::SingleReduction => self.single_refresh(is_new),
        }
    }

    /// r = b - A x after `count` iterations, and the result if the state that follows ends the solve.
    fn replace_residual(&mut self, count: usize) -> Result<Option<Result<SolveInfo>>> {
        let (space, n, slot) = (self.space, self.n, CgSlot::RR[count % 2]);
        space.fused_refresh(true, &mut self.work.sums)?;
        self.residual()?;
        let Parts { r, sums, .. } = self.work.parts();
        space.dot(n, r, r, sums, slot)?;
        sums.complete(space, self.comm, slot..slot + 1)?;
        self.reductions += 1;
        space.cg_check(slot, sums)?;
        let end = end(&space.finish_read(space.begin_read(&sums.scalars)?)?);
        if end.is_none() {
            self.refresh(false, true)?;
        }
        Ok(end)
    }

    /// Whether b is exactly 0.
    fn is_zero(&mut self) -> Result<bool> {
        let Parts { q, sums, .. } = self.work.parts();
        is_zero(self.space, self.comm, self.n, self.b, q, sums, CgSlot::RR[0])
    }

    /// All-reduces of `iterations` iterations.
    fn reductions_of(&self, iterations: usize) -> usize {
        match self.work.variant {
            // Of the launch: one before the first iteration.
            CgVariant::Classic if self.launch.is_some() => iterations + 1,
            CgVariant::Classic => iterations * if self.m.is_identity() { 2 } else { 3 },
            CgVariant::SingleReduction => iterations,
        }
    }
}

/// Number of iterations done and ||r||.
fn progress(scalars: &[f64]) -> (usize, f64) {
    let count = scalars[CgSlot::COUNT] as usize;
    (count, scalars[CgSlot::RR[count % 2]].sqrt())
}

/// A norm whose square has lost its last digits to underflow.
const VANISHED: f64 = 1e-150;

/// The result that a state stands for; `None` while the iteration continues.
fn end(scalars: &[f64]) -> Option<Result<SolveInfo>> {
    let (iterations, residual) = progress(scalars);
    let (rhs, curvature) = (scalars[CgSlot::RHS], scalars[CgSlot::PQ]);
    let target = scalars[CgSlot::TARGET];
    let reached = SolveInfo { iterations, residual, rhs, target, ..SolveInfo::default() };
    let not_finite = |quantity, value, iteration| Error::NotFinite { method: "CG", quantity, value, iteration };
    let is_counted = scalars[CgSlot::TARGET] < 0.0;
    Some(match CgState::of(scalars[CgSlot::STATE]) {
        CgState::Running | CgState::Drifted => return None,
        CgState::Converged => Ok(reached),
        CgState::LimitReached if is_counted => Ok(SolveInfo { reason: Reason::Iterations, ..reached }),
        // p.q is 0, or a quotient of zeros, since r.r underflows: x is as good as it gets.
        CgState::Breakdown | CgState::NotFinite if is_counted && residual < VANISHED => {
            Ok(SolveInfo { reason: Reason::Iterations, ..reached })
        }
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
