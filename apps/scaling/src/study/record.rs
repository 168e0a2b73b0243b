//! One run, as its report tells it.

use super::plan::Point;
use minifenl::{Error, Result, files};
use serde::Deserialize;
use std::path::Path;

/// Largest report, in bytes. 100,000 ranks on as many hosts take about 20 MB.
const LARGEST: u64 = 1 << 28;

/// What a study takes from the report of a run; names are those of the report.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    pub version: String,
    pub date: String,
    pub mesh: MeshRecord,
    pub ranks: usize,
    pub threads: usize,
    pub device: String,
    pub cg_iterations: usize,
    pub cg_reductions: usize,
    pub total_seconds: f64,
    pub verified: bool,
    pub verdict: Vec<String>,
    /// With `--cg-iterations`: the run makes so many iterations per solve, and its answer is not judged.
    #[serde(default)]
    pub cg_iterations_asked: Option<u64>,
    pub triad_gb_per_s: Option<f64>,
    /// Not in reports of before `--imbalance`, whose boxes are even.
    #[serde(default)]
    pub partition: PartitionRecord,
    pub provenance: ProvenanceRecord,
    pub phases: Vec<PhaseRecord>,
}

/// The shares of the ranks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartitionRecord {
    pub imbalance_asked_percent: f64,
    pub owned_max: Option<u64>,
    /// Largest deviation of a rank's owned nodes from their mean.
    pub imbalance_percent: Option<f64>,
}

/// The box.
#[derive(Clone, Debug, Deserialize)]
pub struct MeshRecord {
    pub nodes: [u64; 3],
}

/// Machine and build.
#[derive(Clone, Debug, Deserialize)]
pub struct ProvenanceRecord {
    pub machine: MachineRecord,
    pub mpi: Option<String>,
    pub build: BuildRecord,
    pub placement: Vec<PlacementRecord>,
}

/// The machine of the first rank.
#[derive(Clone, Debug, Deserialize)]
pub struct MachineRecord {
    pub host: String,
    pub cpu: String,
    pub cores: Option<usize>,
    pub hardware_threads: usize,
}

/// The build.
#[derive(Clone, Debug, Deserialize)]
pub struct BuildRecord {
    pub commit: String,
    pub profile: String,
}

/// Where neighbouring ranks compute.
#[derive(Clone, Debug, Deserialize)]
pub struct PlacementRecord {
    pub first_rank: usize,
    pub last_rank: usize,
    pub host: String,
    pub threads: usize,
    pub affinity: String,
    pub gpu: Option<String>,
}

/// One phase.
#[derive(Clone, Debug, Deserialize)]
pub struct PhaseRecord {
    pub name: String,
    pub calls: u64,
    pub seconds: f64,
    pub bytes: f64,
    pub imbalance: f64,
}

impl Record {
    /// Reads a report.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read or is not a report.
    pub fn read(path: &Path) -> Result<Self> {
        let text = files::read_text(path, LARGEST)?;
        serde_json::from_str(&text).map_err(|error| Error::File {
            path: path.display().to_string(),
            reason: format!("not a report of minifenl: {error}"),
        })
    }

    /// Returns why the report does not belong to this point or does not count.
    pub fn mistake(&self, point: Point, nodes: [u64; 3]) -> Option<String> {
        let imbalance = self.partition.imbalance_asked_percent as u32;
        let own = Point { ranks: self.ranks, threads: self.threads, imbalance };
        if own.ranks == 1 && point.ranks > 1 {
            return Some(format!("ran on 1 rank instead of {}: the program or its launcher has no MPI", point.ranks));
        }
        if own != point || self.mesh.nodes != nodes {
            let words = |[x, y, z]: [u64; 3]| format!("{x}x{y}x{z} nodes");
            return Some(format!(
                "this is a run on {own} with {}: expected {point} with {}",
                words(self.mesh.nodes),
                words(nodes)
            ));
        }
        (!self.verified && !self.is_not_judged()).then(|| format!("not verified: {}", self.verdict.join("; ")))
    }

    /// Whether the run made a given number of iterations to its end: its times count, its answer was not asked for.
    pub fn is_not_judged(&self) -> bool {
        self.cg_iterations_asked.is_some() && self.verdict.iter().all(|reason| reason.starts_with("not asked:"))
    }

    /// A phase by its name, if it ran.
    pub fn phase(&self, name: &str) -> Option<&PhaseRecord> {
        self.phases.iter().find(|phase| phase.name == name && phase.calls > 0)
    }

    /// Seconds of one call on the slowest rank; one iteration of `cg`, `spmv` and `halo`.
    pub fn seconds_per_call(&self, name: &str) -> Option<f64> {
        self.phase(name).map(|phase| phase.seconds / phase.calls as f64)
    }
}
