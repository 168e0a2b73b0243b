//! The communicator of this run: MPI if a launcher started this process, else one rank.

use super::{Communicator, Solo, started_by_mpirun};
use crate::Result;

/// Returns the communicator of this run: `Mpi` if a launcher started this process, else [`Solo`].
///
/// # Errors
/// [`Error::Mpi`](crate::Error::Mpi) when a launcher started several processes and this build has no MPI, or when MPI
/// fails to start.
pub fn world() -> Result<Box<dyn Communicator>> {
    world_of(started_by_mpirun())
}

fn world_of(started: Option<usize>) -> Result<Box<dyn Communicator>> {
    match started {
        #[cfg(feature = "mpi")]
        Some(_) => Ok(Box::new(super::Mpi::init()?)),
        #[cfg(not(feature = "mpi"))]
        Some(ranks) if ranks > 1 => Err(crate::Error::Mpi(format!(
            "{ranks} ranks were started, but this build has no MPI: build with `--features mpi` or start 1 rank"
        ))),
        _ => Ok(Box::new(Solo)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_launcher_is_alone() {
        assert_eq!(world_of(None).unwrap().size(), 1);
    }

    #[cfg(not(feature = "mpi"))]
    #[test]
    fn without_mpi_only_one_rank_may_run() {
        assert_eq!(world_of(Some(1)).unwrap().size(), 1);
        assert!(world_of(Some(4)).unwrap_err().to_string().contains("4 ranks were started"));
    }
}
