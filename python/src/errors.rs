//! Errors of the library as exceptions of Python.

use minifenl::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// Returns the exception of an error, in the words of Python's arguments: `ValueError` for arguments, `MemoryError`, `OSError` for files, `RuntimeError` for a device that
/// fails and a method that does not converge.
pub fn exception(error: Error) -> PyErr {
    let text = match error {
        Error::Breakdown { iteration, curvature, residual } => format!(
            "method \"cg\" broke down at iteration {iteration}: p.Ap = {curvature:.3e} <= 0, residual {residual:.3e}; it needs a symmetric \
             positive definite A; method=\"minres\" takes any symmetric one, \"gmres\" and \"bicgstab\" any"
        ),
        Error::NotSymmetric { what, departure } => format!(
            "method \"cg\" failed, and the {what} is not symmetric: |x.Ay - y.Ax| is {departure:.1e} of ||x|| ||Ay||; method=\"gmres\" and \
             \"bicgstab\" accept it"
        ),
        Error::Singular { residual } => format!(
            "solve: the residual of x is {residual:.1e} of ||b||, though that of the method reached its target: A is singular or nearly so, \
             as without Dirichlet conditions"
        ),
        _ => error.to_string(),
    };
    match error {
        Error::Shape { .. } | Error::Invalid(_) | Error::TooLarge { .. } | Error::Folded { .. } => {
            PyValueError::new_err(text)
        }
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        Error::File { .. } => PyOSError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}
