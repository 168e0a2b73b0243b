//! Conversion of driver failures to [`Error::Device`].

use crate::Error;
use crate::faults::{self, Kind};
use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

/// Fails if a test wants the next call to. Stands before a call that makes something, whose result is converted by [`made`].
pub(super) fn before(operation: &str) -> crate::Result<()> {
    let result = if faults::fails(Kind::Driver, operation) { Err(OUT_OF_MEMORY) } else { Ok(()) };
    made(result, operation)
}

/// Converts the failure of a call that makes something.
pub(super) fn made<T>(result: Result<T, DriverError>, operation: &str) -> crate::Result<T> {
    result.map_err(|error| failed(error, operation))
}

/// Converts the failure of a call, or fails if a test wants it to.
pub(super) fn checked<T>(result: Result<T, DriverError>, operation: &str) -> crate::Result<T> {
    let result = if faults::fails(Kind::Driver, operation) { Err(LAUNCH_FAILED) } else { result };
    made(result, operation)
}

/// Converts an error of the driver.
pub(super) fn failed(error: DriverError, operation: &str) -> Error {
    Error::Device(format!("{operation}: {}", describe(error.0)))
}

const OUT_OF_MEMORY: DriverError = DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
const LAUNCH_FAILED: DriverError = DriverError(CUresult::CUDA_ERROR_LAUNCH_FAILED);

/// Returns the driver's name and description of an error code.
fn describe(code: CUresult) -> String {
    let error = DriverError(code);
    let text = |found: Result<&std::ffi::CStr, DriverError>| found.map(|t| t.to_string_lossy().into_owned());
    match (text(error.error_name()), text(error.error_string())) {
        (Ok(name), Ok(words)) => format!("{name} ({words})"),
        _ => format!("{code:?}"),
    }
}
