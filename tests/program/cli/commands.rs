//! Subcommands, runs that are not judged, and the pair map in the report.

use super::run;
use support::json;

#[test]
fn a_given_number_of_cg_iterations_is_done_reported_and_not_judged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let words = ["--nodes", "9", "--device", "cpu", "--report", path.to_str().unwrap(), "--cg-iterations"];
    // Too few for Newton's method, which ends at its limit; more than it takes to solve.
    for (iterations, steps) in [("3", Some(10)), ("50", None)] {
        let (code, out, err) = run(&[&words[..], &[iterations]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        assert!(out.lines().last().unwrap().starts_with("NOT JUDGED: ") && !out.contains("PASS"), "{out}");
        let report = json(&path);
        let count: u64 = iterations.parse().unwrap();
        let newton = report["newton_iterations"].as_u64().unwrap();
        assert_eq!(report["cg_iterations"], newton * count);
        assert_eq!(report["cg_iterations_asked"], count);
        assert_eq!(report["verified"], false);
        assert_eq!(report["strategies"]["format_reason"], "preset papers");
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
    let more = ["--map", "twist:0.25", "--share-gpu", "--timeout", "900", "--report", path.to_str().unwrap()];
    let (code, out, err) = run(&[&words[..], &more].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.lines().last().unwrap().starts_with("PASS: ") && out.contains("scatter, intrepid (papers)"), "{out}");
    let study = json(&path);
    assert_eq!((&study["verified"], &study["rounds"], &study["nodes"]), (&true.into(), &2.into(), &504.into()));
    assert!(study["problem"] == "heat on hex8" && out.contains("\nproblem     heat on hex8\n"), "{out}");
    let provenance = &study["provenance"];
    assert_eq!(
        (&provenance["command"][1], &provenance["deck"]["mesh"]["nodes"]),
        (&"strategies".into(), &"9x8x7".into())
    );
    // Each flag is in the deck.
    let flags: [(&str, serde_json::Value); 6] = [
        ("/mesh/map", "twist:0.25".into()),
        ("/run/device", "cpu".into()),
        ("/run/threads", 2.into()),
        ("/run/share_gpu", true.into()),
        ("/run/timeout", 900.0.into()),
        ("/run/report", path.to_str().into()),
    ];
    for (key, value) in flags {
        assert_eq!(provenance["deck"].pointer(key), Some(&value), "{key}");
    }
    assert!(provenance["machine"]["cpu"].is_string() && study["date"].as_str().unwrap().ends_with('Z'), "{study}");
    let strategies = study["strategies"].as_array().unwrap();
    assert_eq!(strategies.len(), 4 + 12 + 3);
    for strategy in strategies {
        assert_eq!(strategy["seconds"].as_array().unwrap().len(), 2, "{strategy}");
        let is_right = strategy["difference"].as_f64().unwrap() <= strategy["tolerance"].as_f64().unwrap();
        assert!(is_right || strategy["name"].as_str().unwrap().starts_with("unsafe"), "{strategy}");
        let speedup = strategy["speedup"].as_f64().unwrap();
        assert!(speedup > 0.0 && (speedup == 1.0 || strategy["is_papers"] == false), "{strategy}");
    }
    for (words, part) in [
        (&["strategies", "--rounds", "0"][..], "--rounds"),
        (&["strategies", "--graph", "map"], "--graph"),
        (&["strategies", "--threads", "0"], "run.threads"),
        (&["verify", "--threads", "0"], "run.threads (--threads): 0"),
        (&["strategies", "--nodes", "8x8"], "expected N or NxNxN"),
        (&["strategies", "--report", "no/such/dir/study.json"], "--report: no/such/dir/study.json: No such file"),
        (&["verify", "--report", "no/such/dir/checks.json"], "--report: no/such/dir/checks.json: No such file"),
        (&["strategies", "--report", "-"], "--report: -: only --report of a run takes the standard output"),
        (&["verify", "--report", "-"], "--report: -: only --report of a run takes the standard output"),
        (
            &["--nodes", "5", "--append", "-"],
            "run.append (--append): -: only --report of a run takes the standard output",
        ),
        (&["--dry-run", "--device", "cpu", "--vtk", "no/such/x.vtu"], "run.vtk (--vtk): no/such/x.vtu: No such file"),
        (&["--dry-run", "--device", "cpu", "--append", "no/such/x.csv"], "run.append (--append): no/such/x.csv: No"),
        (&["--nodes", "9", "strategies"], "'strategies' cannot be used with '--nodes <N>'"),
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
    assert!(err.starts_with("error: phases above 1.1 times as long as in A: cg "), "{err}");
    slow["verified"] = false.into();
    std::fs::write(&second, slow.to_string()).unwrap();
    for (a, b, name) in [(&first, &second, "B"), (&second, &first, "A")] {
        let (code, _, err) = run(&["compare", a, b, "--fail-above", "9e9"]);
        assert_eq!((code, err), (3, format!("error: {name} is not verified\n")));
    }
    // A run that is not to be judged has times, too.
    (slow["cg_iterations_asked"], slow["verdict"]) = (20.into(), serde_json::json!(["not asked: 20 iterations"]));
    std::fs::write(&second, slow.to_string()).unwrap();
    for (limit, expected) in [("9e9", 0), ("1.1", 4)] {
        let (code, out, _) = run(&["compare", &first, &second, "--fail-above", limit]);
        assert!(code == expected && out.ends_with("A VERIFIED, B NOT JUDGED\n"), "{code}: {out}");
    }
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

/// A box of n^3 nodes has (3n - 2)^3 pairs, 64 inserts per element, and slots for 56 of them and one per node.
#[test]
fn the_pair_map_is_reported_where_it_builds_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let words = ["--nodes", "9", "--device", "cpu", "--report", path.to_str().unwrap(), "--graph"];
    let (code, out, _) = run(&[&words[..], &["map"]].concat());
    assert_eq!(code, 0);
    let map = &json(&path)["pair_map"];
    let (stored, capacity) = (25u64.pow(3), 56 * 512 + 729);
    assert_eq!((&map["capacity"], &map["failed_inserts"], &map["retries"]), (&capacity.into(), &0.into(), &0.into()));
    assert_eq!(map["duplicates"], 64 * 512 - stored);
    assert!((map["load"].as_f64().unwrap() - stored as f64 / capacity as f64).abs() < 1e-12, "{map}");
    let longest = map["longest_probe"].as_u64().unwrap();
    assert!((2..=64).contains(&longest), "{map}");
    assert!(out.contains(&format!("pair map    {capacity} slots, ")) && out.contains(" 0 retries"), "{out}");
    let (_, out, _) = run(&[&words[..], &["gather"]].concat());
    assert!(json(&path)["pair_map"].is_null() && !out.contains("pair map"), "{out}");
}

/// A study adds `--triad`; the flags that its user gives come behind.
#[test]
fn of_both_flags_of_the_triad_the_last_one_counts() {
    for (words, value) in [(["--triad", "--no-triad"], "false"), (["--no-triad", "--triad"], "true")] {
        let (code, out, err) = run(&[words[0], words[1], "--dump-deck"]);
        assert!(code == 0 && out.contains(&format!("\ntriad = {value}\n")), "{out} {err}");
    }
}
