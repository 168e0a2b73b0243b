//! One failing rank is everybody's failure, told once.

use super::Communicator;
use crate::{Error, Result};

/// Makes a result the same on all ranks: `Ok` everywhere, or `Err` everywhere.
///
/// Where some ranks failed, the lowest of them keeps its error and all others get [`Error::Elsewhere`], which a program
/// does not print: all ranks then end in order, with one message. Collective; for set-up steps that may fail on some
/// ranks only (memory, a folded element, a device). One reduction of 8 bytes.
///
/// # Errors
/// As described.
pub fn agree<T>(comm: &dyn Communicator, result: Result<T>) -> Result<T> {
    // Ranks are below 2^31, so they are exact in f64; the largest of the negated ranks is the lowest rank.
    let mut lowest = [if result.is_err() { -(comm.rank() as f64) } else { f64::NEG_INFINITY }];
    comm.all_max(&mut lowest);
    if lowest[0] == f64::NEG_INFINITY {
        return result;
    }
    let failed = -lowest[0] as usize;
    match result {
        Err(error) if failed == comm.rank() => Err(error),
        _ => Err(Error::Elsewhere { rank: failed }),
    }
}
