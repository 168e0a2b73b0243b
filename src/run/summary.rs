//! Makes the report of a run from sums and maxima over the ranks.

use super::deck::{Forcing, Solver};
use super::judged::{Judged, Run};
use super::problem::Outcome;
use super::provenance::{ProvenanceReport, Start};
use super::report::{
    HistoryReport, LevelReport, MeshReport, PairMapReport, PartitionReport, ProblemReport, RatingReport,
    SCHEMA_VERSION, StrategiesReport,
};
use super::steps::Ended;
use super::verdict::{Solved, failures};
use super::{Deck, Job, Report};
use crate::comm::Communicator;
use crate::graph::{MapCounts, MapStats};
use crate::solve::SolveInfo;
use crate::space::Scan;
use crate::sparse::Precision;

/// The verdict on a run whose solves were not to converge.
const NOT_ASKED: &str = "not asked: the number of CG iterations was given";

/// All linear solves. The last one may have stopped early.
fn solves(newton: &Ended) -> impl Iterator<Item = SolveInfo> {
    newton.info.steps.iter().map(|step| step.linear).chain(newton.linear)
}

/// Targets and true residuals of the linear solves.
fn solved(deck: &Deck, newton: &Ended) -> Vec<Solved> {
    let rounding = match deck.matrix.values {
        Precision::F64 => 0.0,
        // A row sums several rounded values; the norm of the matrix is estimated from below.
        Precision::F32 => 2.0 * deck.matrix.values.epsilon(),
    };
    let solved = |linear: SolveInfo| {
        // A solve that was not checked is NaN, which no verdict passes.
        let (residual, solution) = linear.recomputed.map_or((f64::NAN, f64::NAN), |t| (t.residual, t.solution));
        // A run of given iterations has no target of its own.
        let target = linear.target.max(if linear.target < 0.0 { deck.cg_tolerance() * linear.rhs } else { 0.0 });
        Solved { target, residual, solution, rounding }
    };
    solves(newton).map(solved).collect()
}

/// The variant of CG, or the other method, that ran or would have run.
fn cg_name(deck: &Deck, newton: &Ended) -> String {
    match solves(newton).next() {
        _ if deck.solver() != Solver::Cg => deck.solver().to_string(),
        Some(info) if info.one_launch => "pipelined in one launch".into(),
        Some(info) => info.variant.to_string(),
        None => deck.cg.variant.or_default().to_string(),
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

/// The pair maps of all ranks, which all took the same strategy.
fn pair_map(comm: &dyn Communicator, stats: MapStats) -> PairMapReport {
    let MapStats { capacity, retries, failed, counted } = stats;
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
    run: &Run<'_, S>,
    judged: &Judged,
    triad: Option<f64>,
    start: &Start,
    provenance: ProvenanceReport,
) -> Report {
    let Run { space, deck, comm, mesh, newton, phases, outcome, .. } = run;
    let Outcome { format, mut contractions, additions, levels: own_levels } = (*outcome).clone();
    let (spec, nodes, elements) = (mesh.spec(), mesh.map.global_count(), mesh.global_elem_count());
    // The smallest share is the largest of -owned.
    let [owned, ghosts, neighbours] =
        [mesh.map.owned_count(), mesh.map.ghost_count(), mesh.map.neighbours().len()].map(|count| count as f64);
    let is_serial = space.scan(mesh.map.owned_count()) == Scan::Serial;
    let mut largest = [-owned, owned, ghosts, neighbours, judged.spacing, run.seconds, f64::from(is_serial)];
    let adds = additions.unwrap_or_default();
    let chosen_bytes = format.as_ref().map_or(0, |chosen| chosen.bytes);
    let mut sums = [mesh.elem_count() as u64, run.peak, chosen_bytes, adds.atomic, adds.plain];
    comm.all_max(&mut largest);
    comm.all_sum_u64(&mut sums);
    comm.all_sum_u64(&mut contractions.0);
    let triad = together(*comm, triad);
    let levels = levels(*comm, &own_levels);
    let of_matrix = deck.has_matrix();
    let unknowns = nodes * run.case.model.dofs() as u64;
    let owned_mean = nodes as f64 / comm.size() as f64;
    phases.add_call("total", run.seconds);
    let rows = phases.report(*comm, nodes, triad);
    let failures = failures(deck, newton, judged, &solved(deck, newton));
    let passed = failures.is_empty();
    // A run that broke off is a failure whatever was asked for.
    let is_judged = deck.cg_iterations().is_none() || newton.stopped.is_some();
    Report {
        schema_version: SCHEMA_VERSION,
        version: env!("CARGO_PKG_VERSION"),
        date: start.date(*comm),
        problem: ProblemReport::new(deck, run.case.heat()),
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
            graph: of_matrix.then(|| deck.graph.strategy.or_default()),
            scan: of_matrix.then_some(if largest[6] > 0.0 { Scan::Serial } else { Scan::Parallel }),
            fill: deck.fill.strategy.or(S::STRATEGY),
            fill_atomic_adds: additions.map(|_| sums[3]),
            fill_plain_adds: additions.map(|_| sums[4]),
            kernel: of_matrix.then(|| deck.element_kernel()),
            contractions: contractions.by_name(),
            solver: deck.solver(),
            cg: cg_name(deck, newton),
            operator: deck.cg.operator,
            preconditioner: deck.preconditioning(),
            forcing: if deck.is_inexact() { Forcing::Adaptive } else { Forcing::Fixed },
            halo: (comm.size() > 1).then(|| run.transport.to_string()),
            format: format.as_ref().map(|chosen| chosen.format),
            format_bytes_per_row: format.as_ref().map(|_| sums[2] as f64 / unknowns as f64),
            format_reason: format.map_or("no matrix".into(), |chosen| chosen.reason),
            matrix_values: of_matrix.then_some(deck.matrix.values),
        },
        newton_iterations: newton.info.steps.len(),
        cg_iterations: solves(newton).map(|linear| linear.iterations).sum(),
        cg_reductions: solves(newton).map(|linear| linear.reductions).sum(),
        plain_start_residual: newton.info.is_improved.then_some(newton.info.initial_residual),
        history: history(newton),
        reason: newton.stopped.as_ref().map_or_else(|| newton.info.reason.to_string(), ToString::to_string),
        stopped: newton.stopped.clone(),
        error_max: judged.error_max,
        error_l2: judged.error_l2,
        error_bound: judged.error_bound,
        algebraic_error: judged.algebraic_error,
        symmetry: newton.symmetry.departure,
        total_seconds: largest[5],
        cg_iterations_asked: deck.cg_iterations(),
        verified: is_judged && passed,
        verdict: if is_judged { failures } else { vec![NOT_ASKED.into()] },
        rating: RatingReport::new(&rows, unknowns, largest[5], passed),
        triad_gb_per_s: triad,
        peak_bytes: sums[1],
        peak_bytes_per_node: sums[1] as f64 / nodes as f64,
        pair_map: run.map_stats.map(|stats| pair_map(*comm, stats)),
        provenance,
        levels,
        phases: rows,
    }
}

/// Triad bandwidth of all ranks, which all measured it, or none.
fn together(comm: &dyn Communicator, triad: Option<f64>) -> Option<f64> {
    let mut sum = [triad.unwrap_or(0.0)];
    comm.all_sum(&mut sum);
    triad.map(|_| sum[0])
}

/// The levels of the preconditioner over all ranks, which have equally many. Rows that every rank has count once.
fn levels(comm: &dyn Communicator, own: &[LevelReport]) -> Vec<LevelReport> {
    let counted = |level: &LevelReport| u64::from(level.ranks > 1 || comm.rank() == 0);
    let mut sums: Vec<u64> =
        own.iter().flat_map(|level| [level.rows, level.entries].map(|count| count * counted(level))).collect();
    let mut seconds: Vec<f64> = own.iter().map(|level| level.seconds).collect();
    comm.all_sum_u64(&mut sums);
    comm.all_max(&mut seconds);
    let levels = own.iter().zip(sums.as_chunks().0).zip(seconds);
    levels.map(|((own, &[rows, entries]), seconds)| LevelReport { ranks: own.ranks, rows, entries, seconds }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::on_ranks;
    use crate::solve::{NewtonInfo, NewtonStep, Symmetry, TrueResidual};

    /// Products with f32 values read values rounded by at most half of the spacing of f32.
    #[test]
    fn a_solve_is_judged_by_its_own_target_and_the_rounding_of_its_values() {
        let mut deck = Deck::default();
        deck.cg.tolerance = Some(1e-7);
        let recomputed = Some(TrueResidual { residual: 3.0, solution: 5.0 });
        let linear = SolveInfo { rhs: 4.0, target: 0.5, recomputed, ..SolveInfo::default() };
        let mut newton = Ended {
            info: NewtonInfo::default(),
            linear: Some(linear),
            stopped: None,
            symmetry: Symmetry { departure: 0.0, norm: 1.0 },
        };
        let plain = Solved { target: 0.5, residual: 3.0, solution: 5.0, rounding: 0.0 };
        assert_eq!(solved(&deck, &newton), [plain]);
        deck.matrix.values = Precision::F32;
        assert_eq!(solved(&deck, &newton), [Solved { rounding: 2f64.powi(-22), ..plain }]);
        // A solve of a given number of iterations, and one whose residual nobody computed.
        newton.linear = Some(SolveInfo { target: -1.0, ..linear });
        assert_eq!(solved(&deck, &newton)[0].target, 4e-7);
        newton.linear = Some(SolveInfo { recomputed: None, ..linear });
        assert!(solved(&deck, &newton)[0].residual.is_nan());
    }

    /// The last line is the solve that broke off; its step has no residual after it.
    #[test]
    fn a_line_of_the_history_has_the_numbers_of_its_own_step() {
        let linear = |iterations: usize| SolveInfo {
            iterations,
            reductions: 2 * iterations + 1,
            residual: 0.5 * iterations as f64,
            recomputed: Some(TrueResidual { residual: 0.75 * iterations as f64, solution: 9.0 }),
            ..SolveInfo::default()
        };
        let steps = vec![NewtonStep { residual: 64.0, length: 1.0, linear: linear(4) }];
        let newton = Ended {
            info: NewtonInfo { steps, residual: 8.0, ..NewtonInfo::default() },
            linear: Some(linear(6)),
            stopped: None,
            symmetry: Symmetry::default(),
        };
        let line = |newton, residual, cg_iterations, cg_reductions, cg_residual, true_residual| HistoryReport {
            newton,
            residual,
            cg_iterations,
            cg_reductions,
            cg_residual,
            true_residual,
        };
        assert_eq!(history(&newton), [line(0, 64.0, 4, 9, 2.0, 3.0), line(1, 8.0, 6, 13, 3.0, 4.5)]);
    }

    #[test]
    fn maps_and_levels_of_ranks_are_added_and_their_extremes_taken() {
        let counted =
            |rank: u64| MapCounts { stored: 10 + rank, duplicates: 100 + rank, longest_probe: [7, 5][rank as usize] };
        let stats =
            |rank: u64| MapStats { capacity: 40 + rank, retries: rank, failed: 3 * rank, counted: Some(counted(rank)) };
        let level = |rank: u64, ranks| LevelReport {
            ranks,
            rows: 5 + rank,
            entries: 20 + rank,
            seconds: [2.0, 1.0][rank as usize],
        };
        let of_rank = on_ranks(2, |comm| {
            let rank = comm.rank() as u64;
            let unknown = MapStats { counted: Some(counted(rank)).filter(|_| rank == 0), ..stats(rank) };
            assert_eq!([Some(1.5 + rank as f64), None].map(|triad| together(comm, triad)), [Some(4.0), None]);
            (pair_map(comm, stats(rank)), pair_map(comm, unknown), levels(comm, &[level(rank, 2), level(0, 1)]))
        });
        let known = PairMapReport {
            capacity: 81,
            load: Some(21.0 / 81.0),
            longest_probe: Some(7),
            failed_inserts: 3,
            retries: 1,
            duplicates: Some(201),
        };
        let unknown = PairMapReport { load: None, longest_probe: None, duplicates: None, ..known.clone() };
        // The second level is on each rank.
        let levels = vec![LevelReport { ranks: 2, rows: 11, entries: 41, seconds: 2.0 }, level(0, 1)];
        assert_eq!(of_rank, vec![(known, unknown, levels); 2]);
    }

    /// The variant of the first solve; before one, that of the deck; and the name of another method.
    #[test]
    fn the_method_is_named_by_what_ran() {
        use crate::run::deck::Choice;
        use crate::solve::CgVariant;
        let mut deck = Deck::default();
        let ended =
            |linear| Ended { info: NewtonInfo::default(), linear, stopped: None, symmetry: Symmetry::default() };
        let ran = |one_launch, variant| Some(SolveInfo { one_launch, variant, ..SolveInfo::default() });
        assert_eq!(cg_name(&deck, &ended(None)), "classic");
        assert_eq!(cg_name(&deck, &ended(ran(false, CgVariant::SingleReduction))), "single-reduction");
        assert_eq!(cg_name(&deck, &ended(ran(true, CgVariant::Classic))), "pipelined in one launch");
        deck.cg.variant = Choice::Given(CgVariant::SingleReduction);
        assert_eq!(cg_name(&deck, &ended(None)), "single-reduction");
        deck.cg.solver = Choice::Given(Solver::BiCgStab);
        assert_eq!(cg_name(&deck, &ended(ran(true, CgVariant::Classic))), "bicgstab");
    }
}
