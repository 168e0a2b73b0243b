//! Turns the failure of one rank into a failure of all, reported once.
//!
//! Without it, the surviving ranks would wait forever in their next collective operation.

use super::Communicator;
use crate::{Error, Result};

/// Makes a result the same on all ranks: `Ok` everywhere or `Err` everywhere.
///
/// If some ranks failed, the lowest of them keeps its error and all others return [`Error::Elsewhere`], which a program
/// does not print: all ranks then end in order, with one message. Collective. Intended for set-up steps that may fail
/// on some ranks only (memory, a folded element, a device). Costs one all-reduce of 16 bytes.
///
/// # Errors
/// Returns the error of the lowest failed rank on that rank, and [`Error::Elsewhere`] on all others.
pub fn agree<T>(comm: &dyn Communicator, result: Result<T>) -> Result<T> {
    let Some(failure) = failing(comm, result.is_err()) else { return result };
    match result {
        Err(error) if failure.lowest == comm.rank() => Err(error),
        _ => Err(Error::Elsewhere { rank: failure.lowest }),
    }
}

/// The ranks at which a step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failing {
    /// The lowest of them. It alone reports its error.
    pub lowest: usize,
    /// Whether the step failed on all ranks.
    pub all: bool,
}

/// Returns which ranks failed, or `None` if none did; the same on all ranks. Collective, 16 bytes.
pub fn failing(comm: &dyn Communicator, has_failed: bool) -> Option<Failing> {
    // Ranks are below 2^31 and therefore exact in f64. The maximum of the negated ranks is the lowest rank.
    let mut values = [f64::NEG_INFINITY, 0.0];
    if has_failed {
        values = [-(comm.rank() as f64), -1.0];
    }
    comm.all_max(&mut values);
    let [lowest, all] = values;
    (lowest != f64::NEG_INFINITY).then_some(Failing { lowest: -lowest as usize, all: all < 0.0 })
}
