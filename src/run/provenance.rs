//! Provenance of a report: machine, GPU, build, MPI, settings, and each rank's cores.
//!
//! Everything is read from files below `/proc` and `/sys`, from the build, and from libraries that the run has loaded. What is not
//! there (in a container, without git, on another system) is null or "unknown"; nothing here fails.

mod date;
mod machine;
mod placement;

#[cfg(feature = "cuda")]
pub(super) use machine::driver_release;
pub use machine::{GpuReport, MachineReport};
use placement::Place;
pub use placement::PlacementReport;

use super::program::Others;
use super::{Deck, Job};
use crate::Result;
use crate::comm::Communicator;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Provenance of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProvenanceReport {
    /// The words of the command line; the program, without its folder, first.
    pub command: Vec<String>,
    /// The settings, as a deck.
    pub deck: Deck,
    /// The machine of the first rank.
    pub machine: MachineReport,
    /// The GPU of the first rank.
    pub gpu: Option<GpuReport>,
    /// The MPI library and its version; null without MPI.
    pub mpi: Option<String>,
    /// The build.
    pub build: BuildReport,
    /// Host, cores and device of the ranks; ranks with the same ones are one entry.
    pub placement: Vec<PlacementReport>,
    /// Hardware threads that other programs used on the busiest host, on average; null where unknown.
    pub other_programs: Option<f64>,
}

/// Build of the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuildReport {
    /// The commit of the sources, with `-dirty` if they differ from it; or "unknown".
    pub commit: String,
    /// The compiler.
    pub rustc: String,
    /// The platform that it compiled for.
    pub target: String,
    /// "release" or "debug".
    pub profile: &'static str,
    /// Features of this crate.
    pub features: Vec<&'static str>,
    /// Instruction sets of all code, as the compiler names them.
    pub target_features: Vec<&'static str>,
    /// Instruction sets of this processor that loops with several versions can use.
    pub detected_features: Vec<&'static str>,
}

impl Default for BuildReport {
    /// Describes this build on this processor.
    fn default() -> Self {
        let features =
            [("cli", cfg!(feature = "cli")), ("cuda", cfg!(feature = "cuda")), ("mpi", cfg!(feature = "mpi"))];
        BuildReport {
            commit: env!("MINIFENL_BUILD_COMMIT").into(),
            rustc: env!("MINIFENL_BUILD_RUSTC").into(),
            target: env!("MINIFENL_BUILD_TARGET").into(),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
            features: features.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name).collect(),
            target_features: env!("MINIFENL_BUILD_TARGET_FEATURES")
                .split(',')
                .filter(|name| !name.is_empty())
                .collect(),
            detected_features: machine::detected_features(),
        }
    }
}

/// The start of a run.
#[derive(Clone, Debug)]
pub(super) struct Start {
    wall: SystemTime,
    clock: Instant,
    others: Option<Others>,
}

impl Start {
    /// Reads the clocks; for one rank also the counters of its cores, for more ranks those of all cores.
    pub fn now(comm: &dyn Communicator) -> Self {
        let others = if comm.size() == 1 { Others::on_allowed_cores() } else { Others::start() };
        Start { wall: SystemTime::now(), clock: Instant::now(), others }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }

    /// The date of the start on the last rank to start, in UTC, as `2026-11-22T13:00:05Z`. Collective; the same on all ranks.
    pub fn date(&self, comm: &dyn Communicator) -> String {
        let mut seconds = [self.wall.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())];
        comm.all_max(&mut seconds);
        date::rfc3339(UNIX_EPOCH + Duration::from_secs_f64(seconds[0]))
    }
}

/// Collects the provenance of a run. Collective; the same on all ranks.
///
/// # Errors
/// Those of [`Communicator::all_gather`].
pub(super) fn provenance<S: Job>(
    space: &S,
    deck: &Deck,
    comm: &dyn Communicator,
    start: &Start,
) -> Result<ProvenanceReport> {
    let other_programs = Others::used_on_hosts(start.others.as_ref(), comm);
    let mut deck = deck.clone();
    // JSON holds text only.
    for path in [&mut deck.run.report, &mut deck.run.append, &mut deck.run.vtk].into_iter().flatten() {
        *path = PathBuf::from(path.to_string_lossy().into_owned());
    }
    let root = Path::new("/");
    let (machine, gpu) = (MachineReport::read(root), space.gpu());
    let own = Place { affinity: placement::affinity(root), machine, gpu, threads: space.threads() };
    let places = placement::gather(comm, &own)?;
    Ok(ProvenanceReport {
        command: command(std::env::args_os()),
        deck,
        machine: places[0].machine.clone(),
        gpu: places[0].gpu.clone(),
        mpi: Communicator::library_version(comm),
        build: BuildReport::default(),
        placement: placement::grouped(places),
        other_programs,
    })
}
/// The command line; of the program only its name, since its folder differs from machine to machine.
fn command(words: impl Iterator<Item = OsString>) -> Vec<String> {
    let text = |word: &OsStr| word.to_string_lossy().into_owned();
    let name = |word: &OsString| Path::new(word).file_name().map_or_else(|| text(word), text);
    words.enumerate().map(|(at, word)| if at == 0 { name(&word) } else { text(&word) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks start one after the other: all tell the second in which the last one did.
    #[test]
    fn ranks_tell_the_date_of_the_last_to_start() {
        let dates = crate::comm::ranks::on_ranks(3, |comm| {
            let wall = UNIX_EPOCH + Duration::from_secs([5, 86_400, 7][comm.rank()]);
            Start { wall, clock: Instant::now(), others: None }.date(comm)
        });
        assert_eq!(dates, ["1970-01-02T00:00:00Z"; 3]);
    }
}
