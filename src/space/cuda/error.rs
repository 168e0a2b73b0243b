//! Conversion of driver failures to [`Error::Device`].

use crate::Error;
use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

/// Converts a failure to [`Error::Device`] with the name of the operation.
pub(super) trait OrDevice<T> {
    fn or_device(self, operation: &str) -> crate::Result<T>;
}

impl<T> OrDevice<T> for Result<T, DriverError> {
    fn or_device(self, operation: &str) -> crate::Result<T> {
        self.map_err(|error| Error::Device(format!("{operation}: {}", describe(error.0))))
    }
}

impl OrDevice<()> for CUresult {
    fn or_device(self, operation: &str) -> crate::Result<()> {
        self.result().or_device(operation)
    }
}

/// Returns the driver's name and description of an error code.
fn describe(code: CUresult) -> String {
    let error = DriverError(code);
    let text = |found: Result<&std::ffi::CStr, DriverError>| found.map(|t| t.to_string_lossy().into_owned());
    match (text(error.error_name()), text(error.error_string())) {
        (Ok(name), Ok(words)) => format!("{name} ({words})"),
        _ => format!("{code:?}"),
    }
}
