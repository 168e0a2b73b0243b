//! The program on ranks: the same Newton counts and the same error whatever the ranks and threads, read from its reports;
//! and its failures, which end all ranks with one message and a code.

#[path = "common/json.rs"]
mod json;
#[path = "common/mpirun.rs"]
mod mpirun;

use json::json;
use mpirun::mpirun;
use std::process::Output;

/// Runs the program on `ranks` ranks.
fn job(ranks: usize, arguments: &[&str]) -> Output {
    let mut command = mpirun(ranks);
    command.arg(env!("CARGO_BIN_EXE_minifenl")).args(arguments).output().expect("mpirun starts")
}

fn report(ranks: usize, threads: usize, nodes: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let threads = threads.to_string();
    let fixed =
        ["--nodes", nodes, "--device", "cpu", "--map", "twist", "--fill", "gather", "--threads", &threads, "--report"];
    let output = job(ranks, &[&fixed[..], &[path.to_str().unwrap()]].concat());
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

#[test]
fn the_error_falls_by_four_on_ranks() {
    let [coarse, fine] = ["9x10x11", "17x19x21"].map(|nodes| report(4, 1, nodes)["error_l2"].as_f64().unwrap());
    assert!((3.4..4.6).contains(&(coarse / fine)), "{coarse} / {fine}");
}

#[test]
fn failures_end_all_ranks_with_one_message_and_a_code() {
    for (code, arguments, words) in [
        (3, &["--nodes", "9", "--cg-max", "2"][..], "CG did not converge"),
        (3, &["--nodes", "9", "--newton-max", "1"], "Newton did not converge"),
        (2, &["--nodes", "9", "--map", "twist:9"], "the map folds it"),
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
