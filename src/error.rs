//! The one error type: every failure is a value that names the operation, the thing and the numbers.

/// Short for a result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An array has other extents than the operation needs.
    #[error("{operation}: `{array}` has extents {actual:?}, expected {expected:?}")]
    Shape {
        /// The operation that refused.
        operation: &'static str,
        /// The name of the array in that operation's signature.
        array: &'static str,
        /// The extents it has.
        actual: Vec<usize>,
        /// The extents it should have.
        expected: Vec<usize>,
    },
    /// A value is outside what the operation accepts (input by a person, or a malformed table).
    #[error("{0}")]
    Invalid(String),
    /// An index type or the memory of this machine is too small for the size asked for.
    #[error("{what} needs {needed}, the limit is {limit}")]
    TooLarge {
        /// What was to be made.
        what: String,
        /// What it needs, with its unit.
        needed: String,
        /// What there is, with its unit.
        limit: String,
    },
    /// The fixed-capacity node-pair map was full more often than the caller was ready to grow it.
    #[error("node-pair map of {capacity} slots: {failed} inserts failed after {attempts} attempts")]
    MapFull {
        /// Slots of the last attempt.
        capacity: usize,
        /// Inserts that failed in it.
        failed: usize,
        /// Attempts made, each with a larger map.
        attempts: usize,
    },
    /// A coordinate map turned an element inside out.
    #[error(
        "element {element}: the Jacobian determinant is {determinant:.3e} at integration point {point}: the map folds it"
    )]
    Folded {
        /// The element's id (global where the caller has global ids).
        element: u64,
        /// Integration point, 0-based.
        point: usize,
        /// The determinant found there.
        determinant: f64,
    },
    /// A linear or nonlinear iteration ended without reaching its tolerance.
    #[error("{method} did not converge: residual {residual:.3e} > {tolerance:.3e} after {iterations} iterations")]
    NotConverged {
        /// "CG" or "Newton".
        method: &'static str,
        /// Iterations done.
        iterations: usize,
        /// Norm of the last residual.
        residual: f64,
        /// The norm it had to reach.
        tolerance: f64,
    },
    /// CG met a direction p with p.Ap <= 0: the matrix is not positive definite.
    #[error("CG broke down at iteration {iteration}: p.Ap = {curvature:.3e} <= 0, residual {residual:.3e}")]
    Breakdown {
        /// The iteration, 0-based.
        iteration: usize,
        /// p.Ap.
        curvature: f64,
        /// Norm of the residual at that iteration.
        residual: f64,
    },
    /// A NaN or an infinity appeared.
    #[error("{method}: {quantity} is {value} at iteration {iteration}")]
    NotFinite {
        /// "CG" or "Newton".
        method: &'static str,
        /// What was not finite.
        quantity: &'static str,
        /// Its value.
        value: f64,
        /// The iteration, 0-based.
        iteration: usize,
    },
    /// A file could not be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The path as given.
        path: String,
        /// Why not.
        reason: String,
    },
    /// Ranks could not be started or do not agree.
    #[error("MPI: {0}")]
    Mpi(String),
    /// A GPU is missing, or what it needs is, or its driver reports a failure.
    #[error("{0}")]
    Device(String),
    /// Another rank failed and says why; this rank only stops. A program prints nothing for it.
    #[error("rank {rank} failed; its message says why")]
    Elsewhere {
        /// The rank that has the error itself.
        rank: usize,
    },
}

impl Error {
    /// Whether all ranks meet this error at the same time, since it is decided by sums over all of them.
    pub fn is_collective(&self) -> bool {
        matches!(self, Error::NotConverged { .. } | Error::Breakdown { .. } | Error::NotFinite { .. })
    }

    /// [`Error::Shape`] for a one-dimensional array.
    pub(crate) fn length(operation: &'static str, array: &'static str, actual: usize, expected: usize) -> Self {
        Error::Shape { operation, array, actual: vec![actual], expected: vec![expected] }
    }
}

/// `Err(Error::Shape)` unless a one-dimensional array has the expected length.
pub(crate) fn check_length(operation: &'static str, array: &'static str, actual: usize, expected: usize) -> Result<()> {
    if actual == expected { Ok(()) } else { Err(Error::length(operation, array, actual, expected)) }
}

/// `Err(Error::Shape)` unless a one-dimensional array has at least the expected length.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
pub(crate) fn check_at_least(operation: &'static str, array: &'static str, actual: usize, least: usize) -> Result<()> {
    if actual >= least { Ok(()) } else { Err(Error::length(operation, array, actual, least)) }
}
