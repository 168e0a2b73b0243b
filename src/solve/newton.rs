//! Newton's method: solve J(x) delta = F(x), x -= lambda delta, until ||F|| has fallen enough.
//!
//! lambda is 1, or the first of 1, 1/2, 1/4 ... for which ||F|| falls by 1e-4 lambda of itself (backtracking, Armijo's condition).

use super::reason::is_zero;
use super::{Reason, SolveInfo};
use crate::blas::{Blas, Collective, Reductions};
use crate::error::check_at_least;
use crate::space::{Array, MemorySpace, Slice};
use crate::{Error, Result};

/// A system of equations F(x) = 0 with its linearisation.
pub trait NonlinearProblem<S: Blas> {
    /// Returns the number of unknowns that this rank owns.
    fn rows(&self) -> usize;

    /// Computes residual = F(x), and J(x) for the next [`solve`](Self::solve). Refreshes the ghosts of x first.
    ///
    /// # Errors
    /// Whatever stops an assembly.
    fn assemble(&mut self, x: &mut Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<()>;

    /// Computes residual = F(x) where J(x) may not be needed, and returns whether J(x) was computed too.
    ///
    /// # Errors
    /// Whatever stops an assembly.
    fn residual(&mut self, x: &mut Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<bool> {
        self.assemble(x, residual).map(|()| true)
    }

    /// Returns whether [`improve_start`](Self::improve_start) may find a better start: J at the first x then is not computed before.
    fn improves_start(&self) -> bool {
        false
    }

    /// Replaces x by a better start, whose residual is compared with that of x, and returns whether it did. Called once, at the first x, if
    /// solves are inexact.
    ///
    /// # Errors
    /// Whatever stops the search for it.
    fn improve_start(&mut self, _x: &mut Slice<S, f64>) -> Result<bool> {
        Ok(false)
    }
    /// Solves J delta = residual: to the relative residual `forcing` if Newton's method gives one, else to a tolerance of its own. x is
    /// that of the last assembly.
    ///
    /// # Errors
    /// Whatever stops a linear solve.
    fn solve(
        &mut self,
        x: &Slice<S, f64>,
        residual: &Slice<S, f64>,
        delta: &mut Slice<S, f64>,
        forcing: Option<f64>,
    ) -> Result<SolveInfo>;
}

/// Stopping criteria of Newton's method.
#[derive(Clone, Copy, Debug)]
pub struct NewtonParams {
    /// Bound of ||F|| / ||F at the start||.
    pub tolerance: f64,
    /// Bound of ||F||: the target is max(tolerance ||F at the start||, absolute). 0 stands for none.
    pub absolute: f64,
    /// Number of steps after which Newton's method gives up.
    pub max_iterations: usize,
    /// Whether the limit ends the method with [`Reason::Iterations`] instead of an error.
    pub ends_at_limit: bool,
    /// Number of times that a step may be halved until ||F|| falls; 0: full steps, whatever ||F||. Each halving is an assembly.
    pub max_halvings: usize,
    /// Whether each linear solve is only as accurate as the step can use.
    pub is_inexact: bool,
}

impl NewtonParams {
    /// Bounds ||F|| / ||F at the start|| and the steps. Steps may be halved 10 times, and each is solved to the tolerance of the linear
    /// solver.
    pub const fn new(tolerance: f64, max_iterations: usize) -> Self {
        NewtonParams {
            tolerance,
            absolute: 0.0,
            max_iterations,
            ends_at_limit: false,
            max_halvings: 10,
            is_inexact: false,
        }
    }

    /// Norm of F to reach for that at the start.
    fn target(&self, initial: f64) -> f64 {
        let relative = self.tolerance * initial;
        relative.max(self.absolute)
    }
}

/// Part of its length by which a step lets ||F|| fall at least.
const DECREASE: f64 = 1e-4;

/// Forcing term of the first step, and largest of all.
const FIRST: f64 = 1e-2;

/// Part of Newton's target to which the last step is solved: steps that are solved to a fixed tolerance end as far below it, which leaves an
/// algebraic error well below that of the discretisation.
const BEYOND: f64 = 0.01;

/// Returns the relative residual to which a step is solved: choice 2 of Eisenstat and Walker (1996), gamma = 0.9, alpha = 2, but no
/// further than [`BEYOND`] below what reaches Newton's own target. Their safeguard begins at forcing terms above [`FIRST`].
fn forcing(norm: f64, before: Option<f64>, target: f64, first: f64) -> f64 {
    let wanted = before.map_or(first, |before| 0.9 * (norm / before).powi(2));
    wanted.min(FIRST).max(BEYOND * target / norm)
}

/// One Newton step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonStep {
    /// ||F|| before the step.
    pub residual: f64,
    /// Part of the step that was taken: 1, or 2^-k after k halvings.
    pub length: f64,
    /// The linear solve of this step.
    pub linear: SolveInfo,
}

/// Result of Newton's method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewtonInfo {
    /// The steps taken.
    pub steps: Vec<NewtonStep>,
    /// ||F|| at the given start.
    pub initial_residual: f64,
    /// Whether the steps began at a better start that the problem found.
    pub is_improved: bool,
    /// ||F|| at the end.
    pub residual: f64,
    /// Why the iteration ended.
    pub reason: Reason,
}

/// Returns the bytes of x, F and a step.
pub fn newton_bytes(rows: u64, columns: u64) -> u64 {
    8 * columns + 16 * rows
}

/// Solves F(x) = 0 from the given x; `observe(step, ||F||)` is called for each x, and an error of it ends the iteration. Records its history in `info`, even if it fails:
/// the steps taken, the first and the last residual. x then is the iterate of the last residual.
///
/// # Errors
/// [`Error::OutOfMemory`] on this rank alone; [`Error::Shape`] for a short x and [`Error::Invalid`] for a tolerance that is negative or not finite, before any message: all ranks have to
/// make the same mistake, or none. [`Error::NotConverged`] at the limit unless that ends it, and where ||F|| does not fall along a step;
/// [`Error::NotFinite`] for a NaN or infinity in ||F||; [`Error::Underflow`] if the square of ||F|| at the start or of the target underflows and F is not 0; and what the
/// problem returns.
pub fn newton<S: Blas>(
    space: &S,
    comm: &dyn Collective<S>,
    problem: &mut impl NonlinearProblem<S>,
    x: &mut Slice<S, f64>,
    params: NewtonParams,
    observe: &mut dyn FnMut(usize, f64) -> Result<()>,
    info: &mut NewtonInfo,
) -> Result<()> {
    *info = NewtonInfo::default();
    let n = problem.rows();
    check_at_least("newton", "x", S::Memory::len(&*x), n)?;
    for (name, value) in [("tolerance", params.tolerance), ("absolute tolerance", params.absolute)] {
        if !(0.0..f64::INFINITY).contains(&value) {
            let expected = "expected a finite number that is not negative";
            return Err(Error::Invalid(format!("newton: the {name} is {value}; {expected}")));
        }
    }
    let (mut residual, mut delta): (Array<S, f64>, Array<S, f64>) = (space.zeros(n)?, space.zeros(n)?);
    let (residual, delta) = (S::Memory::slice_mut(&mut residual), S::Memory::slice_mut(&mut delta));
    let mut sums = Reductions::new(space, n, 1)?;
    let (mut before, mut halvings, mut is_first, mut may_be_last) = (None, 0, true, false);
    loop {
        // F(x), ||F||, and J(x) unless this x may be the last one, or is the start that a better one replaces.
        let is_alone = if is_first { params.is_inexact && problem.improves_start() } else { may_be_last };
        let mut has_jacobian =
            if is_alone { problem.residual(x, residual)? } else { problem.assemble(x, residual).map(|()| true)? };
        let mut square = square_norm(space, comm, n, residual, &mut sums)?;
        if is_first {
            info.initial_residual = square.sqrt();
            if params.is_inexact && square.is_finite() {
                // x is kept in delta, for a start that turns out worse.
                space.copy(n, x, delta)?;
                if problem.improve_start(x)? {
                    let plain = square;
                    problem.assemble(x, residual)?;
                    square = square_norm(space, comm, n, residual, &mut sums)?;
                    info.is_improved = square < plain;
                    if !info.is_improved {
                        space.copy(n, delta, x)?;
                        problem.assemble(x, residual)?;
                        square = square_norm(space, comm, n, residual, &mut sums)?;
                    }
                    has_jacobian = true;
                }
            }
        }
        let norm = square.sqrt();
        if let Some(last) = info.steps.last_mut() {
            // A NaN has not fallen.
            let has_fallen = norm <= (1.0 - DECREASE * last.length) * last.residual;
            if !has_fallen && halvings < params.max_halvings {
                halvings += 1;
                last.length /= 2.0;
                // x -= lambda delta for half the lambda
                space.axpy(n, last.length, delta, x)?;
                continue;
            }
            if !has_fallen && params.max_halvings > 0 && norm.is_finite() {
                info.residual = norm;
                let (iterations, tolerance) = (info.steps.len(), params.target(info.initial_residual));
                return Err(Error::NotConverged {
                    method: "Newton's line search",
                    iterations,
                    residual: norm,
                    tolerance,
                });
            }
        }
        let step = info.steps.len();
        // Before the comparison with the target, which is false for NaN: the next solve would work on a useless Jacobian.
        info.residual = norm;
        if !norm.is_finite() {
            return Err(Error::NotFinite { method: "Newton", quantity: "||F||", value: norm, iteration: step });
        }
        observe(step, norm)?;
        if std::mem::take(&mut is_first) {
            // A norm of 0 may be that of items whose squares underflow.
            if square < f64::MIN_POSITIVE {
                if is_zero(space, comm, n, residual, delta, &mut sums, 0)? {
                    info.reason = Reason::Zero;
                    return Ok(());
                }
                if !is_normal(params.absolute) {
                    return Err(underflow("||F||", norm));
                }
            }
        }
        let target = params.target(info.initial_residual);
        if norm <= target {
            if target == params.absolute {
                info.reason = Reason::AbsoluteTolerance;
            }
            return if is_normal(target) { Ok(()) } else { Err(underflow("tolerance ||F||", target)) };
        }
        // The limit is tested after the target, so that the last step allowed may converge.
        if step == params.max_iterations && params.ends_at_limit {
            info.reason = Reason::Iterations;
            return Ok(());
        }
        if step == params.max_iterations {
            return Err(Error::NotConverged { method: "Newton", iterations: step, residual: norm, tolerance: target });
        }
        // J delta = F, x -= delta
        // A step from an improved start may be the last one, and is solved as far as that.
        let first = if info.is_improved { 0.0 } else { FIRST };
        let forcing = params.is_inexact.then(|| forcing(norm, before, target, first));
        may_be_last = forcing.is_some_and(|forcing| {
            forcing * norm <= target || (params.ends_at_limit && step + 1 == params.max_iterations)
        });
        if !has_jacobian {
            problem.assemble(x, residual)?;
        }
        let linear = problem.solve(x, residual, delta, forcing)?;
        before = Some(norm);
        // Owned unknowns only; the next assembly refreshes the ghosts.
        space.axpy(n, -1.0, delta, x)?;
        halvings = 0;
        info.steps.push(NewtonStep { residual: norm, length: 1.0, linear });
    }
}

/// Returns ||F||^2.
fn square_norm<S: Blas>(
    space: &S,
    comm: &dyn Collective<S>,
    n: usize,
    residual: &Slice<S, f64>,
    sums: &mut Reductions<S>,
) -> Result<f64> {
    space.dot(n, residual, residual, sums, 0)?;
    sums.totals(space, comm).map(|[square]| square)
}

/// Whether the square of a norm is a normal number.
fn is_normal(norm: f64) -> bool {
    norm * norm >= f64::MIN_POSITIVE
}

fn underflow(quantity: &'static str, value: f64) -> Error {
    Error::Underflow { method: "Newton", quantity, value }
}

#[cfg(test)]
mod tests;
