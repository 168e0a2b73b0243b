//! The verdict on a run: a pure function of the numbers that the run measured.
//!
//! ```text
//! PASS   the iterations converged,
//!        every number is finite, and
//!        some node is free and the first residual is not 0
//!        error bound     <= 0.05                          a coarser mesh verifies nothing
//!        symmetry        <= 1e-10                         the matrix that CG needs
//!        ||b - A x||     <= max(10 target, attainable)    in each linear solve; A as it was assembled
//!        algebraic error <= error bound / 10              tolerances that are tight enough
//!        largest error   <= error bound
//! ```
//! A failure of an earlier line explains those of later lines: it is named first.

use super::Deck;
use super::deck::with_flag;
use super::judged::Judged;
use super::steps::Ended;
use crate::Error;
use crate::solve::{Reason, Symmetry};

/// Largest error bound that a run can be verified with, relative to max|T|.
const COARSEST: f64 = 0.05;
/// Largest departure from symmetry; rounding leaves about 1e-16.
const ASYMMETRY: f64 = 1e-10;
/// Share of the error bound that the algebraic error may have.
const ALGEBRAIC_SHARE: f64 = 0.1;
/// Factor by which a true residual may exceed the target of its solve.
const DEPARTURE: f64 = 10.0;
/// The attainable accuracy of a solve, in units of rounding: ATTAINABLE eps ||A|| ||x||.
const ATTAINABLE: f64 = 100.0;

/// Target and true residual of a linear solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Solved {
    /// Tolerance times ||b||.
    pub target: f64,
    /// ||b - A x||, computed from x.
    pub residual: f64,
    /// ||x||.
    pub solution: f64,
    /// Relative rounding of the values that products read: 0 if they are those of A.
    pub rounding: f64,
}

impl Solved {
    /// Returns the largest acceptable true residual for a matrix of this norm.
    fn limit(&self, matrix_norm: f64) -> f64 {
        let attainable = (ATTAINABLE * f64::EPSILON).max(self.rounding);
        (DEPARTURE * self.target).max(attainable * matrix_norm * self.solution)
    }
}

/// Returns why a run is not verified, in the order of meaning; nothing for a verified run.
pub(super) fn failures(deck: &Deck, newton: &Ended, judged: &Judged, solves: &[Solved]) -> Vec<String> {
    let &Judged { error_max, error_l2, error_bound, algebraic_error, free, .. } = judged;
    let Symmetry { departure, norm } = newton.symmetry;
    let starts_at_zero = newton.info.reason == Reason::Zero;
    let mut failures: Vec<String> = newton.stopped.iter().map(|error| stopped(deck, error, newton)).collect();
    let mut fails = |is_wrong: bool, why: String| failures.extend(is_wrong.then_some(why));
    fails(starts_at_zero && free > 0, "the first residual is 0 although nodes are free: the numbers underflow".into());
    for (what, value) in [
        ("error bound", error_bound),
        ("max error", error_max),
        ("L2 error", error_l2),
        ("algebraic error", algebraic_error),
        ("departure from symmetry", departure),
        ("norm of the matrix", norm),
    ] {
        fails(!value.is_finite(), format!("the {what} is {value}"));
    }
    // A value that is not finite is a failure already.
    let over = |value: f64, limit: f64| value.is_finite() && value > limit;
    fails(
        over(error_bound, COARSEST),
        format!("mesh too coarse to verify: error bound {error_bound:.3e} exceeds {COARSEST}"),
    );
    fails(free == 0, "nothing was solved: the boundary conditions fix every node; give 3 or more nodes along z".into());
    fails(
        judged.is_symmetric && over(departure, ASYMMETRY),
        format!("matrix not symmetric: x.Ay and y.Ax differ by {departure:.3e}, more than {ASYMMETRY:.0e}"),
    );
    for (step, solved) in solves.iter().enumerate() {
        let (residual, limit) = (solved.residual, solved.limit(norm));
        fails(
            exceeds(residual, limit),
            format!("linear solve of Newton step {step}: true residual {residual:.3e} exceeds {limit:.3e}"),
        );
    }
    fails(
        over(algebraic_error, ALGEBRAIC_SHARE * error_bound),
        format!(
            "tolerances too loose: algebraic error {algebraic_error:.3e} exceeds a tenth of the error bound {error_bound:.3e}"
        ),
    );
    fails(over(error_max, error_bound), format!("max error {error_max:.3e} exceeds the bound {error_bound:.3e}"));
    failures
}

/// What ended an iteration, and why. Only nonlinear problems make several Newton steps; given numbers of iterations break down by rounding, too.
/// A preconditioner of such a Jacobian may give NaN.
fn stopped(deck: &Deck, error: &Error, newton: &Ended) -> String {
    let steps = &newton.info.steps;
    let is_solved = !steps.is_empty() && steps.iter().all(|step| step.linear.reason != Reason::Iterations);
    let is_indefinite = match error {
        Error::Breakdown { .. } | Error::Indefinite { .. } | Error::Pivot { .. } => true,
        Error::NotFinite { quantity, value, .. } => *quantity == "p.Ap" && value.is_nan(),
        _ => false,
    };
    match error {
        Error::NotConverged { method: "Newton", .. } => {
            format!("{error}: the limit {}", with_flag("newton.max_iterations"))
        }
        Error::NotConverged { iterations, .. } if *iterations >= deck.cg.max_iterations => {
            format!("{error}: the limit {}", with_flag("cg.max_iterations"))
        }
        // GMRES and BiCGStab start again from their last x, and give up where that brings nothing.
        Error::NotConverged { .. } => format!("{error}: it broke down, and restarts reduced the residual no further"),
        error if deck.cg.iterations.is_some() && has_overflowed(error, newton.info.initial_residual) => {
            let text = error.to_string();
            let cause = text.split(';').next().unwrap_or(&text);
            format!("{cause}; rounding errors grow after convergence: give fewer {}", with_flag("cg.iterations"))
        }
        error if is_indefinite && is_solved => {
            let text = match error {
                Error::Indefinite { pivot, value } => {
                    format!("multigrid: pivot {pivot} of the last level is {value:e}")
                }
                error => error.to_string(),
            };
            let cause = [", ", ": expected"].iter().fold(&*text, |text, end| text.split(end).next().unwrap_or(text));
            format!(
                "give more nodes along z, or boundary values closer together: Newton passed a Jacobian that is not positive definite ({cause})"
            )
        }
        error => error.to_string(),
    }
}

/// Whether numbers of an iteration grew far beyond the first residual of Newton's method.
fn has_overflowed(error: &Error, first: f64) -> bool {
    match *error {
        Error::NotFinite { method, iteration, .. } => method != "Newton" && iteration > 0,
        Error::Breakdown { residual, .. } => residual > 1e6 * first,
        _ => false,
    }
}

/// Whether a value is not at most its limit; a NaN on either side exceeds.
fn exceeds(value: f64, limit: f64) -> bool {
    value.is_nan() || limit.is_nan() || value > limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::NewtonInfo;

    struct Numbers {
        newton: Ended,
        judged: Judged,
        solves: Vec<Solved>,
    }

    /// The failures of good numbers after a change.
    fn failures(change: impl FnOnce(&mut Numbers)) -> Vec<String> {
        let judged = Judged {
            error_max: 1e-3,
            error_l2: 5e-4,
            error_bound: 2e-3,
            algebraic_error: 1e-4,
            is_symmetric: true,
            free: 10,
            spacing: 0.1,
        };
        let info = NewtonInfo { reason: Reason::RelativeTolerance, ..NewtonInfo::default() };
        let newton = Ended { info, linear: None, stopped: None, symmetry: Symmetry { departure: 1e-16, norm: 2.0 } };
        let solves = vec![Solved { target: 1e-8, residual: 9e-8, solution: 1.0, rounding: 0.0 }; 2];
        let mut numbers = Numbers { newton, judged, solves };
        change(&mut numbers);
        super::failures(&Deck::default(), &numbers.newton, &numbers.judged, &numbers.solves)
    }

    /// The one failure after a change.
    fn failure(change: impl FnOnce(&mut Numbers)) -> String {
        let mut found = failures(change);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn good_numbers_pass_up_to_each_limit() {
        assert_eq!(failures(|_| {}), [""; 0]);
        assert_eq!(failures(|n| n.judged.error_max = n.judged.error_bound), [""; 0]);
        let limits = |n: &mut Numbers| (n.judged.error_bound, n.newton.symmetry.departure) = (COARSEST, ASYMMETRY);
        assert_eq!(failures(limits), [""; 0]);
        let loose = |n: &mut Numbers| (n.judged.algebraic_error, n.judged.error_bound) = (0.00015625, 0.0015625);
        assert_eq!(failures(loose), [""; 0]);
    }

    #[test]
    fn each_limit_fails_alone_when_it_is_passed() {
        assert_eq!(failure(|n| n.judged.error_max = 2.01e-3), "max error 2.010e-3 exceeds the bound 2.000e-3");
        let found = failure(|n| n.judged.algebraic_error = 2.01e-4);
        assert!(found.starts_with("tolerances too loose: algebraic error 2.010e-4 exceeds a tenth"), "{found}");
        let found = failure(|n| n.judged.error_bound = 0.0501);
        assert_eq!(found, "mesh too coarse to verify: error bound 5.010e-2 exceeds 0.05");
        let found = failure(|n| n.newton.symmetry.departure = 1.1e-10);
        assert_eq!(found, "matrix not symmetric: x.Ay and y.Ax differ by 1.100e-10, more than 1e-10");
        let advected = |n: &mut Numbers| (n.newton.symmetry.departure, n.judged.is_symmetric) = (0.1, false);
        assert_eq!(failures(advected), [""; 0]);
        let found = failure(|n| n.newton.info.reason = Reason::Zero);
        assert!(found.starts_with("the first residual is 0 although nodes are free"), "{found}");
        let fixed = |n: &mut Numbers| (n.newton.info.reason, n.judged.free, n.solves) = (Reason::Zero, 0, vec![]);
        assert!(failure(fixed).starts_with("nothing was solved: "));
        for (method, iterations, why) in [
            ("CG", 10_000, ": the limit cg.max_iterations (--cg-max)"),
            ("BiCGStab", 9_999, ": it broke down, and restarts reduced the residual no further"),
            ("GMRES", 10_000, ": the limit cg.max_iterations (--cg-max)"),
            ("Newton", 10, ": the limit newton.max_iterations (--newton-max)"),
        ] {
            let error = Error::NotConverged { method, iterations, residual: 1.0, tolerance: 0.5 };
            assert_eq!(failure(|n| n.newton.stopped = Some(error.clone())), format!("{error}{why}"));
        }
        let found = failure(|n| n.solves[1].residual = 1.1e-7);
        assert_eq!(found, "linear solve of Newton step 1: true residual 1.100e-7 exceeds 1.000e-7");
    }

    /// A tolerance below rounding: the true residual is that of rounding, and not held against the solve.
    #[test]
    fn the_attainable_accuracy_is_no_departure() {
        let solve = |residual| vec![Solved { target: 1e-20, residual, solution: 3.0, rounding: 0.0 }];
        assert_eq!(failures(|n| n.solves = solve(100.0 * f64::EPSILON * 6.0)), [""; 0]);
        assert_eq!(failures(|n| n.solves = solve(101.0 * f64::EPSILON * 6.0)).len(), 1);
    }

    /// With rounded values, x solves a system whose matrix differs by their rounding, and no other.
    #[test]
    fn rounded_values_attain_their_own_accuracy_only() {
        let solve = |residual, rounding| vec![Solved { target: 1e-20, residual, solution: 3.0, rounding }];
        assert_eq!(failures(|n| n.solves = solve(6e-7, 1e-7)), [""; 0]);
        assert_eq!(failures(|n| n.solves = solve(6.1e-7, 1e-7)).len(), 1);
        assert_eq!(failures(|n| n.solves = solve(6e-7, 0.0)).len(), 1);
        // Below the attainable accuracy, rounded values change no limit: the larger of both counts, not their sum.
        let small = 80.0 * f64::EPSILON;
        assert_eq!(failures(|n| n.solves = solve(100.0 * f64::EPSILON * 6.0, small)), [""; 0]);
        assert_eq!(failures(|n| n.solves = solve(101.0 * f64::EPSILON * 6.0, small)).len(), 1);
    }

    #[test]
    fn no_number_that_is_not_finite_passes() {
        type Set = fn(&mut Numbers, f64);
        let set: [(&str, Set); 6] = [
            ("max error", |n, x| n.judged.error_max = x),
            ("L2 error", |n, x| n.judged.error_l2 = x),
            ("error bound", |n, x| n.judged.error_bound = x),
            ("algebraic error", |n, x| n.judged.algebraic_error = x),
            ("departure from symmetry", |n, x| n.newton.symmetry.departure = x),
            ("norm of the matrix", |n, x| n.newton.symmetry.norm = x),
        ];
        for (name, set) in set {
            for value in [f64::NAN, f64::INFINITY] {
                assert_eq!(failures(|n| set(n, value))[0], format!("the {name} is {value}"));
            }
        }
        assert!(!failures(|n| n.solves[0].residual = f64::NAN).is_empty());
        assert!(!failures(|n| n.solves[0].target = f64::NAN).is_empty());
        // The first example of a false PASS: an error of infinity within a bound of infinity.
        let infinite = |n: &mut Numbers| {
            (n.judged.error_max, n.judged.error_bound, n.judged.error_l2) = (f64::INFINITY, f64::INFINITY, f64::NAN);
        };
        assert_eq!(failures(infinite)[0], "the error bound is inf");
    }

    #[test]
    fn the_cause_is_named_before_its_effects() {
        let loose = failures(|n| (n.judged.algebraic_error, n.judged.error_max) = (0.5, 0.8));
        assert!(
            loose.len() == 2 && loose[0].starts_with("tolerances too loose: algebraic error 5.000e-1"),
            "{loose:?}"
        );
        let coarse = failures(|n| (n.judged.error_bound, n.judged.error_max) = (0.9, 1.0));
        assert!(coarse.len() == 2 && coarse[0].starts_with("mesh too coarse to verify: "), "{coarse:?}");
        let broken = failures(|n| {
            (n.newton.symmetry.departure, n.judged.error_max, n.solves[0].residual) = (0.1, 1.0, 1.0);
        });
        assert!(
            broken.len() == 3 && broken[0].starts_with("matrix not symmetric") && broken[1].contains("Newton step 0")
        );
    }

    /// A Jacobian that is not positive definite is explained by the start of Newton's iteration, if a solve came before it and each was
    /// solved to its tolerance.
    #[test]
    fn a_breakdown_names_newtons_start_after_a_solved_step_only() {
        let breakdown = Error::Breakdown { iteration: 3, curvature: -1.0, residual: 0.5 };
        let not_finite = |quantity, value| Error::NotFinite { method: "CG", quantity, value, iteration: 2 };
        let step = |reason| crate::solve::NewtonStep {
            residual: 1.0,
            length: 1.0,
            linear: crate::solve::SolveInfo { reason, ..Default::default() },
        };
        let (solved, given) = (step(Reason::RelativeTolerance), step(Reason::Iterations));
        let multigrid = Error::Indefinite { pivot: 1, value: -3.0 };
        let not_converged = Error::NotConverged { method: "CG", iterations: 3, residual: 1.0, tolerance: 0.5 };
        for (error, steps, cause) in [
            (&breakdown, vec![], None),
            (&breakdown, vec![solved], Some("(CG broke down at iteration 3: p.Ap = -1.000e0 <= 0)")),
            (&breakdown, vec![solved, given], None),
            (&multigrid, vec![solved], Some("(multigrid: pivot 1 of the last level is -3e0)")),
            (&not_finite("p.Ap", f64::NAN), vec![solved], Some("(CG: p.Ap is NaN at iteration 2)")),
            (&not_finite("p.Ap", f64::INFINITY), vec![solved], None),
            (&not_finite("||r||", f64::NAN), vec![solved], None),
            (&not_converged, vec![solved], None),
        ] {
            let found = failure(|n| (n.newton.stopped, n.newton.info.steps) = (Some(error.clone()), steps));
            match cause {
                None => assert!(found.starts_with(&error.to_string()), "{found}"),
                Some(cause) => assert!(found.starts_with("give more nodes") && found.contains(cause), "{found}"),
            }
        }
    }

    /// Too many given iterations are named as the cause only where numbers have grown.
    #[test]
    fn given_iterations_that_overflow_are_named() {
        let newton = |error: &Error| Ended {
            info: NewtonInfo { initial_residual: 4.0, ..NewtonInfo::default() },
            linear: None,
            stopped: Some(error.clone()),
            symmetry: Symmetry::default(),
        };
        let breakdown = |residual| Error::Breakdown { iteration: 0, curvature: -1.0, residual };
        let not_finite = |method, iteration| {
            let quantity = if method == "CG" { "||r||" } else { "||F||" };
            Error::NotFinite { method, quantity, value: f64::INFINITY, iteration }
        };
        for (error, is_named) in [
            (breakdown(8e85), true),
            (breakdown(3e6), false),
            (not_finite("CG", 5366), true),
            (not_finite("CG", 0), false),
            (not_finite("Newton", 3), false),
        ] {
            let mut deck = Deck::default();
            for given in [None, Some(6500)] {
                deck.cg.iterations = given;
                let found = stopped(&deck, &error, &newton(&error));
                let expected = is_named && given.is_some();
                assert_eq!(found.ends_with("give fewer cg.iterations (--cg-iterations)"), expected, "{found}");
                assert!(expected || found == error.to_string(), "{found}");
            }
        }
    }

    /// The first solve that departs is named by its number, and each that does.
    #[test]
    fn each_solve_is_judged_by_its_own_limit() {
        let solve = |target, residual| Solved { target, residual, solution: 0.0, rounding: 0.0 };
        let found = failures(|n| n.solves = vec![solve(1.0, 10.0), solve(0.5, 5.5), solve(2.0, 20.5)]);
        let start = |step| format!("linear solve of Newton step {step}: true residual ");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with(&(start(1) + "5.500e0 exceeds 5.000e0")), "{found:?}");
        assert!(found[1].starts_with(&(start(2) + "2.050e1 exceeds 2.000e1")), "{found:?}");
    }
}
