//! The verdict as a user meets it: what passes, what fails with which words and code, and the numbers of known runs.

use serde_json::Value;
use support::{json, verdict};

/// Runs on the CPU; returns code, stdout, stderr and the report, `Null` where none was written.
fn run(args: &str) -> (i32, String, String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let fixed = ["--device", "cpu", "--threads", "2", "--report", path.to_str().unwrap()];
    let args: Vec<&str> = fixed.into_iter().chain(args.split_whitespace()).collect();
    let (code, out, err) = support::run("minifenl", &args);
    let report = if path.exists() { json(&path) } else { Value::Null };
    (code, out, err, report)
}

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("{key} of {report}"))
}

/// Runs that a verdict must not let pass, with the words of the last line.
#[test]
fn no_setting_makes_the_verdict_vacuous() {
    for (args, words) in [
        // Numbers so small that squares and products underflow: nothing was solved.
        ("--nodes 12 --t-min 5e-324 --t-max 1e-323", "the numbers underflow"),
        ("--nodes 12 --t-min 1e-200 --t-max 2e-200 --size=1000,1000,1", "the numbers underflow"),
        // Tolerances that stop before anything is solved, on a box that is wide across the gradient.
        (
            "--newton-tolerance .9999 --cg-tolerance .9999 --size=100,100,1 --nodes 12",
            "tolerances too loose: algebraic error",
        ),
        ("--newton-tolerance .9 --cg-tolerance .9 --nodes 3", "tolerances too loose: algebraic error"),
        // Elements that are too large for the solution.
        ("--t-min 5e-3 --t-max 1 --nodes 12", "mesh too coarse to verify: error bound 1.071e0 exceeds 0.05"),
        ("--nodes 9x9x2", "mesh too coarse to verify"),
        // Every node is fixed.
        ("--nodes 9x9x2 --t-max 1.1", "nothing was solved"),
    ] {
        let (code, out, err, report) = run(args);
        let last = verdict(&out);
        assert_eq!(code, 3, "{args}: {out}{err}");
        assert!(last.starts_with("FAIL: ") && last.contains(words), "{args}: {last}");
        assert_eq!(report["verified"].as_bool(), Some(false), "{args}");
        let reasons = report["verdict"].as_array().unwrap();
        assert!(reasons[0].as_str().unwrap().contains(words), "{args}: {reasons:?}");
        assert!(!out.contains("PASS"), "{args}");
    }
}

/// What the iteration itself finds: the last line says it, code 3, a report of what was reached.
#[test]
fn norms_that_underflow_are_not_converged() {
    // Squares of residuals are subnormal; then residuals have norms and p.Ap has none.
    for (args, words) in [
        (
            "--nodes 5 --t-min 1e-78 --t-max 2e-78",
            "Newton did not converge: ||F|| is 3.783e-156, whose square underflows",
        ),
        ("--nodes 5 --t-min 1e-70 --t-max 2e-70", "CG broke down at iteration 0: p.Ap = 0"),
    ] {
        let (code, out, err, report) = run(args);
        let last = verdict(&out);
        assert_eq!((code, err.as_str(), report["verified"].as_bool()), (3, "", Some(false)), "{args}: {out}");
        assert!(last.starts_with("FAIL: ") && last.contains(words), "{args}: {last}");
        assert!(report["verdict"][0].as_str().unwrap().contains(words), "{args}");
    }
    let (code, out, ..) = run("--nodes 5 --t-min 1e-60 --t-max 2e-60");
    assert_eq!((code, out.lines().last().unwrap().starts_with("PASS: 3 Newton steps")), (0, true), "{out}");
}

/// Newton starts from 0, whose first step passes temperatures below 0 if those of the boundary are far apart.
#[test]
fn a_breakdown_names_the_start_of_newton() {
    let words = "give more nodes along z, or boundary values closer together: Newton passed a Jacobian that is not positive definite (";
    for args in [
        "--nodes 9 --t-max 300",
        "--nodes 5x5x9 --t-max 300 --preconditioner mg",
        "--nodes 5x5x17 --t-max 1000 --preconditioner mg",
        "--nodes 5x5x9 --t-max 300 --preconditioner gauss-seidel",
        "--nodes 5x5x9 --t-max 300 --preconditioner ic0",
        "--nodes 5x5x9 --t-max 300 --preconditioner jacobi --operator matrix-free",
    ] {
        let (code, out, err, report) = run(args);
        assert_eq!((code, err.as_str()), (3, ""), "{args}");
        assert!(verdict(&out).starts_with(&format!("FAIL: {words}")), "{args}: {out}");
        // On a screen no line is longer.
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
        assert!(report["verdict"][0].as_str().unwrap().starts_with(words), "{args}");
    }
    // The advice helps.
    let (code, out, ..) = run("--nodes 5x5x97 --t-max 300");
    assert_eq!(code, 0, "{out}");
}

/// Long after convergence CG follows rounding: a given number of iterations is not judged, and its result not passed over in silence.
#[test]
fn iterations_that_diverge_are_noted() {
    let poisson = "--problem poisson --deterministic";
    let (code, _, err, _) = run(&format!("{poisson} --nodes 9 --cg-iterations 100"));
    assert_eq!((code, err.as_str()), (0, ""));
    // How far rounding has carried CG by then differs between sizes and processors.
    let longer = [8, 9, 11, 12].into_iter().flat_map(|nodes| [1500, 1800, 2100, 2400].map(|count| (nodes, count)));
    let diverged = longer.map(|(nodes, iterations)| {
        let (code, out, err, report) = run(&format!("{poisson} --nodes {nodes} --cg-iterations {iterations}"));
        let residuals = ["residual", "true_residual"].map(|key| report["history"][0][key].as_f64());
        let has_diverged = residuals[1].is_some_and(|last| Some(last) > residuals[0]);
        let note =
            format!("note: cg.iterations (--cg-iterations): after {iterations} iterations CG's true residual is ");
        assert!(code != 0 || err.starts_with(&note) == has_diverged, "{out}{err}");
        code == 0 && has_diverged
    });
    assert!(diverged.filter(|has| *has).count() > 0);
}

/// Elements with a fold that Gauss points do not see, and nodes out of the box, are refused by name.
#[test]
fn folded_meshes_are_refused_by_name() {
    for (args, words) in [
        (
            "--nodes 9 --map twist:1.4",
            "mesh.map (--map): element 130 is folded or inverted: its Jacobian determinant is -1.409e-4 at corner 7",
        ),
        (
            "--nodes 3 --map twist:6.2832",
            "node 13: the map twist:6.2832 moves it to (0.5, 0.5, 1.2854), out of the box",
        ),
        ("--nodes 9 --map bubble:6", "is folded or inverted"),
        // On an edge, between its nodes, and not at a cubature point.
        (
            "--problem elasticity --element hex20 --nodes 17x9x9 --map twist:-1.4505",
            "folded or inverted: its Jacobian determinant is -4.742e-5 at (-1.0000, 0.5000, 1.0000) of the reference element",
        ),
        ("--nodes 9 --map bubble:40", "the map bubble:40 moves it"),
        ("--nodes 5 --size=1e-150,1e-150,1e-150", "mesh.size (--size): invalid box size [1e-150, 1e-150, 1e-150]"),
    ] {
        let (code, out, err, report) = run(args);
        assert_eq!((code, out.as_str(), err.lines().count(), report), (2, "", 1, Value::Null), "{args}: {err}");
        assert!(err.starts_with("error: ") && err.contains(words), "{args}: {err}");
    }
}

/// The default run, as published in docs/report.md.
#[test]
fn the_default_run_has_its_known_numbers() {
    let (code, out, err, report) = run("");
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(report["nodes"].as_u64(), Some(64 * 64 * 64));
    assert_eq!(report["newton_iterations"].as_u64(), Some(3));
    let iterations = report["cg_iterations"].as_u64().unwrap();
    assert!(iterations.abs_diff(465) <= 3, "{iterations}");
    let each: Vec<u64> =
        report["history"].as_array().unwrap().iter().map(|h| h["cg_iterations"].as_u64().unwrap()).collect();
    assert!(
        each.len() == 4 && each.iter().sum::<u64>() == iterations && each[..3].iter().all(|&n| n > 100),
        "{each:?}"
    );
    for (key, expected) in [("error_max", 1.782e-6), ("error_l2", 1.781e-6), ("error_bound", 3.242e-5)] {
        let found = number(&report, key);
        assert!((found / expected - 1.0).abs() < 1e-3, "{key}: {found}");
    }
    assert!(number(&report, "algebraic_error") < 1e-8 && number(&report, "symmetry") < 1e-14);
    assert_eq!(
        (report["reason"].as_str(), report["verdict"].as_array().unwrap().len()),
        (Some("relative tolerance"), 0)
    );
    for step in &report["history"].as_array().unwrap()[..3] {
        let [recurrence, recomputed] = ["cg_residual", "true_residual"].map(|key| step[key].as_f64().unwrap());
        assert!((recomputed / recurrence - 1.0).abs() < 1e-3, "{step}");
    }
    assert!(out.lines().last().unwrap().starts_with("PASS: 3 Newton steps, 46"), "{out}");
}

/// Each iteration stops at its own tolerance, relative to its own first norm, and not a step later.
#[test]
fn the_tolerances_are_relative_and_each_has_its_own() {
    for (newton, cg, box_size) in [("1e-3", "1e-9", "1,1,1"), ("1e-7", "1e-4", "1,1,1"), ("1e-4", "1e-6", "50,50,1")] {
        let args = format!("--nodes 9 --newton-tolerance {newton} --cg-tolerance {cg} --size={box_size}");
        let (_, out, err, report) = run(&args);
        let history = report["history"].as_array().unwrap_or_else(|| panic!("{args}: {out}{err}"));
        let column = |key: &str| history.iter().map(|step| step[key].as_f64().unwrap()).collect::<Vec<_>>();
        let (residuals, solves) = (column("residual"), column("cg_residual"));
        let [newton, cg] = [newton, cg].map(|text| text.parse::<f64>().unwrap());
        let (last, before) = residuals.split_last().unwrap();
        assert!(
            *last <= newton * residuals[0] && before.iter().all(|norm| *norm > newton * residuals[0]),
            "{args}: {residuals:?}"
        );
        for (norm, solved) in before.iter().zip(&solves) {
            assert!(*solved <= cg * norm && *solved > 1e-3 * cg * norm, "{args}: {solved} of {norm}");
        }
    }
}

/// The bound by hand: 3/4 (sqrt(t_max / t_min) - 1)^2 (h / Lz)^2, with the spacing h along z only.
#[test]
fn the_bound_follows_the_spacing_along_z_alone() {
    let mut bounds = Vec::new();
    for size in ["1,1,1", "3,0.5,1", "1000,0.01,1"] {
        let (code, out, err, report) = run(&format!("--nodes 7x8x9 --size={size} --cg-max 9999"));
        assert_eq!(code, 0, "{size}: {out}{err}");
        assert!((number(&report["mesh"], "spacing") - 0.125).abs() < 1e-15);
        bounds.push(number(&report, "error_bound"));
    }
    let exact = 0.75 * ((2f64.sqrt() - 1.0) / 8.0).powi(2);
    assert!(bounds.iter().all(|bound| (bound / exact - 1.0).abs() < 1e-12), "{bounds:?}");
    // A box of length 2 with T from 4 down to 1: a sqrt(max T) = (1 - 2) / 2, h = 2 / 6.
    let report = run("--nodes 9x12x7 --size=3,0.5,2 --t-min 4 --t-max 1").3;
    assert!((number(&report, "error_bound") / (0.75 / 36.0) - 1.0).abs() < 1e-12);
}

/// 60 settings from a fixed seed, many of them absurd: a PASS always means a small error, by a bound that this test computes.
#[test]
fn a_pass_is_never_false() {
    let mut state = 2026u64;
    let mut draw = |choices: &[&'static str]| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        choices[(state >> 33) as usize % choices.len()]
    };
    let (mut passed, mut failed) = (0, 0);
    for _ in 0..60 {
        let [x, y, z] = [(); 3].map(|()| draw(&["2", "3", "4", "6", "9"]));
        let (t_min, t_max) =
            (draw(&["1", "1", "1.5", "1e-3", "1e-150", "1.999"]), draw(&["2", "2", "3", "2e-150", "1e60"]));
        let [newton, cg] = [(); 2].map(|()| draw(&["1e-7", "1e-8", "1e-7", "0.1", "0.9999", "1e-13"]));
        let length = draw(&["1", "0.001", "30"]);
        let map = draw(&["none", "none", "bubble", "twist"]);
        let args = format!(
            "--nodes {x}x{y}x{z} --size=1,2,{length} --t-min {t_min} --t-max {t_max} --newton-tolerance {newton} \
             --cg-tolerance {cg} --map {map} --cg-max 9999"
        );
        let (code, out, err, report) = run(&args);
        match (code, report.is_null()) {
            (0, false) => passed += 1,
            (3, false) => failed += 1,
            _ => panic!("{args}: {code}: {out}{err}"),
        }
        assert_eq!(report["verified"].as_bool().unwrap_or(false), code == 0, "{args}");
        assert_eq!(out.contains("PASS"), code == 0, "{args}: {out}");
        if code == 0 {
            let [t_min, t_max, nz] = [t_min, t_max, z].map(|text| text.parse::<f64>().unwrap());
            // The maps stretch z by 1.2 at most, and tilt elements.
            let stretch = if map == "none" { 1.0 } else { 2.0 };
            let hot = t_min.max(t_max);
            let slope = (hot / t_min).sqrt() - (hot / t_max).sqrt();
            let bound = 0.75 * (slope * stretch / (nz - 1.0)).powi(2);
            let error = number(&report, "error_max");
            assert!(
                error <= bound * (1.0 + 1e-9) && error <= 0.05 && number(&report, "error_l2").is_finite(),
                "{args}: {error}"
            );
            assert!(number(&report, "algebraic_error") <= 0.1 * number(&report, "error_bound"), "{args}");
        }
    }
    assert!(passed >= 10 && failed >= 10, "{passed} passed, {failed} failed");
}

/// The report's verdict is the same on ranks, and so are the numbers behind it.
#[cfg(feature = "mpi")]
#[test]
fn ranks_judge_as_one_process_does() {
    let numbers = |ranks: usize| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let args = ["--device", "cpu", "--threads", "1", "--nodes", "11x9x10", "--map", "twist", "--report"];
        let mut command = support::mpirun(ranks);
        let output = command.arg(env!("CARGO_BIN_EXE_minifenl")).args(args).arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        json(&path)
    };
    let one = numbers(1);
    for ranks in [2, 5] {
        let many = numbers(ranks);
        assert_eq!(many["verdict"], one["verdict"]);
        assert!(number(&many, "symmetry") < 1e-14);
        let first = |report: &Value, key: &str| report["history"][0][key].as_f64().unwrap();
        for key in ["true_residual", "cg_residual"] {
            assert!((first(&many, key) / first(&one, key) - 1.0).abs() < 1e-3, "{key} on {ranks} ranks");
        }
        for key in ["algebraic_error", "error_bound"] {
            assert!((number(&many, key) / number(&one, key) - 1.0).abs() < 1e-3, "{key} on {ranks} ranks");
        }
    }
}
