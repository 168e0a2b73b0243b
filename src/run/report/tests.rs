use super::*;
use crate::run::provenance::GpuReport;

pub(super) fn sample() -> Report {
    Report {
        schema_version: SCHEMA_VERSION,
        version: "0.0.0",
        date: "2026-11-22T13:00:05Z".into(),
        problem: ProblemReport::new(&Deck::default(), Some(Heat::new(1.942_809_04))),
        mesh: MeshReport {
            element: ElementType::Hex8,
            nodes: [3; 3],
            size: [1.0; 3],
            map: "none".into(),
            spacing: 0.5,
        },
        nodes: 27,
        elements: 8,
        ranks: 1,
        threads: 2,
        deterministic: false,
        device: "cpu".into(),
        partition: PartitionReport {
            owned_min: 27,
            owned_max: 27,
            owned_mean: 27.0,
            imbalance_asked_percent: 0.0,
            imbalance_percent: 0.0,
            ghosts: 0,
            neighbours: 0,
            duplicated_elements: 0,
        },
        strategies: StrategiesReport {
            graph: Some(crate::graph::Strategy::Gather),
            scan: Some(crate::space::Scan::Serial),
            fill: crate::fill::Strategy::Scatter,
            fill_atomic_adds: Some(8 * 72),
            fill_plain_adds: Some(0),
            kernel: Some(crate::fill::Kernel::Fused),
            contractions: std::collections::BTreeMap::new(),
            solver: Solver::Cg,
            cg: "classic".into(),
            operator: crate::run::deck::Operator::Assembled,
            preconditioner: crate::run::deck::Preconditioning::None,
            forcing: crate::run::deck::Forcing::Fixed,
            halo: None,
            format: Some(crate::sparse::Format::Crs),
            format_reason: "given".into(),
            format_bytes_per_row: Some(332.0),
            matrix_values: Some(crate::sparse::Precision::F64),
        },
        newton_iterations: 1,
        cg_iterations: 5,
        cg_reductions: 12,
        plain_start_residual: None,
        history: vec![HistoryReport {
            newton: 0,
            residual: 4.4,
            cg_iterations: 5,
            cg_reductions: 12,
            cg_residual: 1e-9,
            true_residual: 2e-9,
        }],
        reason: "relative tolerance".into(),
        stopped: None,
        error_max: 1e-3,
        error_l2: 5e-4,
        error_bound: 2e-2,
        algebraic_error: 1e-9,
        symmetry: 1e-17,
        total_seconds: 0.75,
        cg_iterations_asked: None,
        verified: true,
        verdict: vec![],
        rating: RatingReport::new(&[], 27, 0.75, true),
        triad_gb_per_s: None,
        peak_bytes: 1 << 20,
        peak_bytes_per_node: f64::from(1 << 20) / 27.0,
        provenance: ProvenanceReport {
            command: vec!["minifenl".into()],
            deck: Default::default(),
            machine: Default::default(),
            gpu: None,
            mpi: None,
            build: Default::default(),
            placement: vec![],
            other_programs: None,
        },
        pair_map: None,
        levels: vec![],
        phases: vec![
            PhaseReport::new("graph", 1, 0.5, 0.5, 1e9, 0.0, 27, None),
            PhaseReport {
                parent: Some("graph".into()),
                ..PhaseReport::new("graph/scan", 1, 0.1, 0.1, 0.0, 0.0, 27, None)
            },
        ],
    }
}

#[test]
fn json_has_the_keys_and_null_for_nan() {
    let report = Report { error_l2: f64::NAN, ..sample() };
    let json = serde_json::to_value(&report).unwrap();
    let keys = "nodes elements ranks threads device newton_iterations cg_iterations cg_reductions error_max error_l2 verified verdict \
                triad_gb_per_s peak_bytes phases";
    for key in keys.split_whitespace() {
        assert!(json.get(key).is_some(), "{key}");
    }
    assert!(json["error_l2"].is_null() && json["triad_gb_per_s"].is_null());
    for key in "name calls seconds us_per_node gb_per_s triad_fraction".split_whitespace() {
        assert!(json["phases"][0].get(key).is_some(), "{key}");
    }
    assert_eq!(
        (&json["phases"][0]["gb_per_s"], &json["phases"][1]["gb_per_s"]),
        (&2.0.into(), &serde_json::Value::Null)
    );
}

#[test]
fn the_table_is_aligned_and_ends_with_the_verdict() {
    let table = sample().table();
    let line = |start: &str| table.lines().find(|line| line.starts_with(start)).unwrap().len();
    assert_eq!(line("phase "), line("graph "));
    assert_eq!(line("phase "), line("  scan"));
    assert!(table.lines().last().unwrap().starts_with("PASS: 1 Newton step, 5 CG"), "{table}");
    let failed = Report { verified: false, verdict: vec!["a cause".into(), "an effect".into()], ..sample() }.table();
    assert!(failed.lines().last().unwrap().starts_with("FAIL: a cause; 1 Newton step, 5 CG"), "{failed}");
    let counted = Report { verified: false, cg_iterations_asked: Some(5), verdict: vec!["x".into()], ..sample() };
    assert!(counted.table().lines().last().unwrap().starts_with("NOT JUDGED: 1 Newton step, 5 CG"));
    assert!(counted.is_good() && sample().is_good());
    assert!(!Report { verified: false, ..sample() }.is_good());
    assert!(table.contains("\nchecks      algebraic error 1.0e-9, asymmetry of the matrix 1.0e-17\nPASS"), "{table}");
}

/// A report in which nothing is absent and each number differs from all others.
fn full() -> Report {
    let spread = SpreadReport { p10_seconds: 1e-3, median_seconds: 2e-3, p90_seconds: 3.5e-3, noisy: true };
    let phase = |at: usize, name| {
        let (at, calls) = (at as f64, at as u64 + 2);
        PhaseReport::new(name, calls, 0.25 + at, 0.2 + 0.75 * at, 1e9 * (1.0 + at), 3e8 * (2.0 + at), 210, Some(20.0))
    };
    let names =
        ["kernels", "memory", "mesh", "graph", "setup", "residual", "nested", "fill", "boundary", "ghosts", "format"];
    let names =
        names.into_iter().chain(["preconditioner", "cg", "spmv", "apply", "halo", "verify", "total", "connect"]);
    let mut phases: Vec<PhaseReport> = names.enumerate().map(|(at, name)| phase(at, name)).collect();
    (phases[13].parent, phases[7].spread, phases[8].flops) = (Some("cg".into()), Some(spread), 0.0);
    phases[9] = PhaseReport::new("ghosts", 11, 9.25, 6.95, 0.0, 0.0, 210, Some(20.0));
    let level = |ranks, rows, entries, seconds| LevelReport { ranks, rows, entries, seconds };
    let step = |newton, residual, cg_iterations| HistoryReport {
        newton,
        residual,
        cg_iterations,
        cg_reductions: 2 * cg_iterations + 3,
        cg_residual: 1.25e-3 * residual,
        true_residual: 1.5e-3 * residual,
    };
    let mut report = Report {
        rating: RatingReport::new(&phases, 630, 4.75, false),
        phases,
        mesh: MeshReport {
            element: ElementType::Tet10,
            nodes: [5, 6, 7],
            size: [1.5, 2.5, 3.5],
            map: "twist:0.2".into(),
            spacing: 0.625,
        },
        nodes: 205,
        elements: 96,
        ranks: 3,
        threads: 2,
        deterministic: true,
        partition: PartitionReport {
            owned_min: 59,
            owned_max: 82,
            owned_mean: 68.25,
            imbalance_asked_percent: 30.0,
            imbalance_percent: 20.125,
            ghosts: 43,
            neighbours: 1,
            duplicated_elements: 36,
        },
        newton_iterations: 4,
        cg_iterations: 61,
        cg_reductions: 134,
        plain_start_residual: Some(0.125),
        history: vec![step(0, 4.5, 29), step(1, 0.07, 31)],
        error_max: 1.1e-3,
        error_l2: 5.5e-4,
        error_bound: 2.2e-2,
        algebraic_error: 1.7e-9,
        symmetry: 1.9e-17,
        total_seconds: 4.75,
        triad_gb_per_s: Some(20.0),
        peak_bytes: 7_654_321,
        peak_bytes_per_node: 37_338.15,
        levels: vec![level(3, 1000, 27_000, 2e-3), level(3, 125, 2700, 0.5e-3), level(1, 8, 64, 0.25e-3)],
        pair_map: Some(PairMapReport {
            capacity: 40,
            load: Some(0.525),
            longest_probe: Some(7),
            failed_inserts: 3,
            retries: 1,
            duplicates: Some(201),
        }),
        ..sample()
    };
    (report.strategies.fill_plain_adds, report.strategies.halo) = (Some(577), Some("MPI".into()));
    (report.problem.advection, report.strategies.preconditioner) =
        (Some([0.5, -1.0, 2.0]), crate::run::deck::Preconditioning::Multigrid);
    let provenance = &mut report.provenance;
    (provenance.mpi, provenance.other_programs) = (Some("Open MPI v4, package: x".into()), Some(1.26));
    let of_gpu = GpuReport {
        name: "A".into(),
        memory_bytes: 80 << 30,
        driver: Some("595.71".into()),
        cuda: "13.1".into(),
        nvrtc: Some("13.0".into()),
    };
    provenance.gpu = Some(of_gpu);
    (provenance.build.commit, provenance.build.rustc, provenance.build.profile) =
        ("abc".into(), "rustc 1.95.0 (x)".into(), "release");
    let machine = &mut provenance.machine;
    (machine.host, machine.cpu, machine.sockets, machine.cores) = ("a".into(), "Made Up 9".into(), Some(2), Some(48));
    (machine.hardware_threads, machine.memory_bytes) = (96, Some(257 << 30));
    report
}

/// Tables and rows as texts that were looked through: each word and number of them is one of the report in its unit.
#[test]
fn whole_tables_and_rows_are_those_that_were_looked_through() {
    let report = full();
    let mut other = Report { cg_iterations_asked: Some(5), ..report.clone() };
    other.rating.verified = true;
    (other.problem.advection, other.mesh.element, other.nodes) = (None, ElementType::Hex8, 210);
    (other.strategies.format, other.strategies.solver) = (None, Solver::Gmres);
    let found = [report.table(), other.table(), Report::csv_header(), report.csv_row()].join("\n") + "\n";
    let different =
        found.lines().zip(include_str!("tests/full.txt").lines()).find(|(found, expected)| found != expected);
    assert_eq!((different, found.lines().count()), (None, include_str!("tests/full.txt").lines().count()), "{found}");
    let fives = |report: &Report| report.csv_row().matches(",5,").count();
    assert_eq!(fives(&other), fives(&report) + 1, "{}", other.csv_row());
    let mut of_minife = report;
    of_minife.problem.name = ProblemKind::Minife;
    let line = "\nerrors      at the centre: max 1.100e-3 of 1, bound 2.200e-2, rel. L2 5.500e-4\n";
    assert!(of_minife.table().contains(line), "{}", of_minife.table());
}
