//! Starts the threads of a pool under limits of address space or data.
//!
//! A thread that runs out of memory before it reaches our code ends the whole process: libc cannot report the failure. Here each thread
//! starts only if the limit leaves memory for it and for all that follow, and only when the one before it runs.

use super::limits::FreeMemory;
use std::io::{Error, ErrorKind, Result};
use std::sync::mpsc::sync_channel;

/// Bytes of a thread: its stack with a guard page, and the tables of libc.
const THREAD: u64 = (2 << 20) + (64 << 10);
/// Bytes that must be left for small allocations of all threads.
const MARGIN: u64 = 8 << 20;

/// Whether a limit of this process makes the careful start necessary.
pub(super) fn is_limited() -> bool {
    FreeMemory::now().own != u64::MAX
}

/// Starts one thread of a pool of `threads`, and returns when it runs.
///
/// # Errors
/// `OutOfMemory` when the limit does not leave enough for this thread and the following ones; the system's error.
pub(super) fn start(thread: rayon::ThreadBuilder, threads: usize) -> Result<()> {
    let following = (threads - thread.index()) as u64;
    let (wanted, free) = (following * THREAD + MARGIN, FreeMemory::now().own);
    if free < wanted {
        let [wanted, free] = [wanted.div_ceil(1 << 20), free >> 20];
        let message = format!("{following} more need {wanted} MiB, the limit of this process (ulimit) leaves {free}");
        return Err(Error::new(ErrorKind::OutOfMemory, message));
    }
    let (runs, is_running) = sync_channel(1);
    std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let _ = runs.send(());
        thread.run();
    })?;
    let _ = is_running.recv();
    Ok(())
}
