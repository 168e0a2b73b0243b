//! Every number of a report, recomputed from other numbers of it, from the field, or by formulas spelled out here on sizes that are counted
//! one by one, on 1 to 5 ranks whose parts differ.

mod parts;
mod solves;
mod units;
mod whole;

use crate::thread_ranks::on_ranks;
use minifenl::element::ElementType;
use minifenl::mesh::BoxSpec;
use minifenl::run::deck::{Choice, Nodes, Operator, ProblemKind};
use minifenl::run::report::PhaseReport;
use minifenl::run::{Deck, Report, silent, solution_on};
use minifenl::solve::CgVariant;
use minifenl::space::Threads;
use minifenl::sparse::Format;
use minifenl::{fill, graph};
use parts::{Part, parts};

/// A run: what its bytes and flops depend on.
#[derive(Clone, Copy, Debug)]
struct Run {
    problem: ProblemKind,
    element: ElementType,
    points: [u64; 3],
    ranks: usize,
    imbalance: f64,
    fill: fill::Strategy,
    variant: CgVariant,
    operator: Operator,
}

const HEAT: Run = Run {
    problem: ProblemKind::Heat,
    element: ElementType::Hex8,
    points: [7, 6, 9],
    ranks: 1,
    imbalance: 0.0,
    fill: fill::Strategy::Scatter,
    variant: CgVariant::Classic,
    operator: Operator::Assembled,
};

fn deck(run: &Run) -> Deck {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.mesh.element, deck.problem.kind) = (Nodes::new(run.points).ok(), run.element, run.problem);
    (deck.mesh.size, deck.mesh.imbalance) = ([1.0, 0.75, 1.25], run.imbalance);
    (deck.cg.operator, deck.cg.variant, deck.fill.strategy) =
        (run.operator, Choice::Given(run.variant), Choice::Given(run.fill));
    if run.operator == Operator::Assembled {
        (deck.graph.strategy, deck.fill.kernel) =
            (Choice::Given(graph::Strategy::Map), Choice::Given(fill::Kernel::Table));
        deck.matrix.format = Choice::Given(Format::Crs);
    }
    deck
}

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{what}: {found}, expected {expected}");
}

/// A run's report, with the field at the owned nodes of all ranks: height and value.
fn solved(run: &Run, deck: &Deck) -> (Report, Vec<(f64, f64)>) {
    let of_rank = on_ranks(run.ranks, |comm| {
        let solution = solution_on(&Threads::new(2).unwrap(), deck, comm, &silent).unwrap();
        let heights = solution.mesh.node_coord[..solution.mesh.map.owned_count()].iter().map(|x| x[2]);
        let values = solution.field.iter().copied().step_by(run.problem.dofs());
        (solution.report, heights.zip(values).collect::<Vec<_>>())
    });
    let report = of_rank[0].0.clone();
    // A given number of iterations is not judged.
    let is_asked = report.verified || deck.cg.iterations.is_some_and(|_| report.rating.verified);
    assert!(is_asked, "{run:?}: {:?}", report.verdict);
    for (rank, (other, _)) in of_rank.iter().enumerate() {
        assert_eq!(*other, report, "rank {rank} reports other numbers than rank 0");
    }
    (report, of_rank.into_iter().flat_map(|(_, field)| field).collect())
}

fn phase<'a>(report: &'a Report, name: &str) -> &'a PhaseReport {
    report.phases.iter().find(|phase| phase.name == name).unwrap_or_else(|| panic!("no phase {name}"))
}

/// Sum over the ranks.
fn sum(parts: &[Part], of: impl Fn(&Part) -> u64) -> f64 {
    parts.iter().map(of).sum::<u64>() as f64
}

fn most(parts: &[Part], of: impl Fn(&Part) -> u64) -> u64 {
    parts.iter().map(of).max().unwrap()
}

/// Mesh and partition, from sizes that are counted.
fn check_partition(run: &Run, report: &Report, parts: &[Part], [nodes, elements]: [u64; 2]) {
    assert_eq!([report.nodes, report.elements, report.ranks as u64], [nodes, elements, parts.len() as u64]);
    assert_eq!((report.mesh.nodes, report.problem.components), (run.points, run.problem.dofs()));
    let partition = &report.partition;
    let mean = nodes as f64 / parts.len() as f64;
    let owned = [most(parts, |part| u64::MAX - part.owned), most(parts, |part| part.owned)];
    assert_eq!([partition.owned_min, partition.owned_max], [u64::MAX - owned[0], owned[1]]);
    close(partition.owned_mean, mean, "owned_mean");
    let deviation = parts.iter().map(|part| (part.owned as f64 - mean).abs()).fold(0.0, f64::max);
    close(partition.imbalance_percent, 100.0 * deviation / mean, "imbalance_percent");
    assert_eq!(partition.imbalance_asked_percent, run.imbalance);
    assert_eq!(partition.ghosts, most(parts, |part| part.ghosts));
    assert_eq!(partition.neighbours as u64, most(parts, |part| part.neighbours));
    assert_eq!(partition.duplicated_elements, sum(parts, |part| part.elems) as u64 - elements);
    assert_eq!((report.strategies.halo.is_some(), report.threads), (parts.len() > 1, 2));
}

/// Bytes and flops of one call on all ranks, `None` where a formula is not spelled out.
fn costs(run: &Run, report: &Report, parts: &[Part]) -> Vec<(&'static str, Option<f64>, Option<f64>)> {
    let d = run.problem.dofs() as u64;
    let corners = run.element.nodes() as u64;
    let points = run.element.rule().points.len() as u64;
    let total = |of: &dyn Fn(&Part) -> u64| Some(sum(parts, of));
    let halo = total(&|p| 8 * d * (3 * p.sent + p.ghosts));
    let updates = match run.variant {
        CgVariant::Classic => 10,
        CgVariant::SingleReduction => 12,
    };
    let mut costs = vec![("halo", halo, Some(0.0)), ("ghosts", halo, Some(0.0))];
    if run.operator == Operator::MatrixFree {
        // Each element once, on each rank that computes it, whatever the rank owns.
        let product = phase(report, "apply");
        let of_element = product.flops / product.calls as f64 / sum(parts, |p| p.elems);
        assert!(of_element.fract() == 0.0 && of_element > 100.0, "{of_element} flops per element");
        costs.push(("fill", Some(product.bytes / product.calls as f64), Some(0.0)));
        let iteration = |of_product: f64, of_row: u64| {
            Some(of_product / product.calls as f64 + sum(parts, |p| of_row * d * p.owned))
        };
        costs.push(("cg", iteration(product.bytes, 72), iteration(product.flops, updates)));
        return costs;
    }
    // Values and columns, offsets, x with its ghosts, y.
    let product =
        |p: &Part| 12 * d * d * p.nnz + 8 * (d * p.owned + 1) + 8 * d * (p.owned + p.ghosts) + 8 * d * p.owned;
    let pattern = |d: u64, p: &Part| 4 * d * d * p.nnz + 8 * (d * p.owned + 1);
    let tables = |d: u64, p: &Part| (4 * corners * d + (corners * d).pow(2)) * p.elems;
    let expanded = |p: &Part| match d {
        1 => 0,
        d => [1, d].map(|d| pattern(d, p) + tables(d, p)).iter().sum(),
    };
    // Zeroed, read and written; an element's ids and positions; coordinates and unknowns.
    let fill = |p: &Part| {
        24 * (d * d * p.nnz + d * p.owned)
            + (4 * corners + (corners * d).pow(2)) * p.elems
            + (24 + 8 * d) * (p.owned + p.ghosts)
    };
    let rows = d * corners;
    let element_flops = points * (39 * corners + 8 * rows + 28 * d * rows + 8 * rows * rows + 8 * rows);
    // Off-diagonal entries of a row or column that is cleared, within the blocks of nodes too, and residuals.
    let conditions = |p: &Part| d * d * p.cleared + (d * d - d) * p.fixed + d * p.fixed;
    let is_scatter = run.fill == fill::Strategy::Scatter;
    costs.extend([
        ("spmv", total(&product), total(&|p| 2 * d * d * p.nnz)),
        ("cg", total(&|p| product(p) + 72 * d * p.owned), total(&|p| 2 * d * d * p.nnz + updates * d * p.owned)),
        (
            "graph",
            total(&|p| 4 * corners * p.elems + pattern(1, p) + tables(1, p) + 4 * p.nnz + expanded(p)),
            Some(0.0),
        ),
        ("graph/scan", total(&|p| 12 * p.owned + 8), Some(0.0)),
        ("fill", is_scatter.then(|| sum(parts, fill)), total(&|p| element_flops * p.elems)),
        ("boundary", total(&|p| 16 * conditions(p)), Some(0.0)),
    ]);
    costs
}

/// Bytes, flops and rates of the phases, and the rating.
fn check_phases(run: &Run, report: &Report, parts: &[Part]) {
    let (nodes, seconds) = (report.nodes as f64, report.total_seconds);
    for (name, bytes, flops) in costs(run, report, parts) {
        let found = phase(report, name);
        for (what, found, expected) in [("bytes", found.bytes, bytes), ("flops", found.flops, flops)] {
            if let Some(expected) = expected {
                close(found, expected * phase(report, name).calls as f64, &format!("{what} of {name}"));
            }
        }
    }
    let rate = |amount: f64, seconds: f64| (amount > 0.0).then(|| amount * 1e-9 / seconds);
    for row in &report.phases {
        close(row.us_per_node, 1e6 * row.seconds / row.calls as f64 / nodes, "us_per_node");
        for (found, expected) in
            [(row.gb_per_s, rate(row.bytes, row.seconds)), (row.gflop_per_s, rate(row.flops, row.seconds))]
        {
            assert_eq!(found.is_some(), expected.is_some(), "{row:?}");
            found.iter().zip(expected).for_each(|(found, expected)| close(*found, expected, &row.name));
        }
        assert_eq!(row.triad_fraction, None);
        let most = report.ranks as f64;
        assert!(row.seconds > 0.0 && (1.0 - 1e-9..=most + 1e-9).contains(&row.imbalance), "{row:?}");
        if let Some(spread) = &row.spread {
            assert!(
                spread.p10_seconds <= spread.median_seconds && spread.median_seconds <= spread.p90_seconds,
                "{row:?}"
            );
            assert!(spread.p90_seconds <= row.seconds * report.ranks as f64 && row.calls > 1, "{row:?}");
        }
        // On one rank a phase lasts as long as its parts, at least; the run as long as all phases.
        let inside = |part: &&PhaseReport| part.parent.as_ref() == Some(&row.name);
        let of_parts: f64 = report.phases.iter().filter(inside).map(|part| part.seconds).sum();
        assert!(report.ranks > 1 || of_parts <= row.seconds * (1.0 + 1e-9), "{row:?}");
    }
    let of_phases = report.phases.iter().filter(|row| row.parent.is_none() && row.name != "total");
    assert!(report.ranks > 1 || of_phases.map(|row| row.seconds).sum::<f64>() <= seconds);
    let (total, cg) = (phase(report, "total"), phase(report, "cg"));
    assert_eq!((report.phases.last().unwrap().name.as_str(), total.seconds, total.calls), ("total", seconds, 1));
    close(total.flops, phase(report, "fill").flops + cg.flops, "flops of the run");
    let rating = &report.rating;
    assert!(
        rating.verified == report.verified && rating.cg_triad_fraction.is_none() && report.triad_gb_per_s.is_none()
    );
    close(rating.cg_gflop_per_s.unwrap(), 1e-9 * cg.flops / cg.seconds, "cg_gflop_per_s");
    close(rating.total_gflop_per_s.unwrap(), 1e-9 * total.flops / seconds, "total_gflop_per_s");
    close(rating.unknowns_per_second, nodes * run.problem.dofs() as f64 / seconds, "unknowns_per_second");
    close(report.peak_bytes_per_node, report.peak_bytes as f64 / nodes, "peak_bytes_per_node");
}

/// Iterations, residuals and how often each phase ran.
fn check_iterations(run: &Run, report: &Report) {
    let history = &report.history;
    let steps = history.len() - 1;
    assert_eq!(report.newton_iterations, steps);
    assert!(history.iter().enumerate().all(|(at, line)| line.newton == at));
    assert_eq!(report.cg_iterations, history.iter().map(|line| line.cg_iterations).sum::<usize>());
    assert_eq!(report.cg_reductions, history.iter().map(|line| line.cg_reductions).sum::<usize>());
    let last = &history[steps];
    assert_eq!((last.cg_iterations, last.cg_reductions, last.cg_residual, last.true_residual), (0, 0, 0.0, 0.0));
    for line in &history[..steps] {
        // The first residual's norms, then p.Ap and r.r, or both at once.
        let each = if run.variant == CgVariant::Classic { 2 } else { 1 };
        let more = line.cg_reductions - each * line.cg_iterations;
        assert!(line.cg_iterations > 3 && (1..=3).contains(&more), "{line:?}");
        assert!(line.cg_residual > 0.0 && line.cg_residual < 1e-6 * line.residual, "{line:?}");
        assert!((line.true_residual / line.cg_residual - 1.0).abs() < 1e-2, "{line:?}");
    }
    assert!(history.windows(2).all(|lines| lines[1].residual < 0.1 * lines[0].residual), "{history:?}");
    let calls = |name: &str| phase(report, name).calls as usize;
    let product = if run.operator == Operator::Assembled { "spmv" } else { "apply" };
    assert_eq!(["fill", "ghosts"].map(calls), [steps + 1; 2]);
    assert_eq!([calls("cg"), calls("mesh"), calls("setup")], [report.cg_iterations, 1, 1]);
    // The first residual; single-reduction CG multiplies it, too, and computes s = A p anew.
    let more = if run.variant == CgVariant::Classic { steps..=steps } else { 2 * steps..=4 * steps };
    assert!(more.contains(&(calls(product) - report.cg_iterations)) && calls("halo") == calls(product));
}

/// Errors of heat on `hex8` from the field itself, and the estimates by their formulas.
fn check_errors(report: &Report, deck: &Deck, field: &[(f64, f64)]) {
    let [x, y, z] = deck.mesh.size;
    let nodes = report.nodes as f64;
    let residual = report.history.last().unwrap().residual;
    let relative = residual / nodes.sqrt() / (x * y * z / nodes);
    let modes = [x, y, z].map(|edge| (std::f64::consts::PI / edge).powi(2));
    if (deck.problem.kind, deck.mesh.element) == (ProblemKind::Heat, ElementType::Hex8) {
        // T(z) = (a z + b)^-2 with K = 1 / (6 a^2); on a uniform grid the largest spacing is that of all elements.
        let [low, high] = [deck.problem.t_min, deck.problem.t_max];
        let (a, b) = ((1.0 / high.sqrt() - 1.0 / low.sqrt()) / z, 1.0 / low.sqrt());
        let exact = |z: f64| (a * z + b).powi(-2);
        let (mut largest, mut squares, mut exact_squares) = (0.0f64, 0.0, 0.0);
        for &(z, value) in field {
            largest = largest.max((value - exact(z)).abs());
            squares += (value - exact(z)).powi(2);
            exact_squares += exact(z).powi(2);
        }
        let near = |found: f64, expected: f64, what: &str| {
            assert!((found / expected - 1.0).abs() < 1e-9, "{what}: {found}, expected {expected}");
        };
        let spacing = z / (report.mesh.nodes[2] - 1) as f64;
        near(report.error_max, largest / high, "error_max");
        near(report.error_l2, (squares / exact_squares).sqrt(), "error_l2");
        near(report.mesh.spacing, spacing, "spacing");
        near(report.error_bound, 0.75 * (a * spacing).powi(2) * high, "error_bound");
        near(report.algebraic_error, relative * 6.0 * a * a / modes[2] / high, "algebraic_error");
        near(report.problem.conductivity.unwrap(), 1.0 / (6.0 * a * a), "conductivity");
    } else {
        // Lame's mu is 1, and waves have an amplitude of 1: max|u| of the points is nearly that of the nodes.
        let scale = field.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
        let expected = match deck.problem.kind {
            ProblemKind::Heat => relative / report.problem.conductivity.unwrap() / modes[2] / scale,
            _ => relative / modes.iter().sum::<f64>() / scale,
        };
        let ratio = report.algebraic_error / expected;
        assert!((0.9..1.1).contains(&ratio), "algebraic error {}, expected {expected}", report.algebraic_error);
    }
    assert!(report.symmetry < 1e-14 && report.error_max <= report.error_bound && report.error_l2 <= report.error_max);
}

/// The map of pairs, and the additions of an assembly.
fn check_strategies(run: &Run, report: &Report, parts: &[Part]) {
    let d = run.problem.dofs() as f64;
    let strategies = &report.strategies;
    if run.operator == Operator::MatrixFree {
        assert!(report.pair_map.is_none() && strategies.format.is_none() && strategies.format_bytes_per_row.is_none());
        return;
    }
    let product = phase(report, "spmv");
    let unknowns = report.nodes as f64 * d;
    close(strategies.format_bytes_per_row.unwrap(), product.bytes / product.calls as f64 / unknowns, "bytes per row");
    let map = report.pair_map.as_ref().unwrap();
    close(map.load.unwrap() * map.capacity as f64, sum(parts, |p| p.nnz), "pairs of the map");
    assert_eq!(map.duplicates.unwrap() as f64, sum(parts, |p| p.corner_pairs - p.nnz));
    assert!((map.failed_inserts > 0) == (map.retries > 0) && map.longest_probe.unwrap() >= 1);
    // Pairs of rows and columns, and residuals, of owned rows.
    let rows = run.element.nodes() as f64 * d;
    let additions = report.elements as f64 * rows * (rows + 1.0);
    let expected = match run.fill {
        fill::Strategy::Scatter => [Some(additions), Some(0.0)],
        fill::Strategy::Colour => [Some(0.0), Some(additions)],
        _ => [None; 2],
    };
    assert_eq!(
        [strategies.fill_atomic_adds, strategies.fill_plain_adds].map(|adds| adds.map(|adds| adds as f64)),
        expected
    );
}

/// The row of a table has the values of the report.
fn check_row(report: &Report) {
    let json = serde_json::to_value(report).unwrap();
    let (names, row) = (Report::csv_header(), report.csv_row());
    assert!(!row.contains('"'), "{row}");
    let mut found = 0;
    for (name, value) in names.split(',').zip(row.split(',')) {
        let seconds = name.strip_suffix("_seconds").and_then(|name| report.phases.iter().find(|row| row.name == name));
        let at = ["", "/mesh", "/strategies", "/rating"].map(|at| format!("{at}/{name}"));
        let axis = ["nodes_x", "nodes_y", "nodes_z"].iter().position(|axis| *axis == name);
        let expected = match (seconds, axis) {
            (Some(row), _) => row.seconds.into(),
            (_, Some(axis)) => report.mesh.nodes[axis].into(),
            _ => match at.iter().find_map(|at| json.pointer(at)) {
                Some(serde_json::Value::Array(verdict)) if name == "verdict" => {
                    verdict.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join("; ").into()
                }
                // The problem is a table, whose name is the column's value.
                Some(value) => value.get("name").unwrap_or(value).clone(),
                None => continue,
            },
        };
        match expected.as_f64() {
            Some(expected) => assert_eq!(value.parse(), Ok(expected), "{name}"),
            None if expected.is_null() => assert_eq!(value, "", "{name}"),
            None => assert_eq!(value, expected.as_str().map_or(expected.to_string(), String::from), "{name}"),
        }
        found += 1;
    }
    assert!(found > 30, "{found} columns");
}

#[test]
fn every_number_follows_from_others() {
    let heat = [
        HEAT,
        Run { ranks: 2, ..HEAT },
        Run { ranks: 3, imbalance: 60.0, fill: fill::Strategy::Colour, ..HEAT },
        Run { ranks: 5, variant: CgVariant::SingleReduction, ..HEAT },
    ];
    let elastic = Run { problem: ProblemKind::Elasticity, points: [9, 10, 8], ..HEAT };
    let tets = Run { problem: ProblemKind::Poisson, element: ElementType::Tet4, points: [12, 11, 13], ..HEAT };
    let quadratic = Run { element: ElementType::Hex20, points: [5, 7, 9], ..HEAT };
    let general = [elastic, Run { ranks: 3, ..elastic }, Run { ranks: 4, ..tets }, Run { ranks: 2, ..quadratic }];
    let free = |run: Run| Run { operator: Operator::MatrixFree, ..run };
    let free = [free(HEAT), free(Run { ranks: 3, ..HEAT }), free(Run { ranks: 2, ..elastic })];
    for run in heat.into_iter().chain(general).chain(free) {
        let deck = deck(&run);
        let (report, field) = solved(&run, &deck);
        let spec = BoxSpec::new(run.points, deck.mesh.size, Default::default()).unwrap();
        let spec = spec.with_imbalance(run.imbalance).unwrap();
        let (parts, nodes, elements) = parts(run.element, &spec, run.ranks, run.problem != ProblemKind::Heat);
        println!("{run:?}");
        check_partition(&run, &report, &parts, [nodes, elements]);
        check_iterations(&run, &report);
        check_phases(&run, &report, &parts);
        check_strategies(&run, &report, &parts);
        check_errors(&report, &deck, &field);
        check_row(&report);
    }
}
