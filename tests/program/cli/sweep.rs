//! `minifenl sweep`: table, files, comparison, refusals and exit codes.

use super::run;
use std::fs::read_to_string;
use std::path::Path;
use support::json;

const SWEEP: [&str; 5] = ["sweep", "--device", "cpu", "--threads", "2"];

/// Names and values of a CSV table whose cells hold no comma within quotes in the columns that are asked for.
fn rows(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let text = read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(String::from).collect());
    (lines.next().unwrap(), lines.collect())
}

#[test]
fn a_sweep_writes_what_its_reports_say() {
    let dir = tempfile::tempdir().unwrap();
    let [csv, figure, report] = ["s.csv", "s.svg", "s.json"].map(|name| dir.path().join(name));
    let files =
        ["--csv", csv.to_str().unwrap(), "--figure", figure.to_str().unwrap(), "--report", report.to_str().unwrap()];
    let words = ["--nodes", "5,6x5x4", "--trials", "3", "--compare", "fill=scatter,colour"];
    let (code, out, err) = run(&[&SWEEP[..], &words, &files].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    assert!(out.contains("(smallest and largest: fewer than 4 trials)"), "{out}");
    assert_eq!(out.lines().last(), Some("PASS: 12 runs"));

    // Trials are interleaved over the values.
    let runs = json(&report);
    let runs = runs.as_array().unwrap();
    let order: Vec<_> = runs.iter().take(4).map(|run| (run["value"].as_str().unwrap(), &run["trial"])).collect();
    assert_eq!(order[..2], [("fill=scatter", &0.into()), ("fill=colour", &0.into())]);
    assert_eq!(order[2..], [("fill=scatter", &1.into()), ("fill=colour", &1.into())]);
    let (names, values) = rows(&csv);
    assert_eq!((runs.len(), values.len()), (12, 12));
    for (run, row) in runs.iter().zip(&values) {
        let cell = |name: &str| &row[names.iter().position(|known| known == name).unwrap()];
        let number = |name: &str| cell(name).parse::<f64>().unwrap();
        let (report, value) = (&run["report"], run["value"].as_str().unwrap());
        assert_eq!((cell("value").as_str(), number("trial")), (value, run["trial"].as_f64().unwrap()));
        assert_eq!(format!("fill={}", report["strategies"]["fill"].as_str().unwrap()), value);
        let phase = |name: &str| report["phases"].as_array().unwrap().iter().find(|phase| phase["name"] == name);
        let calls = |name: &str| match name {
            "graph" => 1.0,
            "fill" => phase("fill").unwrap()["calls"].as_f64().unwrap(),
            _ => report["cg_iterations"].as_f64().unwrap(),
        };
        for name in ["graph", "fill", "cg"] {
            let seconds = phase(name).unwrap()["seconds"].as_f64().unwrap();
            let expected = 1e6 * seconds / calls(name) / report["nodes"].as_f64().unwrap();
            let found = number(&format!("{name}_us_per_node"));
            assert!((found - expected).abs() < 1e-9 * expected, "{name}: {found}, expected {expected}");
        }
    }
    // The median of three is the middle one; three digits are shown.
    let mut graphs: Vec<f64> = runs.iter().step_by(2).take(3).map(graph).collect();
    graphs.sort_by(f64::total_cmp);
    let line = out.lines().find(|line| line.starts_with("5 ") && line.contains("scatter")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    let shown: f64 = cells[2].parse().unwrap();
    assert!((shown / graphs[1] - 1.0).abs() < 6e-3 && cells.last() == Some(&"yes"), "{line}, {graphs:?}");
    for cell in [2, 4, 6, 8].map(|at| cells[at]) {
        // Numbers below 1e-4 have six decimals, and those above 1000 all digits before the point.
        let digits = cell.replace('.', "").trim_start_matches('0').len();
        assert!(digits == 3 || cell.len() == 8 || !cell.contains('.'), "{cell}: {line}");
    }
    // Of three times, the smallest and the largest stand for the percentiles.
    let half = 50.0 * (graphs[2] - graphs[0]) / graphs[1];
    assert_eq!(cells[3], format!("{half:.0}"), "{line}, {graphs:?}");
    let mut totals: Vec<f64> =
        runs.iter().step_by(2).take(3).map(|run| run["report"]["total_seconds"].as_f64().unwrap()).collect();
    totals.sort_by(f64::total_cmp);
    let shown: f64 = cells[9].parse().unwrap();
    assert!((shown / totals[1] - 1.0).abs() < 6e-3, "{line}, {totals:?}");
    let yaml = dir.path().join("s.yaml");
    assert_eq!(
        run(&[&SWEEP[..], &["--nodes", "5", "--trials", "1", "--report", yaml.to_str().unwrap()]].concat()).0,
        0
    );
    let text = read_to_string(&yaml).unwrap();
    assert!(text.starts_with("- report:\n") && text.contains("\n  trial: 0\n"), "{text}");
    let svg = read_to_string(&figure).unwrap();
    assert_eq!((svg.matches("class=\"series\"").count(), svg.trim_end().ends_with("</svg>")), (6, true));
    let texts = ["graph fill=scatter", "cg fill=colour", "bands: smallest to largest"];
    assert!(texts.iter().all(|name| svg.contains(name)), "{svg}");
}

/// A text without the ends of its lines.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn graph(run: &serde_json::Value) -> f64 {
    let phases = run["report"]["phases"].as_array().unwrap();
    phases.iter().find(|phase| phase["name"] == "graph").unwrap()["us_per_node"].as_f64().unwrap()
}

/// Rows that are too wide for 80 columns stand in a table for each value.
#[test]
fn a_wide_sweep_has_a_table_for_each_value() {
    let values = "advection=1,0.0009765625,0.0001220703125,0,0,1";
    let words = ["--nodes", "20x5x4,9", "--trials", "1", "--compare", values];
    let (code, out, err) = run(&[&SWEEP[..], &words].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let names: Vec<&str> = out.lines().filter(|line| line.starts_with("advection=")).collect();
    assert_eq!(names, ["advection=1,0.0009765625,0.0001220703125", "advection=0,0,1"], "{out}");
    for size in ["20x5x4 ", "9 "] {
        assert_eq!(out.lines().filter(|line| line.starts_with(size)).count(), 2, "{size}: {out}");
    }
}

/// Settings that `--compare` changes are named with each value, and a verdict holds for all runs.
#[test]
fn the_head_of_a_sweep_holds_for_each_of_its_runs() {
    for (compare, line) in [
        ("problem=heat,minife", "problem     heat and minife on hex8, map none"),
        ("element=hex8,tet4", "problem     heat on hex8 and tet4, map none"),
        ("map=none,bubble:2", "problem     heat on hex8, map none and bubble:2"),
        ("advection=1,0,0,0,0,1", "problem     heat on hex8, map none, advection 1,0,0 and 0,0,1"),
        ("threads=1,2", "parallel    1 rank x 1 thread and 2 threads on cpu"),
    ] {
        let (code, out, err) =
            run(&["sweep", "--device", "cpu", "--nodes", "9", "--trials", "1", "--compare", compare]);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        assert!(out.lines().any(|other| other == line), "{line}: {out}");
        assert_eq!(out.lines().last(), Some("PASS: 2 runs"));
    }
}

/// 1300^3 nodes fit 32 bits, and no machine that runs these tests.
#[test]
fn a_size_that_fails_ends_the_sweep_and_keeps_what_was_measured() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("s.csv");
    let words = ["--nodes", "5,1300,6", "--trials", "1", "--csv", csv.to_str().unwrap()];
    let (code, out, err) = run(&[&SWEEP[..], &words].concat());
    assert_eq!((code, err.lines().count()), (2, 1), "{out}{err}");
    assert!(out.lines().any(|line| line.starts_with("5 ")) && rows(&csv).1.len() == 1, "{out}");
    assert_eq!(out.lines().last(), Some("ENDED EARLY: 1 of 3 runs"));
    // The run that fails is named.
    let words = ["--nodes", "9", "--trials", "1", "--compare", "map=none,twist:1.5"];
    let (code, out, err) = run(&[&SWEEP[..], &words].concat());
    assert!(code == 2 && out.ends_with("\nENDED EARLY: 1 of 2 runs\n"), "{out}");
    assert!(err.starts_with("error: nodes 9 map=twist:1.5: ") && err.contains("is folded or inverted"), "{err}");
    let (code, out, err) = run(&[&SWEEP[..], &["--nodes", "9", "--trials", "1", "--cg-max", "2"]].concat());
    assert_eq!((code, err.as_str()), (3, ""), "{out}");
    assert!(support::verdict(&out).starts_with("FAIL: 1 of 1 run not verified; first 9, trial 0: CG did not"), "{out}");
}

#[test]
fn mistakes_in_a_sweep_are_found_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, "[mesh]\nnodes = 5\n").unwrap();
    let (deck, csv, odd) = (deck.to_str().unwrap(), dir.path().join("s.svg"), dir.path().join("./s.svg"));
    let (csv, odd) = (csv.to_str().unwrap(), odd.to_str().unwrap());
    for (words, part) in [
        (&[][..], "--nodes"),
        (&["--nodes-per-rank", "5"], "--nodes"),
        (&["--nodes", "5", "--compare", "nodes=6,7"], "--compare nodes=6: a sweep takes its sizes from --nodes"),
        (
            &["--nodes", "5", "--compare", "fill=scatter,gather", "--fill", "gather"],
            "error: --fill is given beside --compare",
        ),
        (
            &["--nodes", "5", "--compare", "fill=scatter,gather", "--fill=gather"],
            "error: --fill is given beside --compare",
        ),
        (&["--nodes", "5", "--nodes", "6"], "'--nodes <N>' cannot be used multiple times"),
        (&["--nodes", "5", "--compare", "vtk=a.vtu,b.vtu"], "leave --vtk out"),
        (&["--nodes", "5", "--trials", "0"], "--trials"),
        (&["--nodes", "5,8x8"], "expected N or NxNxN"),
        (&["--nodes", "5,6", "--element", "hex27"], "6"),
        (&["--nodes", "5,6,5x5x5"], "--nodes: 5 stands twice"),
        (&["--nodes", "5", "--compare", "fill"], "expected a flag and two values or more"),
        (&["--nodes", "5", "--compare", "fill=scatter"], "expected a flag and two values or more"),
        (&["--nodes", "5", "--csv", "-"], "--csv: -: only --report of a run takes the standard output"),
        (&["--nodes", "5", "--compare", "fill=scatter,seem"], "seem"),
        (&["--nodes", "5", "--compare", "fill=scatter,scatter"], "changes no run"),
        (&["--nodes", "5", "--compare", "trials=1,2"], "changes no run"),
        (&["--nodes", "5", "--compare", "colours=1,2"], "--compare colours=1: unexpected argument '--colours'"),
        (&["--nodes", "5", "--compare", "advection=1,0,0,2"], "--compare advection=2: invalid value '2'"),
        (&["--nodes", "5", "--csv", csv, "--figure", odd], "--figure: this is --csv; give another file"),
        (&["--nodes", "5", "--figure", "s.png"], "--figure: `s.png`: give a name that ends with .svg"),
        (&["--nodes", "5", "--csv", deck, "--input", deck], "--csv: this is the input deck"),
        (&["--nodes", "5", "--csv", "no/such/dir/s.csv"], "--csv: no/such/dir/s.csv: No such file"),
        (&["--nodes", "5", "--input", "no/such/deck.toml"], "--input: no/such/deck.toml: No such file"),
        (&["--nodes", "5", "--report", "-"], "error: --report -: a sweep writes --csv, --figure and --report FILE"),
        (&["--nodes", "5", "--append", csv], "leave --append out"),
        (&["--nodes", "5", "--dry-run"], "'--dry-run'"),
        (&["--nodes", "5", "--vtk", "x.vtu"], "leave --vtk out"),
        (
            &["--nodes", "5", "--compare", "solver=cg,gmres", "--cg-iterations", "5"],
            "--compare solver=gmres: cg.iterations",
        ),
        (&["--nodes", "5", "--compare", "fill=gather,colour", "--t-max", "1"], "error: problem.t_max (--t-max): 1"),
    ] {
        let (code, out, err) = run(&[&SWEEP[..], words].concat());
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{words:?}: {err}");
        assert!(err.starts_with("error: ") && err.contains(part), "{words:?}: {err}");
    }
    // Flags that a sweep refuses are not in its help.
    let (code, help, _) = run(&["sweep", "--help"]);
    assert!(
        code == 0
            && help.contains("--figure")
            && in_one_line(&help).contains("reports of all runs as JSON, or as YAML"),
        "{help}"
    );
    assert!(["--vtk", "--append", "--nodes-per-rank"].iter().all(|flag| !help.contains(flag)), "{help}");
    let (code, _, err) = run(&["--nodes", "5", "--device", "cpu", "--nodes", "6"]);
    assert!(code == 2 && err.contains("'--nodes <N>' cannot be used multiple times"), "{err}");
    let (code, _, err) = run(&["--nodes", "5,6"]);
    assert!(code == 2 && err.contains("minifenl sweep"), "{err}");
}
