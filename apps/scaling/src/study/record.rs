//! One run, as its report tells it.

use super::plan::{MOST_THREADS, Point, Study};
use super::text::Text;
use minifenl::element::ElementType;
use minifenl::mesh::{BoxSpec, CoordinateMap, Sizes};
use minifenl::run::report::SCHEMA_VERSION;
use minifenl::{Error, Result, files};
use serde::Deserialize;
use std::path::Path;

/// Largest report, in bytes. 100,000 ranks on as many hosts take about 20 MB.
const LARGEST: u64 = 1 << 28;

/// Most seconds, bytes and per cent that are taken for those of a run.
const MOST: f64 = 1e30;

/// What a study takes from the report of a run; names are those of the report.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    pub schema_version: u32,
    pub problem: ProblemRecord,
    pub nodes: u64,
    pub elements: u64,
    pub version: Text,
    pub date: Text,
    pub mesh: MeshRecord,
    pub ranks: usize,
    pub threads: usize,
    pub device: Text,
    pub cg_iterations: usize,
    pub cg_reductions: usize,
    pub total_seconds: f64,
    pub verified: bool,
    pub verdict: Vec<Text>,
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

fn heat() -> Text {
    Text::from("heat")
}

fn hex8() -> Text {
    Text::from("hex8")
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

/// The problem.
#[derive(Clone, Debug, Deserialize)]
pub struct ProblemRecord {
    /// Not in reports of before other problems.
    #[serde(default = "heat")]
    pub name: Text,
}

/// The box.
#[derive(Clone, Debug, Deserialize)]
pub struct MeshRecord {
    /// Not in reports of before other types.
    #[serde(default = "hex8")]
    pub element: Text,
    pub nodes: [u64; 3],
}

/// Machine and build.
#[derive(Clone, Debug, Deserialize)]
pub struct ProvenanceRecord {
    pub machine: MachineRecord,
    pub mpi: Option<Text>,
    pub build: BuildRecord,
    pub placement: Vec<PlacementRecord>,
}

/// The machine of the first rank.
#[derive(Clone, Debug, Deserialize)]
pub struct MachineRecord {
    pub host: Text,
    pub cpu: Text,
    pub cores: Option<usize>,
    pub hardware_threads: usize,
}

/// The build.
#[derive(Clone, Debug, Deserialize)]
pub struct BuildRecord {
    pub commit: Text,
    pub profile: Text,
}

/// Where neighbouring ranks compute.
#[derive(Clone, Debug, Deserialize)]
pub struct PlacementRecord {
    pub first_rank: usize,
    pub last_rank: usize,
    pub host: Text,
    pub threads: usize,
    pub affinity: Text,
    pub gpu: Option<Text>,
}

/// One phase.
#[derive(Clone, Debug, Deserialize)]
pub struct PhaseRecord {
    pub name: Text,
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

    /// Returns why the report does not belong to this point of a study or does not count.
    pub fn mistake(&self, study: &Study, point: Point) -> Option<String> {
        if self.schema_version != SCHEMA_VERSION {
            return Some(format!("schema_version is {}, expected {SCHEMA_VERSION}", self.schema_version));
        }
        let nodes = match study.nodes_of(point.ranks) {
            Ok(nodes) => nodes,
            Err(error) => return Some(error.to_string()),
        };
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
        let unfit = self.other_problem(study).or_else(|| self.impossible().map(|what| format!("{what} cannot be")));
        unfit.or_else(|| {
            let is_open = !self.verified && !self.is_not_judged();
            is_open.then(|| {
                format!("not verified: {}", self.verdict.iter().map(|reason| &**reason).collect::<Vec<_>>().join("; "))
            })
        })
    }

    /// Problem and type of the elements.
    pub fn kind(&self) -> [&str; 2] {
        [&self.problem.name, &self.mesh.element]
    }

    /// Says which other problem this is than that of the study's flags. A deck may give any.
    fn other_problem(&self, study: &Study) -> Option<String> {
        let is_by_deck = study.given("--input").is_some();
        let expected = [("--problem", "heat"), ("--element", "hex8")]
            .map(|(flag, default)| study.given(flag).or((!is_by_deck).then_some(default)));
        let pairs = self.kind().into_iter().zip(expected);
        pairs
            .filter_map(|(own, expected)| Some((own, expected?)))
            .find(|(own, expected)| own != expected)
            .map(|(own, expected)| format!("this is a run of `{own}`: expected {expected}"))
    }

    /// Names the first number that no run has.
    fn impossible(&self) -> Option<&'static str> {
        let element = ElementType::ALL.iter().find(|(_, name)| self.mesh.element == *name);
        let whole = || Some(Sizes::whole(&BoxSpec::unit(self.mesh.nodes, CoordinateMap::None).ok()?, element?.0));
        let is_amount = |value: f64| (0.0..=MOST).contains(&value);
        let is_rate = |value: f64| value > 0.0 && value <= MOST;
        let is_phase =
            |phase: &PhaseRecord| is_amount(phase.seconds) && is_amount(phase.bytes) && is_rate(phase.imbalance);
        let (partition, ranks) = (&self.partition, self.ranks as u64);
        let is_share = |most: u64| most <= self.nodes && most.saturating_mul(ranks) >= self.nodes;
        let checks = [
            ("number of nodes or elements", whole() == Some([self.nodes, self.elements])),
            ("total_seconds", is_rate(self.total_seconds)),
            ("triad_gb_per_s", self.triad_gb_per_s.is_none_or(is_rate)),
            ("imbalance of the partition", partition.imbalance_percent.is_none_or(is_amount)),
            ("owned_max of the partition", partition.owned_max.is_none_or(is_share)),
            ("placement", self.are_all_placed()),
            ("seconds, bytes or imbalance of a phase", self.phases.iter().all(is_phase)),
            ("seconds of phase cg", self.phase("cg").is_some_and(|cg| cg.seconds > 0.0)),
        ];
        checks.into_iter().find_map(|(what, is_sound)| (!is_sound).then_some(what))
    }

    /// Whether each rank has one place.
    fn are_all_placed(&self) -> bool {
        let mut next = 0;
        self.provenance.placement.iter().all(|entry| {
            let follows = entry.first_rank == next && entry.last_rank >= next && entry.last_rank < self.ranks;
            next = entry.last_rank.saturating_add(1);
            follows && (1..=MOST_THREADS).contains(&entry.threads)
        }) && next == self.ranks
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
