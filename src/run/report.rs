//! The result of a run: JSON, YAML, a row of CSV, and a table for people.
//! `docs/report.schema.json` describes the keys.
//!
//! Numbers that are not finite become `null` in JSON.

mod columns;
mod file;
mod header;
mod phase;
mod rating;
mod row;
mod table;
#[cfg(test)]
mod tests;
mod yaml;

pub use columns::columns;
pub use file::ReportFormat;
pub(super) use header::line;
pub use phase::{NOISY, PhaseReport, SpreadReport};
pub use rating::RatingReport;
pub use row::quoted;

use super::Deck;
use super::deck::{Forcing, Operator, Preconditioning, ProblemKind, Solver};
use super::provenance::ProvenanceReport;
use crate::element::ElementType;
use crate::element::equations::Heat;
use crate::space::Scan;
use crate::sparse::{Format, Precision};
use crate::{Error, fill, graph};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the keys of a report, as `docs/report.schema.json` lists them. It grows when one changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything a run has to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of this crate.
    pub version: &'static str,
    /// When the run started, in UTC (RFC 3339).
    pub date: String,
    /// The problem.
    pub problem: ProblemReport,
    /// The box.
    pub mesh: MeshReport,
    /// Nodes of the whole box.
    pub nodes: u64,
    /// Elements of the whole box.
    pub elements: u64,
    /// Ranks.
    pub ranks: usize,
    /// Threads of each rank.
    pub threads: usize,
    /// Whether sums over ranks were added in rank order (`--deterministic`).
    pub deterministic: bool,
    /// What computed: "cpu" or the name of a GPU.
    pub device: String,
    /// The shares of the ranks.
    pub partition: PartitionReport,
    /// The algorithms.
    pub strategies: StrategiesReport,
    /// Newton steps.
    pub newton_iterations: usize,
    /// CG iterations, the sum over the Newton steps.
    pub cg_iterations: usize,
    /// Sums over all ranks in CG, for all Newton steps. On one rank they are sums over the device or the threads.
    pub cg_reductions: usize,
    /// ||F|| at the boundary values with zeros elsewhere, after a start from coarser boxes.
    pub plain_start_residual: Option<f64>,
    /// One line per Newton residual.
    pub history: Vec<HistoryReport>,
    /// Why Newton's method ended: "relative tolerance", "number of iterations", "zero right-hand side", or the text of `stopped`.
    pub reason: String,
    /// The error that ended an iteration before it converged. The errors below then are those of the last Newton iterate.
    #[serde(skip)]
    pub stopped: Option<Error>,
    /// max |u - exact| / max |exact|, over nodes (heat on `hex8` without advection), nodes at the centre (`minife`) or quadrature points.
    pub error_max: f64,
    /// sqrt(sum (u - exact)^2 / sum exact^2). Over the nodes for heat on `hex8` without advection, over those at the centre for `minife`; integrals for
    /// other runs.
    pub error_l2: f64,
    /// What `error_max` may be, see [`Analytic::error_bound`](super::Analytic::error_bound).
    pub error_bound: f64,
    /// Estimated error left by the solver, see [`Analytic::algebraic_error`](super::Analytic::algebraic_error).
    pub algebraic_error: f64,
    /// Departure of the last Jacobian from symmetry, see [`Symmetry`](crate::solve::Symmetry).
    pub symmetry: f64,
    /// Seconds from the start of the mesh to the last check, on the slowest rank. The start of MPI and of the program, the bandwidth
    /// measurement and the report are not counted.
    pub total_seconds: f64,
    /// Iterations of each CG solve if they were given (`--cg-iterations`). Such a run is not judged. Null otherwise.
    pub cg_iterations_asked: Option<usize>,
    /// Whether the run is verified: `verdict` is empty.
    pub verified: bool,
    /// Why the run is not verified, the cause before its effects.
    pub verdict: Vec<String>,
    /// How fast the run was, in a few numbers.
    pub rating: RatingReport,
    /// Triad bandwidth of all ranks together; null when not measured.
    pub triad_gb_per_s: Option<f64>,
    /// Peak resident bytes, on GPUs of arrays in their memory; the sum over the ranks.
    pub peak_bytes: u64,
    /// `peak_bytes` per node of the whole box.
    pub peak_bytes_per_node: f64,
    /// The pair map that built the graph; null for other strategies.
    pub pair_map: Option<PairMapReport>,
    /// Machine, build, settings and placement.
    pub provenance: ProvenanceReport,
    /// Levels of the preconditioner, finest first; empty without one.
    pub levels: Vec<LevelReport>,
    /// Where the time went: parts behind their phase, `total` last.
    pub phases: Vec<PhaseReport>,
}

/// The problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProblemReport {
    /// Its name.
    pub name: ProblemKind,
    /// Unknowns per node.
    pub components: usize,
    /// Temperature at zmin; null for other problems than heat.
    pub t_min: Option<f64>,
    /// Temperature at zmax; null for other problems than heat.
    pub t_max: Option<f64>,
    /// K; null for other problems than heat.
    pub conductivity: Option<f64>,
    /// Velocity of advection; null without.
    pub advection: Option<[f64; 3]>,
}

impl ProblemReport {
    /// The deck's problem, which is `heat` or no heat equation.
    pub(super) fn new(deck: &Deck, heat: Option<Heat>) -> Self {
        let of_heat = |value: f64| heat.map(|_| value);
        ProblemReport {
            name: deck.problem.kind,
            components: deck.problem.kind.dofs(),
            t_min: of_heat(deck.problem.t_min),
            t_max: of_heat(deck.problem.t_max),
            conductivity: heat.map(|heat| heat.conductivity),
            advection: deck.has_advection().then_some(deck.problem.advection),
        }
    }
}

/// The box.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeshReport {
    /// Type of the elements.
    pub element: ElementType,
    /// Nodes along x, y, z.
    pub nodes: [u64; 3],
    /// Edges of the box.
    pub size: [f64; 3],
    /// The coordinate map.
    pub map: String,
    /// Largest [`spacing`](crate::mesh::MeshSpace::spacing) of an element along z; the largest extent for other runs than heat on `hex8` without advection.
    pub spacing: f64,
}

/// The shares of the ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartitionReport {
    /// Fewest owned nodes.
    pub owned_min: u64,
    /// Most owned nodes.
    pub owned_max: u64,
    /// Mean of the owned nodes.
    pub owned_mean: f64,
    /// Imbalance that was asked for (`--imbalance`), per cent.
    pub imbalance_asked_percent: f64,
    /// Largest deviation of a rank's owned nodes from the mean, per cent.
    pub imbalance_percent: f64,
    /// Most ghosts of a rank.
    pub ghosts: u64,
    /// Most neighbours of a rank.
    pub neighbours: usize,
    /// Elements computed more than once: sum over the ranks less `elements`.
    pub duplicated_elements: u64,
}

/// The algorithms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrategiesReport {
    /// Of the graph; null without a matrix.
    pub graph: Option<graph::Strategy>,
    /// Of the prefix sum of row lengths: serial if it is on any rank. Null without a matrix.
    pub scan: Option<Scan>,
    /// Of the fill; without a matrix, of the residual and of products.
    pub fill: fill::Strategy,
    /// Atomic additions of one assembly of matrix and residual, over all ranks: all with `scatter`. Null with `gather`, whose rows
    /// write each sum once, and without a matrix.
    pub fill_atomic_adds: Option<u64>,
    /// Plain additions of one assembly: load, add, store. Null as `fill_atomic_adds`.
    pub fill_plain_adds: Option<u64>,
    /// Of the element; null without a matrix.
    pub kernel: Option<fill::Kernel>,
    /// Calls of contractions by kernel `intrepid`, over all ranks and assemblies.
    pub contractions: BTreeMap<&'static str, u64>,
    /// The Krylov method.
    pub solver: Solver,
    /// Variant of CG, or "pipelined in one launch"; else the name of the method.
    pub cg: String,
    /// What CG multiplies by. Without a matrix no graph is built.
    pub operator: Operator,
    /// What approximates the inverse of the matrix.
    pub preconditioner: Preconditioning,
    /// Accuracy of each Newton step's solve.
    pub forcing: Forcing,
    /// How values travel between ranks; null on 1 rank.
    pub halo: Option<String>,
    /// Storage format of the matrix for products; null without a matrix.
    pub format: Option<Format>,
    /// Why: "given", by flag, deck or preset, or what `auto` found; "no matrix" without one.
    pub format_reason: String,
    /// Bytes that a product moves per row, vectors included; null without a matrix.
    pub format_bytes_per_row: Option<f64>,
    /// Type of the stored values that products read; null without a matrix.
    pub matrix_values: Option<Precision>,
}

/// The pair map of graph strategy `map`, over all ranks. Counts that a GPU does not keep are null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairMapReport {
    /// Slots.
    pub capacity: u64,
    /// Pairs per slot: MAP_RATIO of the original.
    pub load: Option<f64>,
    /// Slots that the longest probe sequence of a pair reads, on any rank.
    pub longest_probe: Option<u64>,
    /// Inserts that found no free slot, over all attempts.
    pub failed_inserts: u64,
    /// Most attempts of a rank after its first.
    pub retries: u64,
    /// Inserts of pairs that were there already.
    pub duplicates: Option<u64>,
}

/// A level of the preconditioner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LevelReport {
    /// Ranks that share its rows; 1 where every rank has all of them.
    pub ranks: usize,
    /// Rows of the matrix; in a report, over all ranks.
    pub rows: u64,
    /// Entries of its graph, likewise.
    pub entries: u64,
    /// Seconds of the level in one cycle; in a report, on the slowest rank.
    pub seconds: f64,
}

/// One Newton residual, and the CG solve that followed it (0 after the last).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryReport {
    /// Newton step, 0-based.
    pub newton: usize,
    /// Norm of the residual.
    pub residual: f64,
    /// CG iterations.
    pub cg_iterations: usize,
    /// Sums over all ranks in these.
    pub cg_reductions: usize,
    /// Norm of CG's last residual, by its recurrence.
    pub cg_residual: f64,
    /// ||b - A x||, computed from the solution.
    pub true_residual: f64,
}
