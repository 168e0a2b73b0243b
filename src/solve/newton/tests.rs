//! Newton's method on equations whose roots are known.

mod starts;

use super::*;
use crate::comm::Solo;
use crate::space::{Serial, Threads};

fn run(problem: &mut impl NonlinearProblem<Threads>, x: &mut [f64], params: NewtonParams) -> Result<NewtonInfo> {
    let mut info = NewtonInfo::default();
    newton(&Serial, &Solo, problem, x, params, &mut |_, _| Ok(()), &mut info).map(|()| info)
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
    let last = NewtonParams { max_iterations: roots(4.0, TIGHT).1.unwrap().steps.len(), ends_at_limit: true, ..TIGHT };
    assert_eq!(roots(4.0, last).1.unwrap().reason, Reason::RelativeTolerance);
    assert!(matches!(roots(0.0, TIGHT).1, Err(Error::NotFinite { method: "Newton", iteration: 1, .. })));
}

/// f(x) = 0 with its derivative.
struct Scalar(fn(f64) -> [f64; 2], f64);

impl NonlinearProblem<Threads> for Scalar {
    fn rows(&self) -> usize {
        1
    }
    fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
        [residual[0], self.1] = (self.0)(x[0]);
        Ok(())
    }
    fn solve(&mut self, _: &[f64], residual: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
        delta[0] = residual[0] / self.1;
        Ok(SolveInfo::default())
    }
}

/// Residuals by position, reached by steps of 1: the second step passes the root, to less than the first residual and more than the last.
#[test]
fn a_step_must_improve_on_the_residual_before_it() {
    struct Table;
    impl NonlinearProblem<Threads> for Table {
        fn rows(&self) -> usize {
            1
        }
        fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
            let found =
                [(0.0, 100.0), (1.0, 1.0), (1.5, 1e-9), (2.0, 50.0), (3.0, 1e-9)].into_iter().find(|at| at.0 == x[0]);
            residual[0] = found.expect("a position of the table").1;
            Ok(())
        }
        fn solve(&mut self, _: &[f64], _: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
            delta[0] = -1.0;
            Ok(SolveInfo::default())
        }
    }
    let mut x = [0.0];
    let info = run(&mut Table, &mut x, NewtonParams::new(1e-10, 5)).unwrap();
    assert_eq!((x[0], info.steps.iter().map(|step| step.length).collect::<Vec<_>>()), (1.5, vec![1.0, 0.5]));
}

#[test]
fn halved_steps_converge_where_full_ones_overshoot() {
    let run = |f, start: f64, max_halvings| {
        let (mut x, params) = ([start], NewtonParams { max_halvings, ..NewtonParams::new(1e-12, 30) });
        run(&mut Scalar(f, 0.0), &mut x, params).map(|info| (x[0], info))
    };
    let atan = |x: f64| [x.atan(), 1.0 / (1.0 + x * x)];
    // From 3 a full step leads to -9.5, and on from there.
    assert!(matches!(run(atan, 3.0, 0), Err(Error::NotFinite { .. } | Error::NotConverged { .. })));
    let (x, info) = run(atan, 3.0, 10).unwrap();
    let lengths: Vec<f64> = info.steps.iter().map(|step| step.length).collect();
    assert!(x.abs() < 1e-12 && lengths[0] == 0.25 && lengths.last() == Some(&1.0), "{x}: {lengths:?}");
    assert!(info.steps.windows(2).all(|two| two[1].residual < two[0].residual));
    // 1 + x^2 has no root: no step from near 0 is short enough.
    let error = run(|x| [1.0 + x * x, 2.0 * x], 1e-3, 10).unwrap_err();
    assert!(matches!(error, Error::NotConverged { method: "Newton's line search", iterations: 1, .. }), "{error}");
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
    // The smallest normal number is one.
    let smallest =
        run(&mut Positions(&[(0.0, 1.491_668_146_240_041_3e-154), (1.0, 0.0)]), &mut [0.0], NewtonParams::new(0.5, 5));
    assert!(matches!(smallest, Err(Error::Underflow { quantity: "tolerance ||F||", .. })), "{smallest:?}");
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
    // A bound of ||F|| below the relative one, 0.17, decides nothing.
    let info = run(&mut Slow, &mut [1e6; 3], NewtonParams { absolute: 0.1, ..params }).unwrap();
    assert_eq!((info.steps.len(), info.reason), (3, Reason::RelativeTolerance));
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
        fn solve(&mut self, _: &[f64], residual: &[f64], delta: &mut [f64], forcing: Option<f64>) -> Result<SolveInfo> {
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
/// The Jacobian is computed for steps alone.
#[test]
fn a_better_start_is_taken_and_a_worse_one_is_not() {
    struct Offer {
        start: Option<f64>,
        slope: f64,
        asked: Vec<f64>,
        /// Computed residuals without and with a slope.
        counts: [usize; 2],
    }
    impl NonlinearProblem<Threads> for Offer {
        fn rows(&self) -> usize {
            1
        }
        fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
            (self.slope, residual[0]) = (2.0 * x[0], x[0] * x[0] - 2.0);
            self.counts[1] += 1;
            Ok(())
        }
        fn residual(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<bool> {
            (self.slope, residual[0]) = (f64::NAN, x[0] * x[0] - 2.0);
            self.counts[0] += 1;
            Ok(false)
        }
        fn improves_start(&self) -> bool {
            true
        }
        fn improve_start(&mut self, x: &mut [f64]) -> Result<bool> {
            self.start.inspect(|&start| x[0] = start);
            Ok(self.start.is_some())
        }
        fn solve(&mut self, x: &[f64], residual: &[f64], delta: &mut [f64], forcing: Option<f64>) -> Result<SolveInfo> {
            assert_eq!(self.slope, 2.0 * x[0]);
            self.asked.extend(forcing);
            delta[0] = residual[0] / self.slope;
            Ok(SolveInfo::default())
        }
    }
    let params = NewtonParams { is_inexact: true, ..TIGHT };
    let run = |start: Option<f64>, params| {
        let (mut x, mut problem) = ([4.0], Offer { start, slope: 0.0, asked: vec![], counts: [0; 2] });
        let info = run(&mut problem, &mut x, params).unwrap();
        assert!((x[0] - 2f64.sqrt()).abs() < 1e-12 && info.initial_residual == 14.0, "{info:?}");
        (info, problem.asked, problem.counts)
    };
    let (info, asked, counts) = run(Some(1.4143), params);
    assert!(counts[0] >= 2 && counts[1] == info.steps.len(), "{counts:?}");
    let norm = 1.4143f64 * 1.4143 - 2.0;
    assert!(info.is_improved && (info.steps[0].residual - norm).abs() < 1e-15 && info.steps.len() < 3, "{info:?}");
    assert!((asked[0] / (BEYOND * 14.0 * params.tolerance / norm) - 1.0).abs() < 1e-9, "{asked:?}");
    for worse in [5.0, f64::NAN, f64::INFINITY] {
        let (info, asked, _) = run(Some(worse), params);
        assert!(!info.is_improved && info.steps[0].residual == 14.0 && asked[0] == FIRST, "{info:?}");
    }
    let (info, _, [alone, with_slope]) = run(None, params);
    assert!(!info.is_improved && alone >= 2 && with_slope == info.steps.len(), "{alone} {with_slope}");
    // Exact steps do not ask, and assemble at once.
    let (info, asked, counts) = run(Some(1.4143), TIGHT);
    assert!(!info.is_improved && asked.is_empty() && counts == [0, info.steps.len() + 1], "{info:?} {counts:?}");
}

/// Residuals by position; each step is -1.
struct Positions(&'static [(f64, f64)]);

impl NonlinearProblem<Threads> for Positions {
    fn rows(&self) -> usize {
        1
    }
    fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
        residual[0] = self.0.iter().find(|at| at.0 == x[0]).expect("a position of the table").1;
        Ok(())
    }
    fn solve(&mut self, _: &[f64], _: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
        delta[0] = -1.0;
        Ok(SolveInfo::default())
    }
}

/// A full step has to let the residual fall by 1e-4 of itself, half a step by half of that; a NaN has not fallen. Only steps that are kept
/// are observed.
#[test]
fn a_step_is_halved_unless_the_residual_falls_by_its_part() {
    for (table, length, norms) in [
        (&[(0.0, 1.0), (1.0, 0.9998), (2.0, 1e-9)][..], 1.0, [1.0, 0.9998]),
        (&[(0.0, 1.0), (1.0, 0.99995), (0.5, 0.99994), (1.5, 1e-9)], 0.5, [1.0, 0.99994]),
        (&[(0.0, 1.0), (1.0, 0.99995), (0.5, 0.99996), (0.25, 0.5), (1.25, 1e-9)], 0.25, [1.0, 0.5]),
        (&[(0.0, 1.0), (1.0, f64::NAN), (0.5, f64::INFINITY), (0.25, 0.5), (1.25, 1e-9)], 0.25, [1.0, 0.5]),
    ] {
        let (mut x, mut info, mut seen) = ([0.0], NewtonInfo::default(), Vec::new());
        let observe = &mut |step, norm| {
            seen.push((step, norm));
            Ok(())
        };
        newton(&Serial, &Solo, &mut Positions(table), &mut x, NewtonParams::new(1e-6, 5), observe, &mut info).unwrap();
        assert_eq!(info.steps.iter().map(|step| step.length).collect::<Vec<_>>(), [length, 1.0]);
        assert_eq!(seen, [(0, norms[0]), (1, norms[1]), (2, 1e-9)]);
        assert_eq!((x[0], info.residual, info.initial_residual), (1.0 + length, 1e-9, 1.0));
    }
}

/// Each step has all halvings: two of the first step, and one of the next.
#[test]
fn halvings_are_those_of_a_step() {
    let table = &[(0.0, 4.0), (1.0, 8.0), (0.5, 7.0), (0.25, 2.0), (1.25, 3.0), (0.75, 1e-9)];
    let params = NewtonParams { max_halvings: 2, ..NewtonParams::new(1e-6, 5) };
    let info = run(&mut Positions(table), &mut [0.0], params).unwrap();
    assert_eq!(info.steps.iter().map(|step| step.length).collect::<Vec<_>>(), [0.25, 0.5]);
}

/// After its last halving the method ends with the residual that it reached, and the target that it missed.
#[test]
fn a_line_search_that_fails_says_what_it_reached() {
    let table = &[(0.0, 4.0), (1.0, 8.0), (0.5, 7.0), (0.25, 6.0)];
    let params = NewtonParams { max_halvings: 2, absolute: 0.5, ..NewtonParams::new(1e-6, 5) };
    let (mut x, mut info) = ([0.0], NewtonInfo::default());
    let end = newton(&Serial, &Solo, &mut Positions(table), &mut x, params, &mut |_, _| Ok(()), &mut info);
    let Err(Error::NotConverged { method, iterations, residual, tolerance }) = end else { panic!("{end:?}") };
    assert_eq!((method, iterations, residual, tolerance), ("Newton's line search", 1, 6.0, 0.5));
    assert_eq!((info.residual, info.steps[0].length, info.steps[0].residual), (6.0, 0.25, 4.0));
    // Without halvings a step is taken whatever the residual.
    let info = run(
        &mut Positions(&[(0.0, 4.0), (1.0, 8.0), (2.0, 1e-9)]),
        &mut [0.0],
        NewtonParams { max_halvings: 0, ..params },
    );
    assert_eq!(info.unwrap().steps.iter().map(|step| step.residual).collect::<Vec<_>>(), [4.0, 8.0]);
}

/// Norms are those of all ranks: rank 0 has 3 rows, rank 1 has 4.
#[test]
fn norms_of_ranks_are_joined() {
    use crate::comm::Communicator;
    struct Fall(f64);
    impl NonlinearProblem<Threads> for Fall {
        fn rows(&self) -> usize {
            1
        }
        fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
            residual[0] = self.0 * x[0];
            Ok(())
        }
        fn solve(&mut self, x: &[f64], _: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
            delta[0] = 0.75 * x[0];
            Ok(SolveInfo::default())
        }
    }
    let ends = crate::comm::ranks::on_ranks(2, |comm| {
        let (mut x, mut info, mut problem) = ([1.0], NewtonInfo::default(), Fall([3.0, 4.0][comm.rank()]));
        let (comm, params) = (comm as &dyn Communicator, NewtonParams::new(0.1, 9));
        newton(&Serial, &comm, &mut problem, &mut x, params, &mut |_, _| Ok(()), &mut info).unwrap();
        info
    });
    let norms: Vec<f64> = ends[0].steps.iter().map(|step| step.residual).collect();
    assert_eq!((norms, ends[0].residual, ends[0].initial_residual), (vec![5.0, 1.25], 0.3125, 5.0));
    assert_eq!(ends[1], ends[0]);
}
