//! Turns the failure of one rank into a failure of all, reported once.
//!
//! Without it, the surviving ranks would wait forever in their next collective operation.

use super::Communicator;
use crate::{Error, Result};

/// Makes a result the same on all ranks: `Ok` everywhere or `Err` everywhere.
///
/// If some ranks failed, the lowest of them keeps its error and all others return [`Error::Elsewhere`], which a program
/// does not print: all ranks then end in order, with one message. Collective. Intended for set-up steps that may fail
/// on some ranks only (memory, a folded element, a device). A result that was agreed upon before stays as it is. Costs one all-reduce of 16
/// bytes.
///
/// # Errors
/// Returns the error of the lowest failed rank on that rank, and [`Error::Elsewhere`] on all others.
pub fn agree<T>(comm: &dyn Communicator, result: Result<T>) -> Result<T> {
    match failing(comm, is_own(&result)) {
        None => result,
        Some(failure) => told_by(comm, failure, result),
    }
}

/// As [`agree`], but an error of a method ([`Error::is_collective`]) that all ranks have stays that of each.
///
/// # Errors
/// As [`agree`].
pub(crate) fn agree_on_method<T>(comm: &dyn Communicator, result: Result<T>) -> Result<T> {
    let is_other = !result.as_ref().is_err_and(Error::is_collective);
    match failing(comm, is_own(&result)) {
        None => result,
        Some(failure) if failure.all && failing(comm, is_other).is_none() => result,
        Some(failure) => told_by(comm, failure, result),
    }
}

fn is_own<T>(result: &Result<T>) -> bool {
    result.as_ref().is_err_and(|error| !matches!(error, Error::Elsewhere { .. }))
}

/// The error of the lowest rank that failed.
fn told_by<T>(comm: &dyn Communicator, failure: Failing, result: Result<T>) -> Result<T> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::on_ranks;

    #[test]
    fn an_error_of_one_rank_survives_a_second_agreement() {
        for failing in 0..3 {
            let ends = on_ranks(3, |comm| {
                let own = if comm.rank() == failing { Err(Error::Invalid("here".into())) } else { Ok(()) };
                let once = agree(comm, own);
                agree(comm, once)
            });
            for (rank, end) in ends.into_iter().enumerate() {
                match end.unwrap_err() {
                    Error::Invalid(text) => assert_eq!((rank, &*text), (failing, "here")),
                    Error::Elsewhere { rank: named } => assert!(named == failing && rank != failing),
                    other => panic!("{other}"),
                }
            }
            // One call that all ranks agree upon twice is no failure of the others.
            assert_eq!(on_ranks(3, |comm| agree(comm, agree(comm, Ok(comm.rank()))).unwrap()), [0, 1, 2]);
        }
    }

    #[test]
    fn an_error_of_a_method_stays_that_of_all_ranks_that_have_it() {
        let indefinite = || Err::<(), _>(Error::Indefinite { pivot: 2, value: -1.0 });
        let all = on_ranks(3, |comm| agree_on_method(comm, indefinite()).unwrap_err());
        assert!(all.iter().all(|end| matches!(end, Error::Indefinite { pivot: 2, .. })), "{all:?}");
        for other in [Ok(()), Err(Error::Mpi("lost".into()))] {
            let ends = on_ranks(3, |comm| match (comm.rank(), &other) {
                (1, Ok(())) => agree_on_method(comm, Ok(())),
                (1, _) => agree_on_method(comm, Err(Error::Mpi("lost".into()))),
                _ => agree_on_method(comm, indefinite()),
            });
            let is_told = |rank: usize| matches!(ends[rank], Err(Error::Elsewhere { rank: 0 }));
            assert!(matches!(ends[0], Err(Error::Indefinite { .. })) && is_told(1) && is_told(2), "{ends:?}");
        }
        assert_eq!(on_ranks(2, |comm| agree_on_method(comm, Ok(comm.rank())).unwrap()), [0, 1]);
    }

    /// Of several failed ranks the lowest reports, and all others name it.
    #[test]
    fn the_lowest_of_several_failed_ranks_keeps_its_error() {
        let ends = on_ranks(5, |comm| match comm.rank() {
            rank @ (1 | 3) => agree(comm, Err::<(), _>(Error::Invalid(format!("rank {rank}")))).unwrap_err(),
            _ => agree(comm, Ok(())).unwrap_err(),
        });
        for (rank, end) in ends.into_iter().enumerate() {
            match end {
                Error::Invalid(text) => assert_eq!((rank, &*text), (1, "rank 1")),
                other => assert!(rank != 1 && matches!(other, Error::Elsewhere { rank: 1 }), "rank {rank}: {other}"),
            }
        }
    }
}
