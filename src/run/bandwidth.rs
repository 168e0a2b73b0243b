//! Decides whether a run measures the triad bandwidth, and measures it.
//!
//! Asked for (`--triad`) it is measured; forbidden (`--no-triad`) it is not; otherwise it is if its estimated time is at most [`SHARE`]
//! of the run's.

use super::{Deck, Event, Job, Progress};
use crate::comm::{Communicator, agree, failing};
use crate::{Error, Result};

/// Largest share of the time of a run that a measurement nobody asked for may take.
const SHARE: f64 = 0.02;

/// Measures this rank's triad bandwidth in GB/s after a run of `seconds`, or does not. The same on all ranks. Collective.
///
/// # Errors
/// A device's failure; [`Error::OutOfMemory`] if the deck asks for the measurement.
pub(super) fn bandwidth<S: Job>(
    space: &S,
    deck: &Deck,
    comm: &dyn Communicator,
    seconds: f64,
    progress: &Progress<'_>,
) -> Result<Option<f64>> {
    if deck.run.triad == Some(true) {
        progress(Event::Phase("triad"))?;
        return agree(comm, space.triad_bandwidth(comm)).map(Some);
    }
    let is_cheap = is_cheap(comm, space.triad_seconds(comm), seconds);
    if deck.run.triad == Some(false) || !is_cheap {
        return Ok(None);
    }
    progress(Event::Phase("triad"))?;
    unasked(comm, space.triad_bandwidth(comm))
}

/// Nobody asked for the measurement, so a lack of memory on some rank ends it and not the run.
fn unasked(comm: &dyn Communicator, measured: Result<f64>) -> Result<Option<f64>> {
    match failing(comm, matches!(measured, Err(Error::OutOfMemory { .. }))) {
        Some(_) => Ok(None),
        None => agree(comm, measured).map(Some),
    }
}

/// Compares the longest of all ranks' measurements with the longest of their runs: the same on all ranks. Collective.
fn is_cheap(comm: &dyn Communicator, measurement: f64, run: f64) -> bool {
    let mut longest = [measurement, run];
    comm.all_max(&mut longest);
    longest[0] <= SHARE * longest[1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::comm::ranks::on_ranks;

    #[test]
    fn a_measurement_is_cheap_up_to_two_per_cent_of_the_run() {
        for (measurement, run, expected) in [(0.5, 25.0, true), (0.51, 25.0, false), (0.5, 0.0, false)] {
            assert_eq!(is_cheap(&Solo, measurement, run), expected);
        }
        // Ranks whose own numbers say otherwise: one has the longest measurement, one the longest run.
        let of_ranks = |longest: f64| {
            on_ranks(3, |comm| is_cheap(comm, [0.1, longest, 0.1][comm.rank()], [1.0, 26.0, 25.0][comm.rank()]))
        };
        assert_eq!([of_ranks(0.52), of_ranks(0.53)], [vec![true; 3], vec![false; 3]]);
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
