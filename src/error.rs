//! The crate's error type.
//!
//! Every failure is a value that names the operation, the array or quantity, and the numbers.
//!
//! The library never panics on bad input and never exits; a program decides what to print and with which code to end.
//!
//! ```
//! use minifenl::{Error, mesh::ElemNode};
//!
//! let error = ElemNode::new(vec![0, 1, 2, 2, 1, 7], 3, 4).unwrap_err();
//! assert!(matches!(error, Error::Invalid(_)));
//! assert_eq!(error.to_string(), "elem_node[1, 2] is 7, expected a node in 0..4");
//! ```

use std::borrow::Cow;
use std::fmt;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an operation failed. `{:?}` is the message, too: what a `main` that returns it prints.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An array has extents other than those that the operation needs.
    #[error("{operation}: `{array}` has extents {actual:?}, expected {expected:?}")]
    Shape {
        /// Operation that refused the array.
        operation: &'static str,
        /// Name of the array in the operation's signature.
        array: &'static str,
        /// Extents of the array.
        actual: Vec<usize>,
        /// Extents that the operation needs.
        expected: Vec<usize>,
    },
    /// A value is outside the range that the operation accepts: user input or a malformed table.
    #[error("{}", printable(&cut(.0, LONGEST_MESSAGE)))]
    Invalid(String),
    /// An index type or the machine's memory is too small for the requested size.
    #[error("{what} needs {needed}, the limit is {limit}")]
    TooLarge {
        /// What was to be allocated or numbered.
        what: String,
        /// Amount needed, with its unit.
        needed: String,
        /// Amount available, with its unit.
        limit: String,
    },
    /// A stage of a run, or one array, needs more memory than is free.
    #[error("{}{what} needs {}, {} are free", place(*rank, *stage), bytes(*wanted), bytes(*free))]
    OutOfMemory {
        /// Rank, where there are several.
        rank: Option<usize>,
        /// Stage of the run, such as "graph".
        stage: Option<&'static str>,
        /// What was to be allocated.
        what: String,
        /// Bytes that it needs.
        wanted: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A sparsity pattern lacks the entry of two nodes of an element.
    #[error(
        "element {element}: the sparsity pattern has no entry ({row}, {column}); expected one for each pair of its nodes"
    )]
    MissingEntry {
        /// Element of the table.
        element: usize,
        /// Node of the element whose row lacks the entry.
        row: usize,
        /// The other node.
        column: usize,
    },
    /// An element is folded, inverted or flat: the Jacobian determinant is not positive at some point, or cannot be shown to be.
    #[error(
        "element {element} is folded or inverted: its Jacobian determinant is {determinant:.3e} {place}; expected > 0 everywhere"
    )]
    Folded {
        /// Element id, global if the caller has global ids; a kernel's own table numbers its elements from 0.
        element: u64,
        /// Where the determinant is not positive.
        place: FoldPlace,
        /// Determinant there, or its lower bound.
        determinant: f64,
    },
    /// A linear or nonlinear iteration ended before it reached its tolerance.
    #[error("{method} did not converge: residual {residual:.3e} > {tolerance:.3e} after {}", count(*iterations, "iteration"))]
    NotConverged {
        /// "CG", "GMRES", "BiCGStab", "MINRES", "Newton" or "Newton's line search".
        method: &'static str,
        /// Number of iterations.
        iterations: usize,
        /// Norm of the last residual.
        residual: f64,
        /// Norm to be reached.
        tolerance: f64,
    },
    /// CG found a direction p with p.Ap <= 0, so the matrix is not positive definite. GMRES takes any matrix, MINRES symmetric ones.
    #[error(
        "CG broke down at iteration {iteration}: p.Ap = {curvature:.3e} <= 0, residual {residual:.3e}; CG needs a symmetric positive definite matrix (without Dirichlet conditions it is singular), GMRES takes any, the library's MINRES symmetric ones"
    )]
    Breakdown {
        /// Iteration, 0-based.
        iteration: usize,
        /// The value of p.Ap.
        curvature: f64,
        /// Norm of the residual in that iteration.
        residual: f64,
    },
    /// MINRES met a preconditioner that is not positive definite.
    #[error(
        "MINRES: v.M^-1 v = {product:.3e} < 0 at iteration {iteration}: expected a symmetric positive definite preconditioner"
    )]
    IndefinitePreconditioner {
        /// Iteration, 0-based.
        iteration: usize,
        /// The value of v.M^-1 v.
        product: f64,
    },
    /// The last level of a multigrid cycle has no Cholesky factors, so a matrix is not positive definite.
    #[error(
        "multigrid: pivot {pivot} of the last level is {value:e}: the matrix is not positive definite, or singular as without Dirichlet \
         conditions"
    )]
    Indefinite {
        /// Row of the last level.
        pivot: usize,
        /// The value that should be positive.
        value: f64,
    },
    /// An incomplete Cholesky factorisation met a pivot that is not positive, whatever share of the diagonal was added.
    #[error(
        "IC(0): the pivot of row {row} is {value:e} with {shift} of the diagonal added: expected a positive one; jacobi and gauss-seidel \
         need no factors"
    )]
    Pivot {
        /// Row of the matrix; of all ranks in a run.
        row: usize,
        /// The pivot.
        value: f64,
        /// Largest share of the diagonal that was added to it.
        shift: f64,
    },
    /// CG failed, and the matrix or the preconditioner is not symmetric.
    #[error(
        "CG failed with a {what} that is not symmetric: |x.Ay - y.Ax| is {departure:.1e} of ||x|| ||Ay||; GMRES and BiCGStab accept it"
    )]
    NotSymmetric {
        /// "matrix" or "preconditioner".
        what: &'static str,
        /// |x.Ay - y.Ax| / max(||x|| ||Ay||, ||y|| ||Ax||) for two vectors, where A is the matrix or the preconditioner.
        departure: f64,
    },
    /// A method's own residual reached its target, but that of x did not.
    #[error(
        "solve: the residual of x is {residual:.1e} of ||b||, though that of the method reached its target: A is singular or nearly so, as \
         without Dirichlet conditions; those that map constants to 0 are solved with NullSpace::Constants"
    )]
    Singular {
        /// ||b - A x|| / ||b||.
        residual: f64,
    },
    /// A quantity is NaN or infinite.
    #[error("{method}: {quantity} is {value} at iteration {iteration}")]
    NotFinite {
        /// "CG", "GMRES", "BiCGStab", "MINRES" or "Newton".
        method: &'static str,
        /// Name of the quantity.
        quantity: &'static str,
        /// Its value.
        value: f64,
        /// Iteration, 0-based.
        iteration: usize,
    },
    /// A quantity is so small that its square is 0 or has lost digits, so that no norm can tell convergence.
    #[error(
        "{method} did not converge: {quantity} is {value:.3e}, whose square underflows; a problem in larger units is accepted"
    )]
    Underflow {
        /// "CG", "GMRES", "BiCGStab", "MINRES" or "Newton".
        method: &'static str,
        /// Name of the quantity.
        quantity: &'static str,
        /// Its value, as computed.
        value: f64,
    },
    /// A file could not be read or written.
    #[error("{}: {}", printable(&cut(path, LONGEST_PATH)), printable(&cut(reason, LONGEST_MESSAGE)))]
    File {
        /// Path as the caller gave it.
        path: String,
        /// Reason, from the operating system or the parser.
        reason: String,
    },
    /// The caller ended the work, by an observer or an operator that returned this error.
    #[error("interrupted by the caller")]
    Interrupted,
    /// MPI could not be started, or the ranks disagree.
    #[error("MPI: {0}")]
    Mpi(String),
    /// A GPU or a library that it needs is missing, or its driver reports a failure.
    #[error("{0}")]
    Device(String),
    /// This rank failed in the midst of collective work, and no other rank knows: the caller ends them, by
    /// [`Communicator::abort`](crate::comm::Communicator::abort).
    #[error("{0}")]
    Alone(Box<Error>),
    /// Another rank failed and reports the reason; this rank only stops. A program prints nothing for this error.
    #[error("rank {rank} failed; its message says why")]
    Elsewhere {
        /// Rank that holds the original error.
        rank: usize,
    },
}

/// Longest message and longest path that are shown whole, in characters.
const LONGEST_MESSAGE: usize = 2000;
const LONGEST_PATH: usize = 300;

/// Returns the first `most` characters of a text, with dots if there are more.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    text.char_indices().nth(most).map_or(Cow::Borrowed(text), |(end, _)| Cow::Owned(format!("{}...", &text[..end])))
}

/// A number with its noun, in the plural unless it is 1.
pub fn count(number: impl fmt::Display + PartialEq + From<u8>, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == 1.into() => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

/// Returns `text` in a form that a terminal shows as it is: control characters, line ends and characters that change the
/// direction of text are replaced by their escapes (`\n`, `\u{1b}`).
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| {
        // Zero-width characters, line and paragraph separators, marks and overrides of direction, byte order mark.
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        if is_hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Location in an element where the Jacobian determinant is not positive.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FoldPlace {
    /// At a point of the cubature rule.
    #[error("at cubature point {0}")]
    Point(usize),
    /// At a corner, numbered as in the element-node table.
    #[error("at corner {0}")]
    Corner(usize),
    /// At a point of the reference element [0, 1]^3 that is no corner.
    #[error("inside, at ({}, {}, {}) of its unit cube", .0[0], .0[1], .0[2])]
    Inside([f64; 3]),
    /// Nowhere found, but the lower bound of the determinant around this point of [0, 1]^3 is not positive.
    #[error("or more around ({}, {}, {}) of its unit cube", .0[0], .0[1], .0[2])]
    Around([f64; 3]),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Returns whether all ranks meet this error together, because all-reduces decide it.
    pub fn is_collective(&self) -> bool {
        matches!(
            self,
            Error::NotConverged { .. }
                | Error::Breakdown { .. }
                | Error::Indefinite { .. }
                | Error::IndefinitePreconditioner { .. }
                | Error::Pivot { .. }
                | Error::NotSymmetric { .. }
                | Error::Singular { .. }
                | Error::NotFinite { .. }
                | Error::Underflow { .. }
        )
    }

    /// Adds stage and rank to an [`Error::OutOfMemory`] that lacks them; returns all other errors unchanged.
    #[must_use]
    pub fn in_stage(mut self, name: &'static str, of_rank: Option<usize>) -> Self {
        if let Error::OutOfMemory { rank, stage, .. } = &mut self {
            *rank = rank.or(of_rank);
            stage.get_or_insert(name);
        }
        self
    }

    /// Returns whether the message begins with the rank.
    pub fn names_rank(&self) -> bool {
        match self {
            Error::OutOfMemory { rank, .. } => rank.is_some(),
            Error::Alone(error) => error.names_rank(),
            _ => false,
        }
    }

    /// Makes an [`Error::Shape`] for a one-dimensional array.
    pub(crate) fn length(operation: &'static str, array: &'static str, actual: usize, expected: usize) -> Self {
        Error::Shape { operation, array, actual: vec![actual], expected: vec![expected] }
    }
}

/// Returns "rank 1, stage `graph`: " as far as it is known.
fn place(rank: Option<usize>, stage: Option<&'static str>) -> String {
    match (rank, stage) {
        (Some(rank), Some(stage)) => format!("rank {rank}, stage `{stage}`: "),
        (Some(rank), None) => format!("rank {rank}: "),
        (None, Some(stage)) => format!("stage `{stage}`: "),
        (None, None) => String::new(),
    }
}

/// Returns "1.5 MiB (1572864 bytes)".
fn bytes(count: u64) -> String {
    format!("{:.1} MiB ({count} bytes)", count as f64 / f64::from(1 << 20))
}

/// Returns [`Error::Shape`] unless a one-dimensional array has the expected length.
pub(crate) fn check_length(operation: &'static str, array: &'static str, actual: usize, expected: usize) -> Result<()> {
    if actual == expected { Ok(()) } else { Err(Error::length(operation, array, actual, expected)) }
}

/// Returns [`Error::Shape`] if a one-dimensional array is shorter than `least`.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
pub(crate) fn check_at_least(operation: &'static str, array: &'static str, actual: usize, least: usize) -> Result<()> {
    if actual >= least { Ok(()) } else { Err(Error::length(operation, array, actual, least)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_is_in_the_plural_unless_its_number_is_1() {
        assert_eq!([0, 1, 2].map(|n: usize| count(n, "node")), ["0 nodes", "1 node", "2 nodes"]);
        assert_eq!([1u64, 5].map(|n| count(n, "entry")), ["1 entry", "5 entries"]);
        let error = Error::NotConverged { method: "Newton", iterations: 1, residual: 2.0, tolerance: 1.0 };
        assert!(error.to_string().ends_with(" after 1 iteration"), "{error}");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!([cut("\u{e9}\u{e9}\u{e9}", 2), cut("\u{e9}\u{e9}", 2)], ["\u{e9}\u{e9}...", "\u{e9}\u{e9}"]);
        let long = "p".repeat(100_000);
        let file = Error::File { path: long.clone(), reason: "File name too long".into() }.to_string();
        assert_eq!(file, format!("{}...: File name too long", "p".repeat(300)));
        assert_eq!(Error::Invalid(long).to_string().len(), 2003);
    }

    #[test]
    fn names_in_messages_cannot_steer_a_terminal() {
        let hostile = "a\u{1b}[31m\r\n\u{9b}2J\u{202e}b\0\u{7f}\u{2028}";
        let shown = printable(hostile);
        assert_eq!(shown, r"a\u{1b}[31m\r\n\u{9b}2J\u{202e}b\u{0}\u{7f}\u{2028}");
        assert_eq!(printable(&shown), shown);
        assert!(matches!(printable("T_0 = 1, é, 漢"), Cow::Borrowed("T_0 = 1, é, 漢")));
        for error in [Error::Invalid(hostile.into()), Error::File { path: hostile.into(), reason: hostile.into() }] {
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
    }
}
