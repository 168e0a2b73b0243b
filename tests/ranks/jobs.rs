//! The program on ranks: the same Newton counts and the same error whatever the ranks and threads, read from its reports;
//! and its failures, which end all ranks with one message and a code.

use std::process::Output;
use support::json;
use support::mpirun;

/// Runs the program on `ranks` ranks.
fn job(ranks: usize, arguments: &[&str]) -> Output {
    let mut command = mpirun(ranks);
    command.arg(env!("CARGO_BIN_EXE_minifenl")).args(arguments).output().expect("mpirun starts")
}

fn report(ranks: usize, threads: usize, nodes: &str) -> serde_json::Value {
    report_of(ranks, threads, nodes, &[])
}

fn report_of(ranks: usize, threads: usize, nodes: &str, more: &[&str]) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let threads = threads.to_string();
    let fixed =
        ["--nodes", nodes, "--device", "cpu", "--map", "twist", "--fill", "gather", "--threads", &threads, "--report"];
    let output = job(ranks, &[&fixed[..], &[path.to_str().unwrap()], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "not a terminal, so silent: {}", String::from_utf8_lossy(&output.stderr));
    json(&path)
}

#[test]
fn ranks_and_threads_change_neither_counts_nor_error() {
    let alone = report(1, 1, "17x18x19");
    for (ranks, threads) in [(1, 2), (2, 1), (2, 2), (3, 1), (4, 1), (8, 1), (8, 2)] {
        let other = report(ranks, threads, "17x18x19");
        assert_eq!((other["ranks"].as_u64(), other["threads"].as_u64()), (Some(ranks as u64), Some(threads as u64)));
        for key in ["nodes", "elements", "newton_iterations", "verified"] {
            assert_eq!(other[key], alone[key], "{key} on {ranks} x {threads}");
        }
        let iterations = |report: &serde_json::Value| report["cg_iterations"].as_f64().unwrap();
        assert!((iterations(&other) - iterations(&alone)).abs() <= 3.0);
        for key in ["error_max", "error_l2"] {
            let (other, alone) = (other[key].as_f64().unwrap(), alone[key].as_f64().unwrap());
            assert!((other / alone - 1.0).abs() < 1e-5, "{key} on {ranks} x {threads}: {other} {alone}");
        }
    }
}

/// Residuals and errors of a report, as text that gives back every bit.
fn numbers(ranks: usize, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let fixed = ["--nodes", "11x12x13", "--device", "cpu", "--map", "twist", "--report", path.to_str().unwrap()];
    let output = job(ranks, &[&fixed[..], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&path);
    assert_eq!(report["deterministic"], arguments.contains(&"--deterministic"));
    let keys = ["history", "cg_iterations", "error_max", "error_l2", "algebraic_error", "symmetry"];
    keys.map(|key| format!("{key}: {}", report[key])).join("\n")
}

#[test]
fn a_deterministic_run_has_the_same_bits_whatever_the_threads_and_limits() {
    let mut plain_differs = 0;
    for ranks in [2, 3, 4, 8] {
        let run = |more: &[&str]| numbers(ranks, &[&["--deterministic"], more].concat());
        let first = run(&["--threads", "1"]);
        for more in
            [&["--threads", "1"][..], &["--threads", "2"], &["--threads", "3"], &["--threads", "1", "--timeout", "60"]]
        {
            assert_eq!(run(more), first, "{ranks} ranks, {more:?}");
        }
        plain_differs += usize::from(numbers(ranks, &["--threads", "1"]) != first);
    }
    // On two ranks there is one order; on some of the others MPI's own order is another one.
    println!("the order of MPI gives other bits on {plain_differs} of 4 numbers of ranks");
}

#[test]
fn variants_of_cg_take_the_counts_of_classic_cg_on_ranks() {
    let alone = report(1, 1, "17x18x19");
    let number = |report: &serde_json::Value, key: &str| report[key].as_f64().unwrap();
    for (variant, per_iteration) in [("classic", 2.0), ("single-reduction", 1.0)] {
        // With a limit of waits, collectives and exchanges take other calls of MPI.
        for (ranks, threads, limit) in
            [(1, 2, None), (2, 1, None), (2, 1, Some("20")), (3, 1, None), (4, 1, None), (8, 1, None)]
        {
            let limit: Vec<&str> = limit.into_iter().flat_map(|limit| ["--timeout", limit]).collect();
            let other = report_of(ranks, threads, "17x18x19", &[&["--cg-variant", variant], &limit[..]].concat());
            let case = format!("{variant} on {ranks} x {threads}, {limit:?}");
            assert_eq!(other["strategies"]["cg"], variant, "{case}");
            for key in ["newton_iterations", "verified"] {
                assert_eq!(other[key], alone[key], "{key}, {case}");
            }
            assert!((number(&other, "cg_iterations") - number(&alone, "cg_iterations")).abs() <= 3.0, "{case}");
            for key in ["error_max", "error_l2"] {
                assert!((number(&other, key) / number(&alone, key) - 1.0).abs() < 1e-5, "{key}, {case}");
            }
            // ||b||, the first and the last sums of each solve; a refresh after 64 iterations.
            let more = number(&other, "cg_reductions") - per_iteration * number(&other, "cg_iterations");
            assert!((2.0..=4.0).contains(&(more / number(&other, "newton_iterations"))), "{case}: {more}");
            for line in other["history"].as_array().unwrap().iter().filter(|line| number(line, "cg_iterations") > 0.0) {
                // ||F|| is the right-hand side, and 1e-8 the tolerance.
                assert!(number(line, "true_residual") <= 1.001e-8 * number(line, "residual"), "{case}: {line}");
            }
        }
    }
}

/// The algorithms that each preset names, on 4 ranks of 1 thread.
#[test]
fn both_presets_solve_on_four_ranks() {
    let reports = ["papers", "fast"].map(|preset| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        // Above the size from which `fast` stores symmetric halves: 32,768 rows per rank.
        let flags = ["--nodes", "52", "--device", "cpu", "--threads", "1", "--preset", preset, "--report"];
        let output = job(4, &[&flags[..], &[path.to_str().unwrap()]].concat());
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), &*err), (Some(0), ""), "{out}");
        assert!(out.lines().any(|line| line.starts_with("PASS: ")), "{out}");
        json(&path)
    });
    let names = |strategies: &serde_json::Value| {
        ["graph", "scan", "fill", "kernel", "cg", "format"].map(|key| strategies[key].as_str().unwrap().to_string())
    };
    let [papers, fast] = reports.each_ref().map(|report| &report["strategies"]);
    assert_eq!(names(papers), ["map", "parallel", "scatter", "intrepid", "classic", "crs"]);
    assert_eq!(names(fast), ["gather", "serial", "colour", "fused", "classic", "symmetric"]);
    let preconditioners = [papers, fast].map(|strategies| strategies["preconditioner"].as_str());
    assert_eq!(preconditioners, [Some("none"), Some("mg")]);
    // Additions of elements at interfaces go to owned rows only, so that over all ranks there are those of one: 72 per element.
    assert_eq!(papers["fill_atomic_adds"], 72 * 51u64.pow(3));
    assert_eq!((&papers["fill_plain_adds"], &fast["fill_atomic_adds"]), (&0.into(), &0.into()));
    let map = &reports[0]["pair_map"];
    assert_eq!((&map["failed_inserts"], &map["retries"]), (&0.into(), &0.into()));
    assert_eq!(reports[0]["verified"], reports[1]["verified"]);
    // Newton's method begins at boundary values in one, at the solution of coarser boxes in the other, with the same target.
    assert_eq!(reports.each_ref().map(|report| report["newton_iterations"].as_u64()), [Some(3), Some(1)]);
    let plain =
        reports[1]["plain_start_residual"].as_f64().unwrap() / reports[0]["history"][0]["residual"].as_f64().unwrap();
    assert!((plain - 1.0).abs() < 1e-12, "{plain}");
    let [papers, fast] = reports.each_ref().map(|report| report["error_l2"].as_f64().unwrap());
    // Steps that are solved to another tolerance leave other algebraic errors, here 0.3 % of that of the discretisation.
    assert!((papers / fast - 1.0).abs() < 1e-2, "{papers} {fast}");
}

#[test]
fn the_error_falls_by_four_on_ranks() {
    let [coarse, fine] = ["9x10x11", "17x19x21"].map(|nodes| report(4, 1, nodes)["error_l2"].as_f64().unwrap());
    assert!((3.4..4.6).contains(&(coarse / fine)), "{coarse} / {fine}");
}

#[test]
fn failures_end_all_ranks_with_one_message_and_a_code() {
    for (code, arguments, words) in [
        (2, &["--nodes", "9", "--map", "twist:1.4"][..], "is folded or inverted"),
        (2, &["--nodes", "2"], "ranks"),
        (2, &["--nodes", "9", "--report", "/nowhere/report.json"], "/nowhere/report.json"),
        (2, &["--nodez", "9"], "--nodez"),
    ] {
        let ranks = if arguments[1] == "2" { 16 } else { 4 };
        let output = job(ranks, arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        let ours = text.lines().filter(|line| line.starts_with("error:")).collect::<Vec<_>>();
        assert_eq!(ours.len(), 1, "{arguments:?}: {text}");
        assert!(ours[0].contains(words), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn ranks_that_do_not_converge_report_once_what_they_reached() {
    for (flags, words) in [(["--cg-max", "2"], "FAIL: CG did not"), (["--newton-max", "1"], "FAIL: Newton did not")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let output = job(3, &[&["--nodes", "9", "--report", path.to_str().unwrap()], &flags[..]].concat());
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{flags:?}: {err}");
        assert!(!err.contains("error:"), "{flags:?}: {err}");
        assert_eq!(out.lines().filter(|line| line.starts_with(words)).count(), 1, "{flags:?}: {out}");
        let report = json(&path);
        assert!(report["verified"] == false && report["ranks"] == 3, "{flags:?}");
        assert_eq!(report["history"].as_array().unwrap().len(), if flags[0] == "--cg-max" { 1 } else { 2 });
    }
}

#[test]
fn a_report_of_ranks_names_mpi_and_the_place_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let output = job(3, &["--nodes", "9", "--device", "cpu", "--threads", "1", "--report", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&path);
    assert!(report["provenance"]["mpi"].as_str().unwrap().contains("(MPI 3."), "{}", report["provenance"]["mpi"]);
    let ranks = report["provenance"]["placement"].as_array().unwrap().iter().flat_map(|place| {
        assert_eq!(place["threads"], 1);
        let [first, last] = ["first_rank", "last_rank"].map(|key| place[key].as_u64().unwrap());
        first..=last
    });
    assert_eq!(ranks.collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn shares_grow_with_the_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let output = job(4, &["--nodes-per-rank", "8", "--report", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&path);
    assert_eq!(report["nodes"].as_u64(), Some(4 * 512));
    assert_eq!(
        (report["partition"]["owned_min"].as_u64(), report["partition"]["owned_max"].as_u64()),
        (Some(512), Some(512))
    );
}

/// Bytes, flops and the partition on several ranks, by hand. The box of 5 x 7 x 11 nodes is cut along z: each of the cuts adds
/// a layer of 4 x 6 elements that two ranks compute, and 35 ghosts on either side. `tests/program/published.rs` has the counts of the
/// whole box.
#[test]
fn published_numbers_on_ranks_are_those_by_hand() {
    let (nodes, entries, fixed) = (385.0, 7657.0, 1482.0);
    for ranks in [2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let flags = ["--nodes", "5x7x11", "--size", "1,2,3", "--threads", "1", "--device", "cpu", "--preset", "fast"];
        let output = job(ranks, &[&flags[..], &["--report", path.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let report = json(&path);
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let phase = |name: &str| {
            let phases = report["phases"].as_array().unwrap();
            phases.iter().find(|phase| phase["name"] == name).unwrap_or_else(|| panic!("no phase {name}")).clone()
        };
        let (ranks, cuts) = (ranks as f64, (ranks - 1) as f64);
        let (elements, ghosts) = (240.0 + 24.0 * cuts, 70.0 * cuts);
        let (offsets, steps) = (8.0 * (nodes + ranks), number(&report["newton_iterations"]));
        let spmv = 12.0 * entries + offsets + 8.0 * (nodes + ghosts) + 8.0 * nodes;
        let fill = 96.0 * elements + 32.0 * (nodes + ghosts) + 24.0 * (entries + nodes);
        let iterations = number(&report["cg_iterations"]);
        for (name, calls, bytes, flops) in [
            ("graph", 1.0, (32.0 + 96.0) * elements + 8.0 * entries + offsets, 0.0),
            ("fill", steps + 1.0, fill, 1671.0 * elements),
            ("boundary", steps + 1.0, 16.0 * fixed, 0.0),
            ("spmv", iterations + steps, spmv, 2.0 * entries),
            ("cg", iterations, spmv + 72.0 * nodes, 2.0 * entries + 10.0 * nodes),
            // Each value is packed (read and written), sent and received; the values sent are the ghosts of others.
            ("halo", iterations + steps, 8.0 * 4.0 * ghosts, 0.0),
            ("ghosts", steps + 1.0, 8.0 * 4.0 * ghosts, 0.0),
        ] {
            let phase = phase(name);
            assert_eq!(number(&phase["calls"]), calls, "{name} on {ranks} ranks");
            assert_eq!(number(&phase["bytes"]), bytes * calls, "{name} on {ranks} ranks");
            assert_eq!(number(&phase["flops"]), flops * calls, "{name} on {ranks} ranks");
            let rate = number(&phase["bytes"]) / number(&phase["seconds"]) / 1e9;
            assert!((number(&phase["gb_per_s"]) / rate - 1.0).abs() < 1e-12, "{name} on {ranks} ranks");
            // The mean of the ranks is positive and at most the slowest.
            assert!((1.0..=ranks).contains(&number(&phase["imbalance"])), "{name} on {ranks} ranks: {phase}");
        }
        let partition = &report["partition"];
        let (least, most) = if ranks == 2.0 { (5.0, 6.0) } else { (3.0, 4.0) };
        for (key, value) in [
            ("owned_min", 35.0 * least),
            ("owned_max", 35.0 * most),
            ("owned_mean", nodes / ranks),
            ("ghosts", 35.0 * cuts),
            ("neighbours", cuts),
            ("duplicated_elements", 24.0 * cuts),
        ] {
            assert_eq!(number(&partition[key]), value, "{key} on {ranks} ranks");
        }
        assert_eq!((number(&report["nodes"]), number(&report["elements"])), (nodes, 240.0));
    }
}

/// Weak scaling: the box and its edges grow with the ranks.
#[test]
fn a_share_per_rank_grows_the_box() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let flags = ["--nodes-per-rank", "5x7x11", "--size", "1,2,3", "--threads", "1", "--device", "cpu", "--report"];
    let output = job(2, &[&flags[..], &[path.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&path);
    assert_eq!(report["mesh"]["nodes"], serde_json::json!([10, 7, 11]));
    assert_eq!(report["mesh"]["size"], serde_json::json!([2.25, 2.0, 3.0]));
    // The cut goes through the longest axis: 6 and 5 of 11 planes of 70 nodes.
    let owned = [&report["partition"]["owned_min"], &report["partition"]["owned_max"]];
    assert_eq!(owned, [350, 420]);
}

#[test]
fn a_sweep_on_ranks_prints_once_and_ends_with_the_code_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("s.csv");
    let fixed = ["sweep", "--device", "cpu", "--trials", "2", "--compare", "graph=sort,gather"];
    for (nodes, code, count, last) in [("5,6", 0, 8, "PASS: 8 runs"), ("5,1300", 2, 4, "ENDED EARLY: 4 of 8 runs")] {
        let output = job(2, &[&fixed[..], &["--nodes", nodes, "--csv", csv.to_str().unwrap()]].concat());
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        assert_eq!(output.status.code(), Some(code), "{nodes}: {out}{err}");
        assert_eq!(err.lines().filter(|line| line.starts_with("error:")).count(), (code / 2) as usize, "{err}");
        assert_eq!(out.matches(last).count(), 1, "{out}");
        let text = std::fs::read_to_string(&csv).unwrap();
        assert_eq!(text.lines().count(), 1 + count, "{text}");
    }
}
