//! Errors of the library as exceptions of Python.

use minifenl::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// Returns the exception of an error: `ValueError` for arguments, `MemoryError`, `OSError` for files, `RuntimeError` for a device that
/// fails and a method that does not converge.
pub fn exception(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Shape { .. } | Error::Invalid(_) | Error::TooLarge { .. } | Error::Folded { .. } => {
            PyValueError::new_err(text)
        }
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        Error::File { .. } => PyOSError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}
