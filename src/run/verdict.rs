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

use crate::Error;
use std::fmt;

/// Largest error bound that a run can be verified with, relative to max|T|.
pub const COARSEST: f64 = 0.05;
/// Largest departure from symmetry; rounding leaves about 1e-16.
pub const ASYMMETRY: f64 = 1e-10;
/// Share of the error bound that the algebraic error may have.
pub const ALGEBRAIC_SHARE: f64 = 0.1;
/// Factor by which a true residual may exceed the target of its solve.
pub const DEPARTURE: f64 = 10.0;
/// The attainable accuracy of a solve, in units of rounding: ATTAINABLE eps ||A|| ||x||.
pub const ATTAINABLE: f64 = 100.0;

/// Target and true residual of a linear solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved {
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
    pub fn limit(&self, matrix_norm: f64) -> f64 {
        let attainable = (ATTAINABLE * f64::EPSILON).max(self.rounding);
        (DEPARTURE * self.target).max(attainable * matrix_norm * self.solution)
    }
}

/// The measured numbers from which the verdict follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The error that ended an iteration before it converged.
    pub stopped: Option<Error>,
    /// Number of nodes whose temperature is unknown.
    pub free_nodes: u64,
    /// Whether Newton's method ended because its first residual was exactly 0.
    pub starts_at_zero: bool,
    /// max|T - exact| / max|exact|.
    pub error_max: f64,
    /// The same in the root mean square.
    pub error_l2: f64,
    /// Bound of `error_max`.
    pub error_bound: f64,
    /// Estimate of the error that the solver left, relative to max|T|.
    pub algebraic_error: f64,
    /// Departure of the matrix from symmetry.
    pub symmetry: f64,
    /// Estimate of the norm of the matrix.
    pub matrix_norm: f64,
    /// The linear solves, in order.
    pub solves: Vec<Solved>,
}

/// One reason why a run is not verified.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// An iteration ended before it converged.
    Stopped(Error),
    /// The first residual is 0 although some nodes are free.
    Underflow,
    /// Every node is fixed, so nothing was solved.
    NothingToSolve,
    /// A number is NaN or infinite.
    NotFinite(&'static str, f64),
    /// The error bound is too large to verify anything.
    TooCoarse(f64),
    /// The matrix is not symmetric.
    Asymmetric(f64),
    /// The true residual of a linear solve exceeds its limit: Newton step, residual, limit.
    Departure(usize, f64, f64),
    /// The algebraic error exceeds its share of the error bound: error, bound.
    Algebraic(f64, f64),
    /// The largest error exceeds the error bound: error, bound.
    Error(f64, f64),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Stopped(error) => write!(f, "{error}"),
            Failure::Underflow => write!(f, "the first residual is 0 although nodes are free: the numbers underflow"),
            Failure::NothingToSolve => {
                write!(f, "nothing was solved: the boundary conditions fix every node; give 3 or more nodes along z")
            }
            Failure::NotFinite(what, value) => write!(f, "the {what} is {value}"),
            Failure::TooCoarse(bound) => {
                write!(f, "mesh too coarse to verify: error bound {bound:.3e} exceeds {COARSEST}")
            }
            Failure::Asymmetric(departure) => {
                write!(f, "matrix not symmetric: x.Ay and y.Ax differ by {departure:.3e}, more than {ASYMMETRY:.0e}")
            }
            Failure::Departure(step, residual, limit) => {
                write!(f, "CG of Newton step {step}: true residual {residual:.3e} exceeds {limit:.3e}")
            }
            Failure::Algebraic(error, bound) => {
                write!(
                    f,
                    "tolerances too loose: algebraic error {error:.3e} exceeds a tenth of the error bound {bound:.3e}"
                )
            }
            Failure::Error(error, bound) => write!(f, "max error {error:.3e} exceeds the bound {bound:.3e}"),
        }
    }
}

/// The failures of a run, in the order of their meaning; none for a verified run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// What is wrong.
    pub failures: Vec<Failure>,
}

impl Verdict {
    /// Derives the verdict from the numbers of a run.
    pub fn new(e: &Evidence) -> Self {
        let finite = [
            ("error bound", e.error_bound),
            ("max error", e.error_max),
            ("L2 error", e.error_l2),
            ("algebraic error", e.algebraic_error),
            ("departure from symmetry", e.symmetry),
            ("norm of the matrix", e.matrix_norm),
        ];
        // A value that is not finite is a failure already.
        let over = |value: f64, limit: f64| value.is_finite() && value > limit;
        let underflow = (e.starts_at_zero && e.free_nodes > 0).then_some(Failure::Underflow);
        let nothing = (e.free_nodes == 0).then_some(Failure::NothingToSolve);
        let not_finite = finite.into_iter().filter(|(_, value)| !value.is_finite());
        let departures = e.solves.iter().enumerate().filter_map(|(step, solved)| {
            let limit = solved.limit(e.matrix_norm);
            exceeds(solved.residual, limit).then_some(Failure::Departure(step, solved.residual, limit))
        });
        let stopped = e.stopped.clone().map(Failure::Stopped);
        let failures = stopped
            .into_iter()
            .chain(underflow)
            .chain(not_finite.map(|(what, value)| Failure::NotFinite(what, value)))
            .chain(over(e.error_bound, COARSEST).then_some(Failure::TooCoarse(e.error_bound)))
            .chain(nothing)
            .chain(over(e.symmetry, ASYMMETRY).then_some(Failure::Asymmetric(e.symmetry)))
            .chain(departures)
            .chain(
                over(e.algebraic_error, ALGEBRAIC_SHARE * e.error_bound)
                    .then_some(Failure::Algebraic(e.algebraic_error, e.error_bound)),
            )
            .chain(over(e.error_max, e.error_bound).then_some(Failure::Error(e.error_max, e.error_bound)));
        Verdict { failures: failures.collect() }
    }

    /// Returns whether the run is verified.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Whether a value is not at most its limit; a NaN on either side exceeds.
fn exceeds(value: f64, limit: f64) -> bool {
    value.is_nan() || limit.is_nan() || value > limit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Evidence {
        Evidence {
            stopped: None,
            free_nodes: 10,
            starts_at_zero: false,
            error_max: 1e-3,
            error_l2: 5e-4,
            error_bound: 2e-3,
            algebraic_error: 1e-4,
            symmetry: 1e-16,
            matrix_norm: 2.0,
            solves: vec![Solved { target: 1e-8, residual: 9e-8, solution: 1.0, rounding: 0.0 }; 2],
        }
    }

    fn failures(change: impl FnOnce(&mut Evidence)) -> Vec<Failure> {
        let mut evidence = good();
        change(&mut evidence);
        let verdict = Verdict::new(&evidence);
        assert_eq!(verdict.passed(), verdict.failures.is_empty());
        verdict.failures
    }

    #[test]
    fn good_numbers_pass_up_to_each_limit() {
        assert_eq!(failures(|_| {}), []);
        assert_eq!(failures(|e| e.error_max = e.error_bound), []);
        assert_eq!(failures(|e| (e.error_bound, e.symmetry) = (COARSEST, ASYMMETRY)), []);
        assert_eq!(failures(|e| (e.algebraic_error, e.error_bound) = (0.00015625, 0.0015625)), []);
    }

    #[test]
    fn each_limit_fails_alone_when_it_is_passed() {
        assert_eq!(failures(|e| e.error_max = 2.01e-3), [Failure::Error(2.01e-3, 2e-3)]);
        assert_eq!(failures(|e| e.algebraic_error = 2.01e-4), [Failure::Algebraic(2.01e-4, 2e-3)]);
        assert_eq!(failures(|e| e.error_bound = 0.0501), [Failure::TooCoarse(0.0501)]);
        assert_eq!(failures(|e| e.symmetry = 1.1e-10), [Failure::Asymmetric(1.1e-10)]);
        assert_eq!(failures(|e| e.starts_at_zero = true), [Failure::Underflow]);
        let fixed = |e: &mut Evidence| (e.starts_at_zero, e.free_nodes, e.solves) = (true, 0, vec![]);
        assert_eq!(failures(fixed), [Failure::NothingToSolve]);
        let error = Error::NotConverged { method: "CG", iterations: 3, residual: 1.0, tolerance: 0.5 };
        assert_eq!(failures(|e| e.stopped = Some(error.clone())), [Failure::Stopped(error.clone())]);
        let limit = 1e-7;
        assert_eq!(failures(|e| e.solves[1].residual = 1.1e-7), [Failure::Departure(1, 1.1e-7, limit)]);
    }

    /// A tolerance below rounding: the true residual is that of rounding, and not held against the solve.
    #[test]
    fn the_attainable_accuracy_is_no_departure() {
        let solve = |residual| vec![Solved { target: 1e-20, residual, solution: 3.0, rounding: 0.0 }];
        assert_eq!(failures(|e| e.solves = solve(100.0 * f64::EPSILON * 6.0)), []);
        assert_eq!(failures(|e| e.solves = solve(101.0 * f64::EPSILON * 6.0)).len(), 1);
    }

    /// With rounded values, x solves a system whose matrix differs by their rounding, and no other.
    #[test]
    fn rounded_values_attain_their_own_accuracy_only() {
        let solve = |residual, rounding| vec![Solved { target: 1e-20, residual, solution: 3.0, rounding }];
        assert_eq!(failures(|e| e.solves = solve(6e-7, 1e-7)), []);
        assert_eq!(failures(|e| e.solves = solve(6.1e-7, 1e-7)).len(), 1);
        assert_eq!(failures(|e| e.solves = solve(6e-7, 0.0)).len(), 1);
    }

    #[test]
    fn no_number_that_is_not_finite_passes() {
        type Set = fn(&mut Evidence, f64);
        let set: [(&str, Set); 6] = [
            ("max error", |e, x| e.error_max = x),
            ("L2 error", |e, x| e.error_l2 = x),
            ("error bound", |e, x| e.error_bound = x),
            ("algebraic error", |e, x| e.algebraic_error = x),
            ("departure from symmetry", |e, x| e.symmetry = x),
            ("norm of the matrix", |e, x| e.matrix_norm = x),
        ];
        for (name, set) in set {
            for value in [f64::NAN, f64::INFINITY] {
                let found = failures(|e| set(e, value));
                assert!(matches!(found[0], Failure::NotFinite(what, _) if what == name), "{name} {value}: {found:?}");
            }
        }
        assert!(!failures(|e| e.solves[0].residual = f64::NAN).is_empty());
        assert!(!failures(|e| e.solves[0].target = f64::NAN).is_empty());
        // The first example of a false PASS: an error of infinity within a bound of infinity.
        let found = failures(|e| (e.error_max, e.error_bound, e.error_l2) = (f64::INFINITY, f64::INFINITY, f64::NAN));
        assert_eq!(found[0].to_string(), "the error bound is inf");
    }

    #[test]
    fn the_cause_is_named_before_its_effects() {
        let names = |change: fn(&mut Evidence)| failures(change).iter().map(ToString::to_string).collect::<Vec<_>>();
        let loose = names(|e| (e.algebraic_error, e.error_max) = (0.5, 0.8));
        assert!(
            loose.len() == 2 && loose[0].starts_with("tolerances too loose: algebraic error 5.000e-1"),
            "{loose:?}"
        );
        let coarse = names(|e| (e.error_bound, e.error_max) = (0.9, 1.0));
        assert!(coarse.len() == 2 && coarse[0].starts_with("mesh too coarse to verify: "), "{coarse:?}");
        let broken = names(|e| (e.symmetry, e.error_max, e.solves[0].residual) = (0.1, 1.0, 1.0));
        assert!(
            broken.len() == 3 && broken[0].starts_with("matrix not symmetric") && broken[1].contains("Newton step 0")
        );
    }
}
