//! Texts and errors on the streams of a program: the first rank alone writes them.

use super::Exit;
use crate::comm::launched_rank;
use crate::error::printable;
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

/// Writes an error common to all ranks once, and returns the exit code.
pub fn failure(error: &(dyn std::error::Error + 'static), err: &mut dyn Write) -> Exit {
    let _ = show(err, &format!("error: {}\n", printable(&error.to_string())));
    Exit::before_work(error)
}
