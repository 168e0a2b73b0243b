use super::*;

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

/// Every number of the tables, from values that differ.
#[test]
fn the_tables_have_the_numbers_of_the_report_in_their_units() {
    let spread = SpreadReport { p10_seconds: 1e-3, median_seconds: 2e-3, p90_seconds: 3.5e-3, noisy: true };
    let cg = PhaseReport::new("cg", 4, 2.0, 1.6, 8e9, 5e9, 27, Some(20.0));
    let phases = vec![
        PhaseReport { spread: Some(spread), ..PhaseReport::new("fill", 3, 0.5, 0.5, 0.0, 0.0, 27, Some(20.0)) },
        cg,
        PhaseReport::new("total", 1, 4.0, 4.0, 0.0, 5e9, 27, Some(20.0)),
    ];
    let level = |rows, entries, seconds| LevelReport { rows, entries, seconds };
    let report = Report {
        rating: RatingReport::new(&phases, 54, 4.0, false),
        phases,
        triad_gb_per_s: Some(20.0),
        levels: vec![level(1000, 27_000, 2e-3), level(125, 2700, 0.5e-3), level(8, 64, 0.25e-3)],
        plain_start_residual: Some(0.125),
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
    let rating = &report.rating;
    assert_eq!((rating.cg_gflop_per_s, rating.cg_triad_fraction), (Some(2.5), Some(0.2)));
    assert_eq!((rating.total_gflop_per_s, rating.unknowns_per_second, rating.verified), (Some(1.25), 13.5, false));
    let table = report.table();
    let has = |cells: &[&str]| {
        assert!(table.lines().any(|line| line.split_whitespace().eq(cells.iter().copied())), "{cells:?}: {table}");
    };
    has(&["0", "4.400e0", "5", "12", "1.000e-9", "2.000e-9"]);
    has(&["0", "1000", "27000", "1.000", "2.000"]);
    has(&["1", "125", "2700", "1.100", "0.500"]);
    has(&["2", "8", "64", "1.102", "0.250"]);
    has(&["fill", "3", "0.5000", "6172.83951", "-", "-", "-", "1.00"]);
    has(&["cg", "4", "2.0000", "18518.51852", "4.00", "20", "%", "2.50", "1.25"]);
    has(&["fill", "3", "1.000", "2.000", "3.500", "noisy"]);
    for line in [
        "triad       20.0 GB/s",
        "peak memory 1.0 MiB, 38836 B/node (all ranks: resident, with the program)",
        "rating      CG 2.50 GFLOP/s (20 % of triad), all 1.25 GFLOP/s,",
        "start       from coarser boxes; at the boundary values ||F|| is 1.250e-1",
        "pair map    40 slots, 52.5 % full, longest probe 7, 201 duplicates",
        "            3 failed inserts, 1 retry",
        "errors      max 1.000e-3, bound 2.000e-2, L2 5.000e-4",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }
    let mut of_minife = report.clone();
    of_minife.problem.name = ProblemKind::Minife;
    let line = "\nerrors      at the centre: max 1.000e-3 of 1, bound 2.000e-2, L2 5.000e-4 of the value there\n";
    assert!(of_minife.table().contains(line), "{}", of_minife.table());
    let mut uneven = report.clone();
    uneven.partition = PartitionReport {
        owned_min: 5,
        owned_max: 11,
        owned_mean: 9.0,
        imbalance_asked_percent: 30.0,
        imbalance_percent: 44.4,
        ghosts: 6,
        neighbours: 1,
        duplicated_elements: 3,
    };
    let words = uneven.table().split_whitespace().collect::<Vec<_>>().join(" ");
    let line = "partition 5 to 11 nodes per rank, at most 6 ghosts and 1 neighbour, 37.5 % duplicated elements, imbalance 44.4 % \
                (asked 30 %)";
    assert!(words.contains(line), "{words}");
    assert!(table.contains("1.350e1 unknowns/s") && table.contains("NOT VERIFIED"), "{table}");
}
