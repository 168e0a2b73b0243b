//! The program as a user meets it: help, decks, mistakes and exit codes.

#![cfg(feature = "cli")]

#[path = "common/json.rs"]
mod json;
#[path = "common/program.rs"]
mod program;

use json::json;

fn run(args: &[&str]) -> (i32, String, String) {
    program::run("minifenl", args)
}

#[test]
fn mistakes_are_one_line_and_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&["--nodes=-3"], "--nodes"),
        (&["--nodes", "-3"], "negative"),
        (&["--nodes", "0"], "--nodes"),
        (&["--nodes", "8x8"], "invalid size `8x8`: expected N or NxNxN"),
        (&["--nodes", "99999999999999999999999"], "64 bits"),
        (&["--nodes", "1000000", "--device", "cpu"], "32 bits"),
        (&["--nodez", "3"], "--nodez"),
        (&["--nodes", "3", "--nodes-per-rank", "3"], "--nodes-per-rank"),
        (&["--t-min", "nan"], "problem.t_min"),
        (&["--t-max=-1"], "--t-max"),
        (&["--t-min", "2"], "equal"),
        (&["--size", "1,1"], "'--size <X,Y,Z>': expected three numbers X,Y,Z"),
        (&["--cg-tolerance", "0"], "cg.tolerance"),
        (&["--threads", "0"], "run.threads"),
        (&["--device", "gpu"], "auto, cpu, cuda, cuda:K"),
        (&["--device", "cuda:x"], "cuda:x"),
        (&["--device", "cuda:4096"], "cuda:4096"),
        (&["--kernel-info", "--device", "cuda:4096"], "cuda:4096"),
        (&["--kernel-info", "--device", "cpu"], "--device"),
        (&["--graph", "magic"], "map, dashmap, gather, sort"),
        (&["--input", "no-such.toml"], "no-such.toml"),
        (&["--report", "no/such/dir/report.json"], "no/such/dir/report.json"),
    ];
    for (args, part) in cases {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{args:?}: {err}");
        assert!(err.starts_with("error: ") && err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, "[mesh]\nnodez = 3\n").unwrap();
    let (code, _, err) = run(&["--input", deck.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(err.contains("deck.toml, line 2: `nodez = 3`: unknown field `nodez`"), "{err}");
}

#[test]
fn a_dumped_deck_dumps_itself_and_flags_override_it() {
    let flags = [
        "--nodes",
        "8x9x10",
        "--map",
        "twist:0.25",
        "--fill",
        "colour",
        "--cg-max",
        "77",
        "--device",
        "cuda",
        "--format",
        "sell",
        "--dump-deck",
    ];
    let (code, first, _) = run(&flags);
    assert_eq!(code, 0);
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, &first).unwrap();
    let deck = deck.to_str().unwrap();
    assert_eq!(run(&["--input", deck, "--dump-deck"]).1, first);
    let (_, other, _) = run(&["--input", deck, "--nodes-per-rank", "5", "--dump-deck"]);
    assert!(other.contains("nodes_per_rank = 5\n") && !other.contains("8x9x10"), "{other}");
}

#[test]
fn help_and_completions_are_printed() {
    let (code, help, _) = run(&["--help"]);
    assert!(code == 0 && help.contains("Examples:") && help.contains("-K laplace(T) + T^2 = 0"), "{help}");
    let (code, script, _) = run(&["--completions", "bash"]);
    assert!(code == 0 && script.contains("--nodes-per-rank"));
}

/// What bash offers after `minifenl FLAG `, in a folder with a file.
fn offered(script: &str, flag: &str, folder: &std::path::Path) -> String {
    let code = "source ./completions; COMP_WORDS=(minifenl \"$1\" ''); COMP_CWORD=2; _minifenl minifenl '' \"$1\" 2>/dev/null; \
        echo ${COMPREPLY[@]}";
    std::fs::write(folder.join("completions"), script).unwrap();
    let bash =
        std::process::Command::new("bash").args(["-c", code, "bash", flag]).current_dir(folder).output().unwrap();
    String::from_utf8(bash.stdout).unwrap().trim().to_string()
}

#[test]
fn completions_offer_names_and_no_file_names_where_none_fit() {
    let ((_, script, _), folder) = (run(&["--completions", "bash"]), tempfile::tempdir().unwrap());
    for (flag, names) in [
        ("--map", "none bubble twist"),
        ("--graph", "map dashmap gather sort"),
        ("--fill", "auto scatter gather colour"),
        ("--kernel", "contraction fused"),
        ("--cg-variant", "auto classic single-reduction pipelined"),
        ("--device", "auto cpu cuda"),
        ("--format", "auto crs sell pattern"),
        ("--color", "auto always never"),
        ("--preset", "fast seeds"),
        ("--lanes", "auto warp 1 2 4 8 16 32"),
        ("--completions", "bash elvish fish powershell zsh"),
    ] {
        assert_eq!(offered(&script, flag, folder.path()), names, "{flag}");
    }
    // Of the flags with a value, four take a file.
    let (_, help, _) = run(&["--help"]);
    let with_value = help.lines().filter_map(|line| line.trim().split_once(" <")).map(|(flag, _)| flag);
    let with_value = with_value.filter(|flag| flag.starts_with("--"));
    let mut files: Vec<_> =
        with_value.filter(|flag| offered(&script, flag, folder.path()).contains("completions")).collect();
    files.sort_unstable();
    assert_eq!(files, ["--append", "--input", "--report", "--vtk"]);
}

#[test]
fn a_flag_that_is_nearly_right_is_suggested() {
    for (wrong, right) in
        [("--nodez", "--nodes"), ("--newton-tolerances", "--newton-tolerance"), ("--colour", "--color")]
    {
        let (code, _, err) = run(&[wrong, "3"]);
        assert!(code == 2 && err.contains(&format!("a similar argument exists: '{right}'")), "{err}");
    }
}

#[test]
fn the_man_page_has_every_flag() {
    let (code, page, _) = run(&["--man"]);
    assert!(code == 0 && page.contains(".TH minifenl 1"), "{page}");
    let (_, help, _) = run(&["--help"]);
    for flag in help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2) {
        let flag = flag.trim_end_matches([',', ')']).replace('-', "\\-");
        assert!(page.contains(&flag), "{flag}");
    }
}

#[test]
fn a_run_is_quiet_or_verbose_and_coloured_when_asked() {
    let small = ["--nodes", "5", "--device", "cpu", "--threads", "1"];
    let with = |flags: &[&str]| run(&[&small, flags].concat());
    let (code, out, err) = with(&["--quiet"]);
    assert_eq!((code, out.lines().count(), err.as_str()), (0, 1, ""), "{out}");
    assert!(out.starts_with("PASS: 3 Newton steps"), "{out}");
    // A quiet run without a GPU has no note either; it is known to have looked for one.
    let (_, out, err) = run(&["--nodes", "5", "--quiet"]);
    assert_eq!((out.lines().count(), err.as_str()), (1, ""), "{out}");

    let (code, out, err) = with(&["--verbose"]);
    assert!(code == 0 && out.lines().count() > 20, "{out}");
    for part in [" s  mesh\n", " s  graph\n", " s  Newton 0: residual ", " s  Newton 3: residual ", " s  solved\n"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert!(err.lines().all(|line| line.split_once(" s  ").unwrap().0.trim().parse::<f64>().is_ok()), "{err}");

    let (_, out, _) = with(&["--color", "always"]);
    assert_eq!((out.matches('\x1b').count(), out.contains("\x1b[1;32mPASS\x1b[0m: ")), (2, true), "{out}");
    let (_, out, _) = with(&["--color", "never"]);
    assert!(!out.contains('\x1b'), "{out}");
    let (code, _, err) = run(&["--color=always", "--nodez"]);
    assert!(code == 2 && err.starts_with("\x1b[1;31merror:\x1b[0m unexpected argument '--nodez'"), "{err}");
    assert!(run(&["--color", "always", "--help"]).1.contains("\x1b["));
    assert!(!run(&["--help"]).1.contains('\x1b'));
    let (code, _, err) = with(&["--quiet", "--verbose"]);
    assert!(code == 2 && err.contains("--quiet") && err.contains("--verbose"), "{err}");
}

#[test]
fn a_device_that_nobody_asked_for_is_missed_in_one_line_at_most() {
    let (code, out, err) = run(&["--nodes", "9"]);
    assert!(code == 0 && out.contains("PASS: "), "{err}");
    assert!(err.is_empty() || (err.starts_with("note: on the cpu: ") && err.lines().count() == 1), "{err}");
}

#[cfg(feature = "cuda")]
#[test]
fn kernels_are_listed_or_what_is_missing_is_said() {
    let (code, out, err) = run(&["--kernel-info"]);
    match code {
        0 => assert!(out.lines().any(|line| line.starts_with("cg/cg_step ")), "{out}"),
        code => assert!(code == 2 && err.starts_with("error: ") && err.lines().count() == 1, "{code}: {err}"),
    }
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_does_not_run_copies_of_itself() {
    let mut command = assert_cmd::Command::cargo_bin("minifenl").unwrap();
    let output = command.args(["--nodes", "4"]).env("OMPI_COMM_WORLD_SIZE", "2").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.contains("2 ranks were started, but this build has no MPI"), "{text}");
}

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
    assert_eq!(command[1..], words);
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
    assert!(err.contains("runs.csv: report: has other columns"), "{err}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a,b\n1,2\n");
    let both = report.to_str().unwrap();
    let same = run(&["--nodes", "9", "--device", "cpu", "--append", both, "--report", both]);
    assert!(same.0 == 2 && same.2.contains("run.append (--append): this is the report (--report)"), "{}", same.2);
}

#[test]
fn what_does_not_converge_has_code_3_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let reported = |flags: [&str; 2]| {
        let common = ["--nodes", "9", "--device", "cpu", "--threads", "1", "--report", path.to_str().unwrap()];
        let (code, out, err) = run(&[&common[..], &flags].concat());
        assert_eq!(err, "");
        (code, out.lines().last().unwrap_or("").to_string(), json(&path))
    };
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let (_, _, whole) = reported(["--cg-max", "2000"]);
    // The first solve of the three stops after 3 iterations.
    let (code, last, report) = reported(["--cg-max", "3"]);
    assert_eq!(code, 3);
    assert!(
        last.starts_with("FAIL: CG did not converge: residual ") && last.contains(" after 3 iterations; "),
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
    assert_eq!((report["verified"].as_bool(), &verdict[0]), (Some(false), &report["reason"]));
    let phases = report["phases"].as_array().unwrap();
    let calls = |name| phases.iter().find(|phase| phase["name"] == name).map(|phase| phase["calls"].clone());
    assert_eq!((calls("cg"), calls("spmv"), calls("fill")), (Some(3.into()), Some(4.into()), Some(1.into())));
    // All of the first step is kept, and the residual after it.
    let (code, last, report) = reported(["--newton-max", "1"]);
    assert!(code == 3 && last.starts_with("FAIL: Newton did not converge: residual "), "{last}");
    assert_eq!(report["newton_iterations"], 1);
    let [kept, expected] = [&report, &whole].map(|report| report["history"].as_array().unwrap());
    assert_eq!((kept.len(), &kept[0], &kept[1]["residual"]), (2, &expected[0], &expected[1]["residual"]));
    assert!(number(&report["error_max"]) < 1.0 && number(&report["error_max"]) > number(&whole["error_max"]));
}

/// The page of the flags speaks of every flag that the program has.
#[test]
fn every_flag_is_in_the_documentation() {
    let ((_, help, _), page) = (run(&["--help"]), include_str!("../docs/flags.md"));
    let flags = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
    for flag in flags.filter(|flag| !["--help", "--version"].contains(flag)) {
        assert!(page.contains(flag), "{flag}");
    }
}

#[test]
fn a_report_does_not_replace_its_deck() {
    let folder = tempfile::tempdir().unwrap();
    let deck = folder.path().join("deck.toml");
    std::fs::write(&deck, "[mesh]\nnodes = 4\n").unwrap();
    let report = folder.path().join("./deck.toml");
    let run = assert_cmd::Command::cargo_bin("minifenl")
        .unwrap()
        .arg("--input")
        .arg(&deck)
        .arg("--report")
        .arg(&report)
        .assert();
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    run.code(2);
    assert_eq!(error, "error: run.report (--report): this is the input deck; give another file\n");
    assert_eq!(std::fs::read_to_string(&deck).unwrap(), "[mesh]\nnodes = 4\n");
}

#[test]
fn a_given_number_of_cg_iterations_is_done_reported_and_not_judged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let words = ["--nodes", "9", "--device", "cpu", "--report", path.to_str().unwrap(), "--cg-iterations"];
    // Too few for Newton's method, which ends at its limit; more than it takes to solve.
    for (iterations, steps) in [("3", Some(10)), ("50", None)] {
        let (code, out, err) = run(&[&words[..], &[iterations]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        assert!(out.lines().last().unwrap().starts_with("NOT ASKED: ") && !out.contains("PASS"), "{out}");
        let report = json(&path);
        let count: u64 = iterations.parse().unwrap();
        let newton = report["newton_iterations"].as_u64().unwrap();
        assert_eq!(report["cg_iterations"], newton * count);
        assert_eq!(report["cg_iterations_asked"], count);
        assert_eq!(report["verified"], false);
        assert!(report["verdict"][0].as_str().unwrap().starts_with("not asked"), "{report}");
        let expected = if steps.is_some() { "number of iterations" } else { "relative tolerance" };
        assert!(report["reason"] == expected && steps.is_none_or(|steps| newton == steps), "{report}");
        let history = report["history"].as_array().unwrap();
        assert!(history[..history.len() - 1].iter().all(|step| step["cg_iterations"] == count), "{report}");
    }
}

#[test]
fn strategies_are_compared_as_a_table_and_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("study.json");
    let words = ["strategies", "--nodes", "9x8x7", "--device", "cpu", "--threads", "2", "--rounds", "2"];
    let (code, out, err) = run(&[&words[..], &["--report", path.to_str().unwrap()]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.lines().last().unwrap().starts_with("PASS: ") && out.contains("scatter, contraction (seeds)"), "{out}");
    let study = json(&path);
    assert_eq!((&study["verified"], &study["rounds"], &study["nodes"]), (&true.into(), &2.into(), &504.into()));
    let strategies = study["strategies"].as_array().unwrap();
    assert_eq!(strategies.len(), 4 + 6 + 1);
    for strategy in strategies {
        assert_eq!(strategy["seconds"].as_array().unwrap().len(), 2, "{strategy}");
        assert!(strategy["difference"].as_f64().unwrap() <= strategy["tolerance"].as_f64().unwrap(), "{strategy}");
        let speedup = strategy["speedup"].as_f64().unwrap();
        assert!(speedup > 0.0 && (speedup == 1.0 || strategy["is_seeds"] == false), "{strategy}");
    }
    for (words, part) in [
        (&["strategies", "--rounds", "0"][..], "--rounds"),
        (&["strategies", "--graph", "map"], "--graph"),
        (&["strategies", "--threads", "0"], "run.threads"),
        (&["strategies", "--nodes", "8x8"], "expected N or NxNxN"),
        (&["strategies", "--report", "no/such/dir/study.json"], "no/such/dir/study.json"),
        (&["--nodes", "9", "strategies"], "strategies"),
    ] {
        let (code, out, err) = run(words);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{words:?}: {err}");
        assert!(err.contains(part), "{words:?}: {err}");
    }
}

/// Reports of runs, one of them made slower by hand: table, exit codes, and what is refused.
#[test]
fn two_reports_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = ["a.json", "b.json"].map(|name| dir.path().join(name).to_str().unwrap().to_string());
    let solve = |path: &str, threads: &str| {
        let fixed = ["--nodes", "9", "--device", "cpu", "--threads", threads, "--report", path];
        assert_eq!(run(&fixed).0, 0);
    };
    solve(&first, "1");
    solve(&second, "2");
    let (code, out, err) = run(&["compare", &first, &second]);
    assert_eq!((code, err.as_str()), (0, ""));
    let line = |start: &str| {
        out.lines()
            .find(|line| line.split_whitespace().next() == Some(start))
            .unwrap_or_else(|| panic!("{start}: {out}"))
    };
    let seconds = |path: &str| {
        let phases = json(std::path::Path::new(path))["phases"].clone();
        phases.as_array().unwrap().iter().find(|phase| phase["name"] == "cg").unwrap()["seconds"].as_f64().unwrap()
    };
    let ratio = format!("{:.3}", seconds(&second) / seconds(&first));
    assert_eq!(line("cg").split_whitespace().nth(3), Some(ratio.as_str()), "{out}");
    assert_eq!(line("threads").split_whitespace().collect::<Vec<_>>(), ["threads", "1", "2"]);
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    // The same report is as fast as itself; one whose CG takes twice as long is not.
    assert_eq!(run(&["compare", &first, &first, "--fail-above", "1"]).0, 0);
    let mut slow = json(std::path::Path::new(&first));
    let phases = slow["phases"].as_array_mut().unwrap();
    let total = phases.iter().find(|phase| phase["name"] == "total").unwrap()["seconds"].as_f64().unwrap();
    let cg = phases.iter_mut().find(|phase| phase["name"] == "cg").unwrap();
    cg["seconds"] = (2.0 * total).into();
    std::fs::write(&second, slow.to_string()).unwrap();
    let (code, _, err) = run(&["compare", &first, &second, "--fail-above", "1.1"]);
    assert_eq!((code, err.lines().count()), (4, 1), "{err}");
    assert!(err.starts_with("error: above 1.1 times as long as in A: cg "), "{err}");
    slow["verified"] = false.into();
    std::fs::write(&second, slow.to_string()).unwrap();
    assert_eq!(run(&["compare", &first, &second, "--fail-above", "9e9"]).0, 3);
    std::fs::write(&second, "{}").unwrap();
    for (words, part) in [
        (&["compare", &first, &second][..], "b.json: no report"),
        (&["compare", &first], "B.json"),
        (&["compare", &first, &first, "--fail-above", "0"], "--fail-above"),
        (&["compare", &first, "no-such.json"], "no-such.json"),
    ] {
        let (code, out, err) = run(words);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{words:?}: {err}");
        assert!(err.contains(part), "{words:?}: {err}");
    }
}

/// A box of n^3 nodes has ((3n - 2)^3 + n^3) / 2 pairs, and 36 inserts per element.
#[test]
fn the_pair_map_is_reported_where_it_builds_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let words = ["--nodes", "9", "--device", "cpu", "--report", path.to_str().unwrap(), "--graph"];
    let (code, out, _) = run(&[&words[..], &["map"]].concat());
    assert_eq!(code, 0);
    let map = &json(&path)["pair_map"];
    let (stored, capacity) = ((25u64.pow(3) + 729) / 2, 729 * 14 * 7 / 6);
    assert_eq!((&map["capacity"], &map["failed_inserts"], &map["retries"]), (&capacity.into(), &0.into(), &0.into()));
    assert_eq!(map["duplicates"], 36 * 512 - stored);
    assert!((map["load"].as_f64().unwrap() - stored as f64 / capacity as f64).abs() < 1e-12, "{map}");
    let longest = map["longest_probe"].as_u64().unwrap();
    assert!((2..=64).contains(&longest), "{map}");
    assert!(out.contains(&format!("pair map    {capacity} slots, ")) && out.contains(" 0 retries"), "{out}");
    let (_, out, _) = run(&[&words[..], &["gather"]].concat());
    assert!(json(&path)["pair_map"].is_null() && !out.contains("pair map"), "{out}");
}
