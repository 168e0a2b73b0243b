//! Shared by all calls of MPI's C interface: codes become errors, tags, the end of all ranks.

use crate::faults::{self, Kind};
use crate::{Error, Result};
use mpi::ffi;
use std::io::Write;

/// MPI promises tags up to this one. Exchanges use those below.
pub(super) const FREE_TAG: i32 = 32_767;

pub(super) fn check(call: &str, code: i32) -> Result<()> {
    let code = if faults::fails(Kind::Mpi, call) { ffi::MPI_ERR_OTHER as i32 } else { code };
    if code == ffi::MPI_SUCCESS as i32 { Ok(()) } else { Err(Error::Mpi(format!("{call} failed with code {code}"))) }
}

/// The request that `start` writes.
pub(super) fn request(call: &str, start: impl FnOnce(*mut ffi::MPI_Request) -> i32) -> Result<ffi::MPI_Request> {
    // SAFETY: reads a constant of MPI.
    let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
    check(call, start(&mut request))?;
    Ok(request)
}

/// Returns whether MPI sends GPU memory (`MPIX_Query_cuda_support`).
pub(super) fn has_cuda_support() -> bool {
    // SAFETY: a zero-terminated name; the library is loaded. The function of this name takes nothing and returns an int.
    unsafe {
        let query = libc::dlsym(libc::RTLD_DEFAULT, c"MPIX_Query_cuda_support".as_ptr());
        !query.is_null() && std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn() -> i32>(query)() == 1
    }
}

/// Ends all ranks, now.
pub(super) fn abort_all(code: i32) -> ! {
    let _ = std::io::stdout().flush();
    // SAFETY: MPI is running (an `Mpi` exists or existed when the hook was set), or MPI_Abort reports that it is not and
    // returns. It is called off the main thread only to end the process, which the MPI libraries in use allow.
    unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
    std::process::abort()
}
