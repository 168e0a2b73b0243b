//! Newton's method: solve J(x) delta = F(x), x -= delta, until ||F|| has fallen enough.

use super::reason::is_zero;
use super::{Reason, SolveInfo};
use crate::blas::{Blas, Collective, Reductions};
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
    /// Whether each linear solve is only as accurate as the step can use.
    pub is_inexact: bool,
}

impl NewtonParams {
    /// Bounds ||F|| / ||F at the start|| and the steps; every step is solved to the tolerance of the linear solver.
    pub const fn new(tolerance: f64, max_iterations: usize) -> Self {
        NewtonParams { tolerance, absolute: 0.0, max_iterations, ends_at_limit: false, is_inexact: false }
    }
}

/// Forcing term of the first step, and largest of all.
const FIRST: f64 = 1e-2;
/// Part of Newton's target to which the first step from an improved start is solved: it may be the last one.
const AT_ONCE: f64 = 0.1;

/// Part of Newton's target to which the last step is solved: steps that are solved to a fixed tolerance end as far below it, which leaves an
/// algebraic error well below that of the discretisation.
const BEYOND: f64 = 0.01;

/// Returns the relative residual to which a step is solved: choice 2 of Eisenstat and Walker (1996), gamma = 0.9, alpha = 2, with their
/// safeguard against a sudden fall, but no further than [`BEYOND`] below what reaches Newton's own target.
fn forcing(norm: f64, before: Option<(f64, f64)>, target: f64, first: f64) -> f64 {
    let wanted = before.map_or(first, |(norm_before, forcing_before)| {
        let kept = 0.9 * forcing_before * forcing_before;
        let by_decrease = 0.9 * (norm / norm_before).powi(2);
        if kept > 0.1 { by_decrease.max(kept) } else { by_decrease }
    });
    wanted.min(FIRST).max(BEYOND * target / norm)
}

/// One Newton step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonStep {
    /// ||F|| before the step.
    pub residual: f64,
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

/// Returns the bytes of x, ||F|| and a step.
pub fn newton_bytes(rows: u64, columns: u64) -> u64 {
    8 * columns + 16 * rows
}

/// Solves F(x) = 0 from the given x; `observe(step, ||F||)` is called after each assembly. Records its history in `info`, even if it fails:
/// the steps taken, the first and the last residual. x then is the iterate of the last residual.
///
/// # Errors
/// [`Error::NotConverged`] at the limit unless that ends it, [`Error::NotFinite`] for a NaN or infinity in ||F||, [`Error::Underflow`] if the
/// square of ||F|| at the start or of the target underflows and F is not 0, and what the problem returns.
pub fn newton<S: Blas>(
    space: &S,
    comm: &dyn Collective<S>,
    problem: &mut impl NonlinearProblem<S>,
    x: &mut Slice<S, f64>,
    params: NewtonParams,
    observe: &mut dyn FnMut(usize, f64),
    info: &mut NewtonInfo,
) -> Result<()> {
    *info = NewtonInfo::default();
    let n = problem.rows();
    let (mut residual, mut delta): (Array<S, f64>, Array<S, f64>) = (space.zeros(n)?, space.zeros(n)?);
    let (residual, delta) = (S::Memory::slice_mut(&mut residual), S::Memory::slice_mut(&mut delta));
    let mut sums = Reductions::new(space, n, 1)?;
    let mut before = None;
    let mut is_first = true;
    loop {
        // F(x), J(x), ||F||
        let (step, mut square) = (info.steps.len(), assembled(space, comm, problem, x, residual, &mut sums)?);
        if is_first {
            info.initial_residual = square.sqrt();
            if params.is_inexact && square.is_finite() {
                // x is kept in delta, for a start that turns out worse.
                space.copy(n, x, delta)?;
                if problem.improve_start(x)? {
                    let plain = square;
                    square = assembled(space, comm, problem, x, residual, &mut sums)?;
                    info.is_improved = square < plain;
                    if !info.is_improved {
                        space.copy(n, delta, x)?;
                        square = assembled(space, comm, problem, x, residual, &mut sums)?;
                    }
                }
            }
        }
        let norm = square.sqrt();
        // Before the comparison with the target, which is false for NaN: the next solve would work on a useless Jacobian.
        info.residual = norm;
        if !norm.is_finite() {
            return Err(Error::NotFinite { method: "Newton", quantity: "||F||", value: norm, iteration: step });
        }
        observe(step, norm);
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
        let relative = params.tolerance * info.initial_residual;
        let target = relative.max(params.absolute);
        if norm <= target {
            if params.absolute > relative {
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
        let first = if info.is_improved { AT_ONCE * target / norm } else { FIRST };
        let forcing = params.is_inexact.then(|| forcing(norm, before, target, first));
        let linear = problem.solve(x, residual, delta, forcing)?;
        before = forcing.map(|forcing| (norm, forcing));
        // Owned unknowns only; the next assembly refreshes the ghosts.
        space.axpy(n, -1.0, delta, x)?;
        info.steps.push(NewtonStep { residual: norm, linear });
    }
}

/// Computes F(x) and J(x); returns ||F||^2.
fn assembled<S: Blas>(
    space: &S,
    comm: &dyn Collective<S>,
    problem: &mut impl NonlinearProblem<S>,
    x: &mut Slice<S, f64>,
    residual: &mut Slice<S, f64>,
    sums: &mut Reductions<S>,
) -> Result<f64> {
    problem.assemble(x, residual)?;
    space.dot(problem.rows(), residual, residual, sums, 0)?;
    comm.all_reduce(space, sums, 0..1)?;
    let mut square = [0.0];
    space.read(&sums.scalars, &mut square)?;
    Ok(square[0])
}

/// Whether the square of a norm is a normal number.
fn is_normal(norm: f64) -> bool {
    norm * norm >= f64::MIN_POSITIVE
}

fn underflow(quantity: &'static str, value: f64) -> Error {
    Error::Underflow { method: "Newton", quantity, value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::space::{Serial, Threads};

    fn run(problem: &mut impl NonlinearProblem<Threads>, x: &mut [f64], params: NewtonParams) -> Result<NewtonInfo> {
        let mut info = NewtonInfo::default();
        newton(&Serial, &Solo, problem, x, params, &mut |_, _| {}, &mut info).map(|()| info)
    }

    /// x_i^2 = c_i, each by itself.
    struct Roots {
        squares: Vec<f64>,
        slope: Vec<f64>,
    }

    impl NonlinearProblem<Threads> for Roots {
        fn rows(&self) -> usize {
            self.squares.len()
        }
        fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
            self.slope = x.iter().map(|x| 2.0 * x).collect();
            residual.iter_mut().zip(x).zip(&self.squares).for_each(|((r, x), c)| *r = *x * *x - c);
            Ok(())
        }
        fn solve(&mut self, _: &[f64], residual: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
            delta.iter_mut().zip(residual).zip(&self.slope).for_each(|((d, r), s)| *d = r / s);
            Ok(SolveInfo { iterations: 1, ..SolveInfo::default() })
        }
    }

    fn roots(start: f64, params: NewtonParams) -> (Vec<f64>, Result<NewtonInfo>) {
        let mut x = vec![start; 2];
        let mut problem = Roots { squares: vec![2.0, 9.0], slope: vec![] };
        let info = run(&mut problem, &mut x, params);
        (x, info)
    }

    const TIGHT: NewtonParams = NewtonParams::new(1e-13, 20);

    #[test]
    fn newton_converges_quadratically_to_square_roots() {
        let (x, info) = roots(4.0, TIGHT);
        let info = info.unwrap();
        assert!((x[0] - 2f64.sqrt()).abs() < 1e-12 && (x[1] - 3.0).abs() < 1e-12);
        assert!(info.steps.len() <= 7 && info.residual <= 1e-13 * info.initial_residual);
        assert!(info.steps.windows(2).all(|two| two[1].residual < two[0].residual));
        let start = [4.0f64 * 4.0 - 2.0, 4.0 * 4.0 - 9.0];
        assert!((info.initial_residual - start[0].hypot(start[1])).abs() < 1e-12);
    }

    #[test]
    fn failures_are_typed() {
        let limit = NewtonParams { max_iterations: 2, ..TIGHT };
        assert!(matches!(roots(40.0, limit).1, Err(Error::NotConverged { method: "Newton", iterations: 2, .. })));
        // The same two steps, without the error.
        let (x, info) = roots(40.0, NewtonParams { ends_at_limit: true, ..limit });
        let info = info.unwrap();
        assert_eq!((info.reason, info.steps.len()), (Reason::Iterations, 2));
        assert!(x[0] > 10.0 && info.residual > 1e-13 * info.initial_residual);
        // A tolerance that is reached at the limit is what ends it.
        let last =
            NewtonParams { max_iterations: roots(4.0, TIGHT).1.unwrap().steps.len(), ends_at_limit: true, ..TIGHT };
        assert_eq!(roots(4.0, last).1.unwrap().reason, Reason::RelativeTolerance);
        assert!(matches!(roots(0.0, TIGHT).1, Err(Error::NotFinite { method: "Newton", iteration: 1, .. })));
    }

    /// x_i = c_i.
    struct Line(f64);
    impl NonlinearProblem<Threads> for Line {
        fn rows(&self) -> usize {
            3
        }
        fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
            residual.iter_mut().zip(x).for_each(|(r, x)| *r = *x - self.0);
            Ok(())
        }
        fn solve(&mut self, _: &[f64], residual: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
            delta.copy_from_slice(residual);
            Ok(SolveInfo::default())
        }
    }

    /// The first residual is -c from 0.
    fn from_zero(c: f64, tolerance: f64) -> Result<NewtonInfo> {
        let params = NewtonParams::new(tolerance, 5);
        run(&mut Line(c), &mut [0.0; 3], params)
    }

    #[test]
    fn a_residual_that_underflows_is_not_converged_and_one_of_zero_is() {
        for c in [1e-200, 1e-155, 5e-324] {
            assert!(matches!(from_zero(c, 0.5), Err(Error::Underflow { quantity: "||F||", .. })), "{c}");
        }
        let bounded = |c, absolute| {
            let params = NewtonParams { absolute, ..NewtonParams::new(0.5, 5) };
            run(&mut Line(c), &mut [0.0; 3], params)
        };
        // An absolute tolerance whose square is a normal number is reached whatever the first residual.
        assert_eq!(bounded(1e-200, 1e-100).unwrap().reason, Reason::AbsoluteTolerance);
        assert!(matches!(bounded(1e-200, 1e-180), Err(Error::Underflow { quantity: "||F||", .. })));
        assert!(matches!(from_zero(1e-100, 1e-60), Err(Error::Underflow { quantity: "tolerance ||F||", .. })));
        let (zero, some) = (from_zero(0.0, 0.5).unwrap(), from_zero(1e-100, 0.5).unwrap());
        assert_eq!((zero.reason, zero.steps.len()), (Reason::Zero, 0));
        assert_eq!((some.reason, some.steps.len()), (Reason::RelativeTolerance, 1));
    }

    /// ||F|| falls by 1000 per step from 1e6 sqrt(3): relative to it, 1e-7 takes 3 steps; as an absolute norm 5.
    #[test]
    fn the_tolerance_is_relative_to_the_first_residual() {
        struct Slow;
        impl NonlinearProblem<Threads> for Slow {
            fn rows(&self) -> usize {
                3
            }
            fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
                residual.copy_from_slice(x);
                Ok(())
            }
            fn solve(&mut self, _: &[f64], residual: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
                delta.iter_mut().zip(residual).for_each(|(d, r)| *d = 0.999 * r);
                Ok(SolveInfo::default())
            }
        }
        let params = NewtonParams::new(1e-7, 9);
        let info = run(&mut Slow, &mut [1e6; 3], params).unwrap();
        assert_eq!(info.steps.len(), 3);
        // ||F|| <= 2: one step less than a relative tolerance of 1e-7 takes.
        let params = NewtonParams { absolute: 2.0, ..params };
        let info = run(&mut Slow, &mut [1e6; 3], params).unwrap();
        assert_eq!((info.steps.len(), info.reason), (2, Reason::AbsoluteTolerance));
    }

    /// x^2 = c, solved only as far as asked: F(x - d) = (1 - s) F + d^2 for d = s F / J.
    #[test]
    fn inexact_steps_converge_with_the_forcing_terms_of_eisenstat_and_walker() {
        struct Inexact {
            slope: f64,
            asked: Vec<f64>,
        }
        impl NonlinearProblem<Threads> for Inexact {
            fn rows(&self) -> usize {
                1
            }
            fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
                (self.slope, residual[0]) = (2.0 * x[0], x[0] * x[0] - 2.0);
                Ok(())
            }
            fn solve(
                &mut self,
                _: &[f64],
                residual: &[f64],
                delta: &mut [f64],
                forcing: Option<f64>,
            ) -> Result<SolveInfo> {
                let forcing = forcing.unwrap();
                self.asked.push(forcing);
                delta[0] = (1.0 - forcing) * residual[0] / self.slope;
                Ok(SolveInfo::default())
            }
        }
        let (mut x, mut problem) = ([1.5], Inexact { slope: 0.0, asked: vec![] });
        let params = NewtonParams { tolerance: 1e-10, is_inexact: true, ..TIGHT };
        let info = run(&mut problem, &mut x, params).unwrap();
        assert!((x[0] - 2f64.sqrt()).abs() < 1e-11);
        // F = 0.25; then 0.01 F + (0.99 F / 3)^2 = 0.00930625.
        let norms: Vec<f64> = info.steps.iter().map(|step| step.residual).collect();
        assert!((norms[1] - 0.009_306_25).abs() < 1e-15 && problem.asked[0] == 1e-2);
        assert!((problem.asked[1] - 0.9 * (norms[1] / 0.25f64).powi(2)).abs() < 1e-15, "{:?}", problem.asked);
        // Each step is asked for by the decrease in the step before, and no step for more than a hundredth of what is left to do.
        assert!(norms.len() > 3, "{norms:?}");
        for (two, &asked) in norms.windows(2).zip(&problem.asked[1..]) {
            let by_decrease = 0.9 * (two[1] / two[0]).powi(2);
            assert_eq!(asked, by_decrease.max(0.01 * 1e-10 * 0.25 / two[1]), "{norms:?}");
        }
    }

    /// x^2 = 2 from 4, with another start on offer: one that is better is taken, and solved for at once; one that is worse is not.
    #[test]
    fn a_better_start_is_taken_and_a_worse_one_is_not() {
        struct Offer {
            start: f64,
            slope: f64,
            asked: Vec<f64>,
        }
        impl NonlinearProblem<Serial> for Offer {
            fn rows(&self) -> usize {
                1
            }
            fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
                (self.slope, residual[0]) = (2.0 * x[0], x[0] * x[0] - 2.0);
                Ok(())
            }
            fn improve_start(&mut self, x: &mut [f64]) -> Result<bool> {
                x[0] = self.start;
                Ok(true)
            }
            fn solve(
                &mut self,
                x: &[f64],
                residual: &[f64],
                delta: &mut [f64],
                forcing: Option<f64>,
            ) -> Result<SolveInfo> {
                assert_eq!(self.slope, 2.0 * x[0]);
                self.asked.push(forcing.unwrap());
                delta[0] = residual[0] / self.slope;
                Ok(SolveInfo::default())
            }
        }
        let params = NewtonParams { is_inexact: true, ..TIGHT };
        let run = |start: f64, params| {
            let (mut x, mut problem) = ([4.0], Offer { start, slope: 0.0, asked: vec![] });
            let info = run(&mut problem, &mut x, params).unwrap();
            assert!((x[0] - 2f64.sqrt()).abs() < 1e-12 && info.initial_residual == 14.0, "{info:?}");
            (info, problem.asked)
        };
        let (info, asked) = run(1.4143, params);
        let norm = 1.4143f64 * 1.4143 - 2.0;
        assert!(info.is_improved && (info.steps[0].residual - norm).abs() < 1e-15 && info.steps.len() < 3, "{info:?}");
        assert!((asked[0] / (AT_ONCE * 14.0 * params.tolerance / norm) - 1.0).abs() < 1e-9, "{asked:?}");
        for worse in [5.0, f64::NAN, f64::INFINITY] {
            let (info, asked) = run(worse, params);
            assert!(!info.is_improved && info.steps[0].residual == 14.0 && asked[0] == FIRST, "{info:?}");
        }
    }
}
