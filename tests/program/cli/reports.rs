//! Tables, reports and their files.

use super::run;
use crate::settings::SETTINGS;
use support::json;

#[test]
fn a_run_prints_its_verdict_and_writes_its_report() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let (code, out, err) =
        run(&["--nodes", "9", "--device", "cpu", "--threads", "2", "--triad", "--report", path.to_str().unwrap()]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.lines().last().unwrap().starts_with("PASS: "), "{out}");
    let report = json(&path);
    for key in ["nodes", "elements", "ranks", "threads", "newton_iterations", "cg_iterations", "peak_bytes"] {
        assert!(report[key].as_u64().unwrap() > 0, "{key}");
    }
    for key in ["error_max", "error_l2", "triad_gb_per_s"] {
        assert!(report[key].as_f64().unwrap() > 0.0, "{key}");
    }
    assert_eq!((report["verified"].as_bool(), report["device"].as_str()), (Some(true), Some("cpu")));
    let phases = report["phases"].as_array().unwrap();
    for name in ["graph", "graph/scan", "fill", "boundary", "spmv", "cg", "halo"] {
        let phase = phases.iter().find(|phase| phase["name"] == name).unwrap_or_else(|| panic!("no phase {name}"));
        for key in ["calls", "seconds", "us_per_node", "gb_per_s", "triad_fraction"] {
            // One rank sends nothing.
            let is_rate = ["gb_per_s", "triad_fraction"].contains(&key);
            assert_eq!(phase[key].is_number(), !(is_rate && name == "halo"), "{name}: {key}");
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "only the report is left");
}

/// Where a report comes from, compared with what this test finds by itself.
#[test]
fn a_report_says_where_it_comes_from() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let words = ["--nodes", "9x8x7", "--device", "cpu", "--threads", "2", "--report", path.to_str().unwrap()];
    let seconds = || std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let before = seconds();
    assert_eq!(run(&words).0, 0);
    let (report, after) = (json(&path), seconds());
    let now = std::process::Command::new("date").args(["-u", "-d", report["date"].as_str().unwrap(), "+%s"]).output();
    let started: u64 = String::from_utf8(now.unwrap().stdout).unwrap().trim().parse().unwrap();
    assert!((before..=after).contains(&started), "{before} {started} {after}");
    let total = report["total_seconds"].as_f64().unwrap();
    assert!(total > 0.0 && total <= (after - before + 1) as f64);
    assert_eq!(report["schema_version"], 1);
    let origin = &report["provenance"];
    let command: Vec<&str> = origin["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!((command[0], &command[1..]), ("minifenl", &words[..]));
    assert_eq!((&origin["deck"]["mesh"]["nodes"], &origin["deck"]["run"]["threads"]), (&"9x8x7".into(), &2.into()));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(origin["machine"]["host"], host.trim());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let placement = &origin["placement"];
    assert_eq!(placement.as_array().unwrap().len(), 1);
    assert_eq!((&placement[0]["affinity"], &placement[0]["threads"]), (&mask.into(), &2.into()));
    assert!(origin["build"]["rustc"].as_str().unwrap().starts_with("rustc 1."));
}

/// The report alone on stdout, as JSON; its table on stderr.
#[test]
fn a_report_goes_to_the_standard_output() {
    let (code, out, err) = run(&["--nodes", "9", "--device", "cpu", "--report", "-"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, report["verified"].as_bool()), (0, Some(true)));
    assert!(err.lines().last().unwrap().starts_with("PASS: "), "{err}");
    assert!(!std::path::Path::new("-").exists());
    let (code, _, err) = run(&["--nodes", "9", "--device", "cpu", "--report", "-", "--quiet"]);
    assert!(code == 0 && err.starts_with("PASS: ") && err.lines().count() == 1, "{err}");
}

/// Two runs append two rows below one header; a table with other columns is refused before the work, and kept.
#[test]
fn runs_append_rows_to_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let (path, report) = (dir.path().join("runs.csv"), dir.path().join("r.json"));
    let job = |nodes: &str, flag: &[&str]| {
        let common = ["--nodes", nodes, "--device", "cpu", "--append", path.to_str().unwrap()];
        run(&[&common[..], &["--report", report.to_str().unwrap()], flag].concat())
    };
    let rows = || {
        let text = std::fs::read_to_string(&path).unwrap();
        text.lines().map(|line| line.split(',').map(String::from).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let mut expected = vec![];
    for (nodes, flag, code) in [("9", &[][..], 0), ("5x6x7", &["--cg-max", "2"], 3)] {
        assert_eq!(job(nodes, flag).0, code);
        expected.push(json(&report));
    }
    let found = rows();
    assert_eq!(found.len(), 3);
    for (row, report) in found[1..].iter().zip(&expected) {
        assert_eq!(row.len(), found[0].len());
        let value = |name: &str| row[found[0].iter().position(|column| column == name).unwrap()].clone();
        for name in ["nodes", "threads", "cg_iterations", "verified", "peak_bytes"] {
            assert_eq!(value(name), report[name].to_string(), "{name}");
        }
        for name in ["total_seconds", "error_max"] {
            assert_eq!(value(name).parse::<f64>().unwrap(), report[name].as_f64().unwrap(), "{name}");
        }
    }
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    let (code, out, err) = job("9", &[]);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    assert!(err.starts_with("error: run.append (--append): ") && err.contains("runs.csv: has other columns"), "{err}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a,b\n1,2\n");
    let both = report.to_str().unwrap();
    let same = run(&["--nodes", "9", "--device", "cpu", "--append", both, "--report", both]);
    assert!(same.0 == 2 && same.2.contains("run.append (--append): this is run.report (--report)"), "{}", same.2);
}

/// Whoever plots a table sees what its rows differ in: each setting of a run on a CPU changes a column that is no result.
#[test]
fn each_setting_changes_a_column_of_the_table() {
    const NO_COLUMN: [&str; 10] = [
        "--device",
        "--lanes",
        "--variant",
        "--share-gpu",
        "--halo",
        "--timeout",
        "--report",
        "--append",
        "--vtk",
        "--triad",
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("runs.csv");
    let settings = |words: &[&str]| {
        let nodes: &[&str] = if words.iter().any(|word| word.starts_with("--nodes")) { &[] } else { &["--nodes", "7"] };
        let common = ["--device", "cpu", "--threads", "1", "--append", path.to_str().unwrap()];
        let threads = usize::from(words.contains(&"--threads"));
        let (code, _, err) = run(&[&common[..2], &common[2 + 2 * threads..], nodes, words].concat());
        assert!([0, 3].contains(&code), "{words:?}: {err}");
        let text = std::fs::read_to_string(&path).unwrap();
        let of_results = text.split(',').position(|name| name == "newton_iterations").unwrap();
        // The first columns are date, version, commit, host and CPU.
        text.lines().next_back().unwrap().split(',').take(of_results).skip(5).map(String::from).collect::<Vec<_>>()
    };
    let base = settings(&[]);
    for setting in SETTINGS.iter().filter(|setting| !NO_COLUMN.contains(&setting.flag)) {
        let differs = [setting.first.0, setting.second.0].into_iter().any(|value| {
            let words: Vec<&str> = std::iter::once(setting.flag).chain(value).collect();
            settings(&words) != base
        });
        assert!(differs, "{}: no column", setting.flag);
    }
}

#[test]
fn what_does_not_converge_has_code_3_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let reported = |flags: [&str; 2]| {
        let common = ["--nodes", "9", "--device", "cpu", "--threads", "1", "--report", path.to_str().unwrap()];
        let (code, out, err) = run(&[&common[..], &flags].concat());
        assert_eq!(err, "");
        (code, support::verdict(&out), json(&path))
    };
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let (_, _, whole) = reported(["--cg-max", "2000"]);
    // The first solve of the three stops after 3 iterations.
    let (code, last, report) = reported(["--cg-max", "3"]);
    assert_eq!(code, 3);
    assert!(
        last.starts_with("FAIL: CG did not converge: residual ")
            && last.contains(" after 3 iterations: the limit cg.max_iterations (--cg-max); "),
        "{last}"
    );
    assert!(last.contains("0 Newton steps, 3 CG iterations"), "{last}");
    let counts = ["newton_iterations", "cg_iterations", "cg_reductions"].map(|key| report[key].as_u64().unwrap());
    // Two sums before the first iteration, two in each.
    assert_eq!(counts, [0, 3, 8]);
    let history = report["history"].as_array().unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!(history[0]["residual"], whole["history"][0]["residual"]);
    let [recurrence, recomputed] = ["cg_residual", "true_residual"].map(|key| number(&history[0][key]));
    assert!(recurrence > 1e-8 && (recomputed / recurrence - 1.0).abs() < 1e-6, "{recurrence} {recomputed}");
    let verdict = report["verdict"].as_array().unwrap();
    let reason = report["reason"].as_str().unwrap();
    let limit = ": the limit cg.max_iterations (--cg-max)";
    assert_eq!((report["verified"].as_bool(), verdict[0].as_str()), (Some(false), Some(&*format!("{reason}{limit}"))));
    let phases = report["phases"].as_array().unwrap();
    let calls = |name| phases.iter().find(|phase| phase["name"] == name).map(|phase| phase["calls"].clone());
    assert_eq!((calls("cg"), calls("spmv"), calls("fill")), (Some(3.into()), Some(4.into()), Some(1.into())));
    // Far from the limit: rounding ends the method.
    let (code, last, _) = reported(["--solver=bicgstab", "--cg-tolerance=1e-15"]);
    let why = " iterations: it broke down, and restarts reduced the residual no further; ";
    assert!(code == 3 && last.starts_with("FAIL: BiCGStab did not converge: ") && last.contains(why), "{last}");
    // All of the first step is kept, and the residual after it.
    let (code, last, report) = reported(["--newton-max", "1"]);
    assert!(code == 3 && last.starts_with("FAIL: Newton did not converge: residual "), "{last}");
    assert_eq!(report["newton_iterations"], 1);
    let [kept, expected] = [&report, &whole].map(|report| report["history"].as_array().unwrap());
    assert_eq!((kept.len(), &kept[0], &kept[1]["residual"]), (2, &expected[0], &expected[1]["residual"]));
    assert!(number(&report["error_max"]) < 1.0 && number(&report["error_max"]) > number(&whole["error_max"]));
}
