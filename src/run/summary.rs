//! Makes the report of a run from sums and maxima over the ranks.

use super::judged::Judged;
use super::problem::{Case, ChosenFormat};
use super::provenance::ProvenanceReport;
use super::report::{
    HistoryReport, MeshReport, PairMapReport, PartitionReport, PhaseReport, ProblemReport, RatingReport,
    SCHEMA_VERSION, StrategiesReport,
};
use super::steps::Ended;
use super::verdict::{Evidence, Solved, Verdict};
use super::{Deck, Job, Phases, Report};
use crate::comm::{Communicator, Transport};
use crate::fill;
use crate::graph::{MapCounts, MapStats};
use crate::mesh::{BoxSpec, Mesh};
use crate::solve::{CgVariant, Reason, SolveInfo};
use crate::space::MemorySpace;
use crate::sparse::Precision;

/// The verdict on a run whose solves were not to converge.
const NOT_ASKED: &str = "not asked: the number of CG iterations was given";

/// Numbers of a rank's mesh, and of the whole.
pub(super) struct Tables {
    pub spec: BoxSpec,
    /// Of this rank.
    pub elems: u64,
    pub owned: usize,
    pub ghosts: usize,
    pub neighbours: usize,
    pub spacing: f64,
    /// Of all ranks.
    pub nodes: u64,
    pub elements: u64,
    pub problem: ProblemReport,
    /// Element kernel that ran.
    pub kernel: fill::Kernel,
}

impl Tables {
    /// Of a mesh whose elements have this spacing.
    pub fn new<M: MemorySpace>(mesh: &Mesh<M>, deck: &Deck, case: &Case, spacing: f64) -> Self {
        Tables {
            spec: *mesh.spec(),
            elems: mesh.elem_count() as u64,
            owned: mesh.map.owned_count(),
            ghosts: mesh.map.ghost_count(),
            neighbours: mesh.map.neighbours().len(),
            spacing,
            nodes: mesh.map.global_count(),
            elements: mesh.global_elem_count(),
            problem: ProblemReport::new(deck, case.heat()),
            kernel: deck.element_kernel(),
        }
    }
}

/// All linear solves. The last one may have stopped early.
fn solves(newton: &Ended) -> impl Iterator<Item = SolveInfo> {
    newton.info.steps.iter().map(|step| step.linear).chain(newton.linear)
}

/// What a run was asked for and what it got.
pub(super) struct Run<'a, S: Job> {
    pub space: &'a S,
    pub deck: &'a Deck,
    pub comm: &'a dyn Communicator,
    pub transport: Transport,
    pub map_stats: Option<MapStats>,
    pub tables: Tables,
    /// When it started.
    pub date: String,
    /// How long it took on this rank.
    pub seconds: f64,
    pub provenance: ProvenanceReport,
    /// Storage of the matrix, if there is one.
    pub format: Option<ChosenFormat>,
}

/// The numbers that decide the verdict.
fn evidence(deck: &Deck, newton: &Ended, judged: &Judged) -> Evidence {
    let solves = solves(newton).map(|linear| {
        // A solve that was not checked is NaN, which no verdict passes.
        let (residual, solution) = linear.recomputed.map_or((f64::NAN, f64::NAN), |t| (t.residual, t.solution));
        let rounding = match deck.matrix.values {
            Precision::F64 => 0.0,
            // A row sums several rounded values; the norm of the matrix is estimated from below.
            Precision::F32 => 2.0 * deck.matrix.values.epsilon(),
        };
        Solved { target: deck.cg_tolerance() * linear.rhs, residual, solution, rounding }
    });
    Evidence {
        stopped: newton.stopped.clone(),
        free_nodes: judged.free,
        starts_at_zero: newton.info.reason == Reason::Zero,
        error_max: judged.error_max,
        error_l2: judged.error_l2,
        error_bound: judged.error_bound,
        algebraic_error: judged.algebraic_error,
        symmetry: newton.symmetry.departure,
        matrix_norm: newton.symmetry.norm,
        solves: solves.collect(),
    }
}

/// The variant of CG that ran, or would have run.
fn cg_name(deck: &Deck, newton: &Ended) -> String {
    match solves(newton).next() {
        Some(info) if info.one_launch => "pipelined in one launch".into(),
        Some(info) => info.variant.to_string(),
        None => deck.cg.variant.or(CgVariant::default()).to_string(),
    }
}

/// The lines of Newton's history.
fn history(newton: &Ended) -> Vec<HistoryReport> {
    let steps = newton.info.steps.iter().map(|step| (step.residual, step.linear));
    let steps = steps.chain([(newton.info.residual, newton.linear.unwrap_or_default())]);
    let line = |(newton, (residual, linear)): (usize, (f64, SolveInfo))| HistoryReport {
        newton,
        residual,
        cg_iterations: linear.iterations,
        cg_reductions: linear.reductions,
        cg_residual: linear.residual,
        true_residual: linear.recomputed.unwrap_or_default().residual,
    };
    steps.enumerate().map(line).collect()
}

/// Gives the total the flops of assembly and CG, which count each of theirs once.
fn count_total(rows: &mut [PhaseReport], nodes: u64) {
    let flops = rows.iter().filter(|row| ["fill", "cg"].contains(&&*row.name)).map(|row| row.flops).sum();
    for row in rows.iter_mut().filter(|row| row.name == "total") {
        let mean = row.seconds / row.imbalance;
        *row = PhaseReport::new(&row.name, row.calls, row.seconds, mean, 0.0, flops, nodes, None);
    }
}

/// The pair maps of all ranks, which all took the same strategy.
fn pair_map(comm: &dyn Communicator, stats: &MapStats) -> PairMapReport {
    let MapStats { capacity, retries, failed, counted } = *stats;
    let MapCounts { stored, duplicates, longest_probe } = counted.unwrap_or_default();
    let mut sums = [capacity, failed, stored, duplicates, u64::from(counted.is_none())];
    comm.all_sum_u64(&mut sums);
    let mut largest = [retries as f64, longest_probe as f64];
    comm.all_max(&mut largest);
    let is_counted = sums[4] == 0;
    PairMapReport {
        capacity: sums[0],
        load: is_counted.then(|| sums[2] as f64 / sums[0] as f64),
        longest_probe: is_counted.then_some(largest[1] as u64),
        failed_inserts: sums[1],
        retries: largest[0] as u64,
        duplicates: is_counted.then_some(sums[3]),
    }
}

/// The report, the same on every rank.
pub(super) fn report<S: Job>(
    Run { space, deck, comm, transport, map_stats, tables, date, seconds, provenance, format }: Run<'_, S>,
    newton: &Ended,
    judged: &Judged,
    phases: &Phases,
    peak: u64,
    triad: Option<f64>,
) -> Report {
    let Tables { spec, nodes, elements, .. } = tables;
    // Triad is measured on all ranks or on none, so a zero can stand for it. The smallest share is the largest of -owned.
    let (owned, ghosts, neighbours) = (tables.owned as f64, tables.ghosts as f64, tables.neighbours as f64);
    let mut largest = [-owned, owned, ghosts, neighbours, tables.spacing, seconds];
    let mut triads = [triad.unwrap_or(0.0)];
    let mut sums = [tables.elems, peak, format.as_ref().map_or(0, |chosen| chosen.bytes)];
    comm.all_max(&mut largest);
    comm.all_sum(&mut triads);
    comm.all_sum_u64(&mut sums);
    let triad = triad.map(|_| triads[0]);
    let rows_of_all = nodes * tables.problem.components as u64;
    let owned_mean = nodes as f64 / comm.size() as f64;
    phases.add_call("total", seconds);
    let mut rows = phases.report(comm.size(), nodes, triad, |x| comm.all_max(x), |x| comm.all_sum(x));
    count_total(&mut rows, nodes);
    let evidence = evidence(deck, newton, judged);
    let verdict = Verdict::new(&evidence);
    // A run that broke off is a failure whatever was asked for.
    let is_judged = deck.cg_iterations().is_none() || newton.stopped.is_some();
    Report {
        schema_version: SCHEMA_VERSION,
        version: env!("CARGO_PKG_VERSION"),
        date,
        mesh: MeshReport {
            element: deck.mesh.element,
            nodes: spec.nodes(),
            size: spec.size(),
            map: spec.map().to_string(),
            spacing: largest[4],
        },
        nodes,
        elements,
        ranks: comm.size(),
        threads: space.threads(),
        deterministic: deck.run.deterministic,
        device: space.device(),
        partition: PartitionReport {
            owned_min: -largest[0] as u64,
            owned_max: largest[1] as u64,
            owned_mean,
            imbalance_asked_percent: spec.imbalance(),
            imbalance_percent: 100.0 * (largest[1] - owned_mean).max(owned_mean + largest[0]) / owned_mean,
            ghosts: largest[2] as u64,
            neighbours: largest[3] as usize,
            duplicated_elements: sums[0] - elements,
        },
        strategies: StrategiesReport {
            graph: deck.graph.strategy,
            fill: deck.fill.strategy.or(S::STRATEGY),
            kernel: tables.kernel,
            cg: cg_name(deck, newton),
            operator: deck.cg.operator,
            halo: (comm.size() > 1).then(|| transport.to_string()),
            format: format.as_ref().map(|chosen| chosen.format),
            format_bytes_per_row: format.as_ref().map(|_| sums[2] as f64 / rows_of_all as f64),
            format_reason: format.map_or("no matrix".into(), |chosen| chosen.reason),
            matrix_values: deck.matrix.values,
        },
        newton_iterations: newton.info.steps.len(),
        cg_iterations: solves(newton).map(|linear| linear.iterations).sum(),
        cg_reductions: solves(newton).map(|linear| linear.reductions).sum(),
        history: history(newton),
        reason: newton.stopped.as_ref().map_or_else(|| newton.info.reason.to_string(), ToString::to_string),
        stopped: newton.stopped.clone(),
        error_max: evidence.error_max,
        error_l2: evidence.error_l2,
        error_bound: evidence.error_bound,
        algebraic_error: evidence.algebraic_error,
        symmetry: evidence.symmetry,
        total_seconds: largest[5],
        cg_iterations_asked: deck.cg_iterations(),
        verified: is_judged && verdict.passed(),
        verdict: match is_judged {
            false => vec![NOT_ASKED.into()],
            true => verdict.failures.iter().map(ToString::to_string).collect(),
        },
        triad_gb_per_s: triad,
        peak_bytes: sums[1],
        peak_bytes_per_node: sums[1] as f64 / nodes as f64,
        pair_map: map_stats.map(|stats| pair_map(comm, &stats)),
        provenance,
        rating: RatingReport::new(&rows, nodes * tables.problem.components as u64, largest[5], verdict.passed()),
        problem: tables.problem,
        phases: rows,
    }
}
