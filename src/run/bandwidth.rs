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
    unasked(comm, space.triad_bandwidth(comm))
}

/// Nobody asked for the measurement, so a lack of memory on some rank ends it and not the run.
fn unasked(comm: &dyn Communicator, measured: Result<f64>) -> Result<Option<f64>> {
    match failing(comm, matches!(measured, Err(Error::OutOfMemory { .. }))) {
        Some(_) => Ok(None),
        None => agree(comm, measured).map(Some),
    }
}

fn is_cheap(measurement: f64, run: f64) -> bool {
    measurement <= SHARE * run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::on_ranks;

    #[test]
    fn a_measurement_is_cheap_up_to_two_per_cent_of_the_run() {
        assert!(is_cheap(0.5, 25.0) && !is_cheap(0.51, 25.0) && !is_cheap(0.5, 0.0));
    }

    #[test]
    fn a_rank_without_memory_ends_the_measurement_of_all_and_another_failure_the_run() {
        let short = || Error::OutOfMemory { rank: None, stage: None, what: "array `a`".into(), wanted: 8, free: 4 };
        let with = |error: &(dyn Fn() -> Error + Sync)| {
            on_ranks(3, |comm| unasked(comm, if comm.rank() == 1 { Err(error()) } else { Ok(9.0) }))
        };
        let given_up = with(&short);
        assert!(given_up.iter().all(|measured| matches!(measured, Ok(None))), "{given_up:?}");
        let failed = with(&|| Error::Device("lost".into()));
        assert!(matches!(failed[..], [Err(Error::Elsewhere { rank: 1 }), Err(Error::Device(_)), Err(_)]), "{failed:?}");
        assert!(on_ranks(2, |comm| unasked(comm, Ok(9.0))).iter().all(|measured| matches!(measured, Ok(Some(_)))));
    }
}
