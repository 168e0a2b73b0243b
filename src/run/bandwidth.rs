//! Decides whether a run measures the triad bandwidth, and measures it.
//!
//! Asked for (`--triad`) it is measured; forbidden (`--no-triad`) it is not; otherwise it is if its estimated time is at most [`SHARE`]
//! of the run's.

use super::{Deck, Job};
use crate::comm::{Communicator, agree, failing};
use crate::{Error, Result};

/// Largest share of the time of a run that a measurement nobody asked for may take.
const SHARE: f64 = 0.02;

/// Measures this rank's triad bandwidth in GB/s after a run of `seconds`, or does not. The same on all ranks. Collective.
///
/// # Errors
/// A device's failure; [`Error::OutOfMemory`] if the deck asks for the measurement.
pub(super) fn bandwidth<S: Job>(space: &S, deck: &Deck, comm: &dyn Communicator, seconds: f64) -> Result<Option<f64>> {
    if deck.run.triad == Some(true) {
        return agree(comm, space.triad_bandwidth(comm)).map(Some);
    }
    let mut longest = [space.triad_seconds(comm), seconds];
    comm.all_max(&mut longest);
    if deck.run.triad == Some(false) || !is_cheap(longest[0], longest[1]) {
        return Ok(None);
    }
    let measured = space.triad_bandwidth(comm);
    // Nobody asked for it, so a lack of memory does not end the run.
    if failing(comm, matches!(measured, Err(Error::OutOfMemory { .. }))).is_some() {
        return Ok(None);
    }
    agree(comm, measured).map(Some)
}

fn is_cheap(measurement: f64, run: f64) -> bool {
    measurement <= SHARE * run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_cheap_up_to_two_per_cent_of_the_run() {
        assert!(is_cheap(0.5, 25.0) && !is_cheap(0.51, 25.0) && !is_cheap(0.5, 0.0));
    }
}
