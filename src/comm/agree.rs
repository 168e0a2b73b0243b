//! Turns the failure of one rank into a failure of all, reported once.
//!
//! Without it, the surviving ranks would wait forever in their next collective operation.

use super::Communicator;
use crate::{Error, Result};

/// Makes a result the same on all ranks: `Ok` everywhere or `Err` everywhere.
///
/// If some ranks failed, the lowest of them keeps its error and all others return [`Error::Elsewhere`], which a program
/// does not print: all ranks then end in order, with one message. Collective. Intended for set-up steps that may fail
/// on some ranks only (memory, a folded element, a device). Costs one all-reduce of 8 bytes.
///
/// # Errors
/// Returns the error of the lowest failed rank on that rank, and [`Error::Elsewhere`] on all others.
pub fn agree<T>(comm: &dyn Communicator, result: Result<T>) -> Result<T> {
    // Ranks are below 2^31 and therefore exact in f64. The maximum of the negated ranks is the lowest rank.
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
