//! Texts and errors on the streams of a program: the first rank alone writes them.

use super::Exit;
use crate::Error;
use crate::comm::launched_rank;
use crate::error::printable;
use std::fs;
use std::io::{ErrorKind, Result, Write};

/// Returns whether this process is the first rank of its launcher, or the only process. Works before MPI starts.
pub fn is_first() -> bool {
    launched_rank().is_none_or(|rank| rank == 0)
}

/// Writes `text` on the first rank only, and flushes it. A reader that has closed the pipe is no failure.
///
/// # Errors
/// Any other failure of `out`, which is called the output.
pub fn show(out: &mut dyn Write, text: &str) -> Result<()> {
    if !is_first() {
        return Ok(());
    }
    // `minifenl | head` closes the pipe early.
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(std::io::Error::new(error.kind(), format!("the output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Refuses a standard output that would lose a report. Rust opens `/dev/null`, for reading and writing, in place of a closed one;
/// `> /dev/null` opens it for writing only, and is accepted. Only Linux tells.
///
/// # Errors
/// [`Error::Invalid`] on the first rank.
pub fn check_stdout() -> crate::Result<()> {
    let is_null = fs::read_link("/proc/self/fd/1").is_ok_and(|path| path.as_os_str() == "/dev/null");
    let opened = fs::read_to_string("/proc/self/fdinfo/1").unwrap_or_default();
    let flags = opened.lines().find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    let is_both = flags.is_some_and(|flags| flags & libc::O_ACCMODE == libc::O_RDWR);
    if is_first() && is_null && is_both {
        let why = "the standard output is closed, or /dev/null for reading and writing; give a file name";
        return Err(Error::Invalid(why.into()));
    }
    Ok(())
}

/// Writes an error common to all ranks once, and returns the exit code.
pub fn failure(error: &(dyn std::error::Error + 'static), err: &mut dyn Write) -> Exit {
    let _ = show(err, &format!("error: {}\n", printable(&error.to_string())));
    Exit::before_work(error)
}
