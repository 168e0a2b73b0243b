//! NCCL, loaded at run time: one communicator per rank; sends, receives and gathers are enqueued on streams.
//!
//! The functions and their types follow NCCL's `nccl.h`, version 2.18 and later. The library orders the work of a communicator on
//! several streams by itself, and its work can be part of a CUDA graph.

use super::device::Device;
use super::library::open;
use super::{Cuda, CudaArray};
use crate::faults::{self, Kind};
use crate::{Error, Result};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Names of the library.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];
/// Oldest version that is used, as `ncclGetVersion` counts.
const OLDEST: u32 = 21800;
/// Words of the id that the ranks of a communicator share.
pub(crate) const ID_WORDS: usize = 16;
/// `ncclFloat64`.
const FLOAT64: c_int = 8;

#[repr(C)]
#[derive(Clone, Copy)]
struct UniqueId([u64; ID_WORDS]);

type Comm = *mut c_void;
type Stream = *mut c_void;

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of the library that are used here.
        struct Functions { $($field: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl Functions {
            fn of(library: &Library) -> std::result::Result<Self, String> {
                // SAFETY: the library's functions of these names have these types (`nccl.h`).
                unsafe { Ok(Functions { $($field: *library.get($name).map_err(|_| format!("no function {}", $name))?,)* }) }
            }
        }
    };
}
functions! {
    version = "ncclGetVersion": fn(*mut c_int) -> c_int;
    error_string = "ncclGetErrorString": fn(c_int) -> *const c_char;
    unique_id = "ncclGetUniqueId": fn(*mut UniqueId) -> c_int;
    init_rank = "ncclCommInitRank": fn(*mut Comm, c_int, UniqueId, c_int) -> c_int;
    destroy = "ncclCommDestroy": fn(Comm) -> c_int;
    async_error = "ncclCommGetAsyncError": fn(Comm, *mut c_int) -> c_int;
    group_start = "ncclGroupStart": fn() -> c_int;
    group_end = "ncclGroupEnd": fn() -> c_int;
    send = "ncclSend": fn(*const c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
    receive = "ncclRecv": fn(*mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
    all_gather = "ncclAllGather": fn(*const c_void, *mut c_void, usize, c_int, Comm, Stream) -> c_int;
}

/// The functions of the first of these libraries that is there, or why it cannot be used.
fn load(names: &[&str]) -> std::result::Result<Functions, String> {
    let absent = || format!("{} is not installed (package `libnccl2`, or `nvidia-nccl-cu13` of pip)", names[0]);
    Functions::of(open(names).map_err(|why| why.unwrap_or_else(absent))?)
}

/// NCCL, or why it cannot be used.
fn library() -> Result<&'static Functions> {
    static LOADED: OnceLock<std::result::Result<Functions, String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| load(&NAMES));
    loaded.as_ref().map_err(|why| Error::Device(format!("NCCL: {why}")))
}

/// Converts a result code to [`Error::Device`] with the name of the call.
fn check(functions: &Functions, code: c_int, call: &str) -> Result<()> {
    let code = if faults::fails(Kind::Driver, call) { 1 } else { code };
    if code == 0 {
        return Ok(());
    }
    // SAFETY: returns a constant text for any code.
    let text = unsafe { CStr::from_ptr((functions.error_string)(code)) }.to_string_lossy();
    Err(Error::Device(format!("{call}: {text}")))
}

/// A communicator of NCCL, with this rank's place in it.
pub(crate) struct Nccl {
    functions: &'static Functions,
    device: Arc<Device>,
    comm: Comm,
}

impl Nccl {
    /// Returns the version of the library, e.g. 22803 for 2.28.3.
    ///
    /// # Errors
    /// [`Error::Device`] if the library is absent, broken or older than 2.18.
    pub fn version() -> Result<u32> {
        let functions = library()?;
        let mut version = 0;
        // SAFETY: writes one number.
        check(functions, unsafe { (functions.version)(&mut version) }, "ncclGetVersion")?;
        match version as u32 {
            version if version >= OLDEST => Ok(version),
            version => Err(Error::Device(format!("NCCL: version {version}, expected {OLDEST} or later"))),
        }
    }

    /// Makes the id that all ranks of a communicator need; one rank makes it.
    pub fn id() -> Result<[u64; ID_WORDS]> {
        let functions = library()?;
        let mut id = UniqueId([0; ID_WORDS]);
        // SAFETY: writes the 128 bytes of an id.
        check(functions, unsafe { (functions.unique_id)(&mut id) }, "ncclGetUniqueId")?;
        Ok(id.0)
    }

    /// Joins the communicator of an id; all ranks call it together. Waits for them.
    pub fn new(space: &Cuda, id: [u64; ID_WORDS], rank: usize, ranks: usize) -> Result<Self> {
        let functions = library()?;
        space.device().bind()?;
        let mut comm = std::ptr::null_mut();
        // SAFETY: the context of the rank's GPU is current; NCCL writes the handle, which `drop` destroys.
        let code = unsafe { (functions.init_rank)(&mut comm, ranks as c_int, UniqueId(id), rank as c_int) };
        check(functions, code, "ncclCommInitRank")?;
        Ok(Nccl { functions, device: space.device().clone(), comm })
    }

    /// Sends and receives all messages of an exchange: (rank, places in `from`) and (rank, places in `to`).
    pub fn exchange(
        &self,
        space: &Cuda,
        sends: &[(usize, Range<usize>)],
        from: &CudaArray<f64>,
        receives: &[(usize, Range<usize>)],
        to: &mut CudaArray<f64>,
    ) -> Result<()> {
        let (functions, stream) = (self.functions, space.raw_stream());
        let place = |array: &CudaArray<f64>, range: &Range<usize>| {
            crate::error::check_at_least("halo by NCCL", "message", array.len(), range.end)?;
            Ok::<_, Error>((array.address() + (size_of::<f64>() * range.start) as u64) as *mut c_void)
        };
        space.device().bind()?;
        // SAFETY: no arguments.
        check(functions, unsafe { (functions.group_start)() }, "ncclGroupStart")?;
        let calls = || -> Result<()> {
            for (rank, range) in sends {
                let (start, count, peer) = (place(from, range)?, range.len(), *rank as c_int);
                // SAFETY: inside the array (checked), which lives until the stream's work is done.
                let code = unsafe { (functions.send)(start, count, FLOAT64, peer, self.comm, stream) };
                check(functions, code, "ncclSend")?;
            }
            for (rank, range) in receives {
                let (start, count, peer) = (place(to, range)?, range.len(), *rank as c_int);
                // SAFETY: as above.
                let code = unsafe { (functions.receive)(start, count, FLOAT64, peer, self.comm, stream) };
                check(functions, code, "ncclRecv")?;
            }
            Ok(())
        };
        let called = calls();
        // SAFETY: no arguments. A group is ended also when a call in it failed.
        let ended = check(functions, unsafe { (functions.group_end)() }, "ncclGroupEnd");
        called.and(ended)
    }

    /// `to[rank * range.len() + i] = from[range.start + i]` of each rank.
    pub fn all_gather(
        &self,
        space: &Cuda,
        from: &CudaArray<f64>,
        range: Range<usize>,
        ranks: usize,
        to: &mut CudaArray<f64>,
    ) -> Result<()> {
        crate::error::check_at_least("all-gather by NCCL", "from", from.len(), range.end)?;
        crate::error::check_at_least("all-gather by NCCL", "to", to.len(), ranks * range.len())?;
        space.device().bind()?;
        let start = (from.address() + (size_of::<f64>() * range.start) as u64) as *const c_void;
        let to = to.address() as *mut c_void;
        // SAFETY: inside the arrays, as checked.
        let code =
            unsafe { (self.functions.all_gather)(start, to, range.len(), FLOAT64, self.comm, space.raw_stream()) };
        check(self.functions, code, "ncclAllGather")
    }

    /// Reports a failure that NCCL noticed after its work was enqueued.
    pub fn check(&self) -> Result<()> {
        let mut code = 0;
        // SAFETY: writes one number.
        check(self.functions, unsafe { (self.functions.async_error)(self.comm, &mut code) }, "ncclCommGetAsyncError")?;
        check(self.functions, code, "NCCL")
    }
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nccl")
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: `new` made it; enqueued work is finished by NCCL first.
            unsafe { (self.functions.destroy)(self.comm) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_absent_and_one_that_is_not_nccl_are_named() {
        let why = |names: &[&str]| load(names).err().expect("no NCCL");
        assert_eq!(
            why(&["libminifenl-has-no-nccl.so.2"]),
            "libminifenl-has-no-nccl.so.2 is not installed (package `libnccl2`, or `nvidia-nccl-cu13` of pip)"
        );
        assert_eq!(why(&["libminifenl-has-no-nccl.so.2", "libc.so.6"]), "no function ncclGetVersion");
    }
}
