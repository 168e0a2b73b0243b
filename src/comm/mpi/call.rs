//! Shared by all calls of MPI's C interface: codes become errors, tags, the end of all ranks.

use crate::error::check_length;
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

/// Returns whether all requests have ended, and writes a status for each. Those that have ended become null requests, which count as ended.
pub(super) fn test(requests: &mut [ffi::MPI_Request], statuses: Option<&mut [ffi::MPI_Status]>) -> Result<bool> {
    let mut is_done = 0;
    let statuses = match statuses {
        Some(statuses) => {
            check_length("MPI_Testall", "statuses", statuses.len(), requests.len())?;
            statuses.as_mut_ptr()
        }
        // SAFETY: reads a constant of MPI.
        None => unsafe { ffi::RSMPI_STATUSES_IGNORE },
    };
    // SAFETY: the requests were made by MPI, fewer than 2^31; there are as many statuses, or none. The buffers behind the requests live
    // until they have ended.
    let code = unsafe { ffi::MPI_Testall(requests.len() as i32, requests.as_mut_ptr(), &mut is_done, statuses) };
    check("MPI_Testall", code)?;
    Ok(is_done != 0)
}

/// Returns the status of the next message, or `None`.
pub(super) fn probe(comm: ffi::MPI_Comm, tag: i32) -> Result<Option<ffi::MPI_Status>> {
    let mut is_there = 0;
    // SAFETY: zeros are a valid status; the communicator is the running world.
    let (code, status) = unsafe {
        let mut status = std::mem::zeroed();
        (ffi::MPI_Iprobe(ffi::RSMPI_ANY_SOURCE, tag, comm, &mut is_there, &mut status), status)
    };
    check("MPI_Iprobe", code)?;
    Ok((is_there != 0).then_some(status))
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
