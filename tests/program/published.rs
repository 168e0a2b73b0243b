//! The numbers of a report, recomputed from its own fields and from counts by hand on a box whose sizes all differ.
//!
//! ```text
//! box of 5 x 7 x 11 nodes: n = 385 rows, 4 x 6 x 10 = 240 elements, nnz = (3*5-2) (3*7-2) (3*11-2) = 13 * 19 * 31 = 7657
//! 70 fixed rows: 2 faces x (2 * 13 * 19 - 35) entries beside the diagonal, 2 * 13 * 19 entries of other rows in their columns
//! ```
//! Byte counts are written out here, not taken from the library. `tests/ranks/jobs.rs` does the same on several ranks.

use minifenl::Result;
use minifenl::comm::{Communicator, Exchange, Map, Solo};
use minifenl::run::{Deck, Report, silent, solve_on};
use minifenl::space::Serial;
use serde_json::Value;
use std::cell::RefCell;
use support::json;

const NODES: f64 = 385.0;
const ELEMENTS: f64 = 240.0;
const ENTRIES: f64 = 7657.0;
/// Entries beside the diagonal in fixed rows, entries of other rows in fixed columns, fixed residuals.
const FIXED: f64 = 2.0 * (2.0 * 13.0 * 19.0 - 35.0) + 2.0 * 13.0 * 19.0 + 70.0;

/// Runs the program on the box and returns its table and its report.
fn run(flags: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let fixed = ["--nodes", "5x7x11", "--size", "1,2,3", "--device", "cpu", "--preset", "fast"];
    let report = ["--report", path.to_str().unwrap()];
    let threads: &[&str] = if flags.contains(&"--threads") { &[] } else { &["--threads", "1"] };
    let (code, out, err) = support::run("minifenl", &[&fixed[..], threads, flags, &report].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{flags:?}: {out}");
    (out, json(&path))
}

fn phase<'a>(report: &'a Value, name: &str) -> &'a Value {
    let phases = report["phases"].as_array().unwrap();
    phases.iter().find(|phase| phase["name"] == name).unwrap_or_else(|| panic!("no phase {name}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn assert_close(what: &str, actual: f64, expected: f64) {
    assert!((actual - expected).abs() <= 1e-12 * expected.abs(), "{what}: {actual}, expected {expected}");
}

/// Bytes and flops of one call: every array once, 12 bytes per entry (value and column), 8 per offset and number.
fn spmv() -> (f64, f64) {
    (12.0 * ENTRIES + 8.0 * (NODES + 1.0) + 8.0 * NODES + 8.0 * NODES, 2.0 * ENTRIES)
}

#[test]
fn bytes_and_flops_of_each_phase_are_those_by_hand() {
    // Table 32 and positions 64 per element, coordinates 24 and temperature 8 per node.
    let inputs = 96.0 * ELEMENTS + 32.0 * NODES;
    // Values and residuals are zeroed, read and written, or written once.
    let (added, gathered) = (inputs + 24.0 * (ENTRIES + NODES), inputs + 8.0 * (ENTRIES + NODES));
    let graph = 32.0 * ELEMENTS + 4.0 * ENTRIES + 8.0 * (NODES + 1.0) + 96.0 * ELEMENTS + 4.0 * ENTRIES;
    for (flags, fill, flops) in [
        (&[][..], added, 1671.0),
        (&["--fill", "colour", "--kernel", "fused"], added, 1671.0),
        (&["--fill", "scatter", "--kernel", "table"], added, 9408.0),
        (&["--fill", "gather", "--kernel", "fused"], gathered, 1671.0),
        (&["--fill", "gather", "--kernel", "table"], gathered, 9408.0),
    ] {
        let (_, report) = run(flags);
        for (name, bytes, flops) in [
            ("graph", graph, 0.0),
            ("graph/scan", 12.0 * NODES + 8.0, 0.0),
            ("fill", fill, flops * ELEMENTS),
            ("boundary", 16.0 * FIXED, 0.0),
            ("spmv", spmv().0, spmv().1),
            ("halo", 0.0, 0.0),
            ("cg", spmv().0 + 72.0 * NODES, spmv().1 + 10.0 * NODES),
        ] {
            let phase = phase(&report, name);
            let calls = number(&phase["calls"]);
            assert_close(&format!("{flags:?}: bytes of {name}"), number(&phase["bytes"]), bytes * calls);
            assert_close(&format!("{flags:?}: flops of {name}"), number(&phase["flops"]), flops * calls);
        }
    }
}

#[test]
fn calls_and_iterations_add_up() {
    let (_, report) = run(&[]);
    let steps = number(&report["newton_iterations"]);
    let history = report["history"].as_array().unwrap();
    let per_step: Vec<f64> = history.iter().map(|line| number(&line["cg_iterations"])).collect();
    let total: f64 = per_step.iter().sum();
    // Each solve but none after the last residual.
    assert_eq!((per_step.len() as f64, per_step.last()), (steps + 1.0, Some(&0.0)));
    assert!(per_step[..per_step.len() - 1].iter().all(|&count| count > 20.0), "{per_step:?}");
    assert_eq!(number(&report["cg_iterations"]), total);
    for (name, calls) in [
        ("mesh", 1.0),
        ("graph", 1.0),
        ("graph/scan", 1.0),
        ("setup", 1.0),
        ("fill", steps + 1.0),
        ("boundary", steps + 1.0),
        // A product per iteration, and one per solve for its first residual.
        ("cg", total),
        ("spmv", total + steps),
        ("halo", total + steps),
        // The temperature's ghosts, before each assembly.
        ("ghosts", steps + 1.0),
        ("total", 1.0),
    ] {
        assert_eq!(number(&phase(&report, name)["calls"]), calls, "{name}");
    }
    for (key, value) in [("nodes", NODES), ("elements", ELEMENTS), ("ranks", 1.0), ("threads", 1.0)] {
        assert_eq!(number(&report[key]), value, "{key}");
    }
    let partition = &report["partition"];
    for (key, value) in [("owned_min", NODES), ("owned_max", NODES), ("owned_mean", NODES), ("ghosts", 0.0)] {
        assert_eq!(number(&partition[key]), value, "{key}");
    }
    assert_eq!((number(&partition["duplicated_elements"]), number(&partition["neighbours"])), (0.0, 0.0));
}

#[test]
fn rates_follow_from_the_fields_of_the_report() {
    let (out, report) = run(&[]);
    assert!(report["triad_gb_per_s"].is_null());
    assert_close("peak", number(&report["peak_bytes_per_node"]), number(&report["peak_bytes"]) / NODES);
    assert!((1e6..1e11).contains(&number(&report["peak_bytes"])));
    for (at, phase) in report["phases"].as_array().unwrap().iter().enumerate() {
        let [calls, seconds, bytes, flops] = ["calls", "seconds", "bytes", "flops"].map(|key| number(&phase[key]));
        let name = phase["name"].as_str().unwrap();
        assert!(calls >= 1.0 && seconds > 0.0, "{phase}");
        for (key, amount) in [("gb_per_s", bytes), ("gflop_per_s", flops)] {
            // What is not counted has no rate.
            match phase[key].as_f64() {
                Some(rate) => assert_close(&format!("{key} of {name}"), rate, amount / seconds / 1e9),
                None => assert!(amount == 0.0 && phase[key].is_null(), "{key} of {name}"),
            }
        }
        for (key, expected) in [
            ("us_per_node", seconds * 1e6 / (calls * NODES)),
            // One rank is the slowest and the mean.
            ("imbalance", 1.0),
        ] {
            assert_close(&format!("{key} of {name}"), number(&phase[key]), expected);
        }
        assert!(phase["triad_fraction"].is_null(), "{phase}");
        // The table has the same numbers, with the name of a step without that of its phase.
        let row: Vec<&str> = out
            .lines()
            .skip_while(|line| !line.starts_with("phase "))
            .nth(1 + at)
            .unwrap_or_else(|| panic!("no row {name}: {out}"))
            .split_whitespace()
            .collect();
        assert_eq!(row[..2], [name.rsplit('/').next().unwrap(), &*format!("{calls}")]);
        assert_eq!(row[2], format!("{seconds:.4}"), "{name}");
        assert_eq!(row[3], format!("{:.5}", number(&phase["us_per_node"])), "{name}");
    }
    // Names are unique, and parts follow their phase and take at most its time.
    let phases = report["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    let rows = out.lines().skip_while(|line| !line.starts_with("phase ")).skip(1);
    assert_eq!(rows.take_while(|row| !row.is_empty()).count(), names.len());
    assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)), "{names:?}");
    let parts = |parent: &str| phases.iter().filter(|phase| phase["parent"] == parent).collect::<Vec<_>>();
    let named = |parent| parts(parent).iter().map(|part| part["name"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(named("cg"), ["spmv", "halo"]);
    for parent in ["graph", "setup", "cg"] {
        let seconds: f64 = parts(parent).iter().map(|part| number(&part["seconds"])).sum();
        assert!(seconds > 0.0 && seconds <= number(&phase(&report, parent)["seconds"]), "{parent}");
        let at = names.iter().position(|name| *name == parent).unwrap();
        assert_eq!(&names[at + 1..=at + parts(parent).len()], named(parent));
    }
    // Top-level phases do not overlap, so they fit into the total.
    let outer = phases.iter().filter(|phase| phase["parent"].is_null() && phase["name"] != "total");
    let outer: f64 = outer.map(|phase| number(&phase["seconds"])).sum();
    let total = number(&phase(&report, "total")["seconds"]);
    assert!(outer <= total && total == number(&report["total_seconds"]), "{outer} {total}");
    // Single times of what is called more than once.
    for name in ["fill", "boundary", "ghosts", "verify"] {
        let [low, middle, high] =
            ["p10_seconds", "median_seconds", "p90_seconds"].map(|key| number(&phase(&report, name)["spread"][key]));
        assert!(
            0.0 < low && low <= middle && middle <= high && high <= number(&phase(&report, name)["seconds"]),
            "{name}"
        );
        assert_eq!(phase(&report, name)["spread"]["noisy"].as_bool(), Some(high - low > 0.3 * middle), "{name}");
    }
    assert!(phase(&report, "mesh")["spread"].is_null() && phase(&report, "cg")["spread"].is_null());
    // The rated figure.
    let rating = &report["rating"];
    let flops = ["fill", "cg"].map(|name| number(&phase(&report, name)["flops"]));
    assert_close("rating", number(&rating["total_gflop_per_s"]), (flops[0] + flops[1]) / total / 1e9);
    assert_close("rating", number(&rating["unknowns_per_second"]), NODES / total);
    assert_eq!(rating["cg_gflop_per_s"], phase(&report, "cg")["gflop_per_s"]);
    assert_eq!((&rating["verified"], &rating["cg_triad_fraction"]), (&report["verified"], &Value::Null));
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    // Steps of the graph happen inside of it.
    let inner = report["phases"].as_array().unwrap().iter().filter(|p| p["name"].as_str().unwrap().contains("graph/"));
    assert!(inner.map(|phase| number(&phase["seconds"])).sum::<f64>() <= number(&phase(&report, "graph")["seconds"]));
}

/// Flags reach the work, not only the deck: each leaves its mark on a run.
#[test]
fn flags_change_what_is_computed() {
    let (_, base) = run(&[]);
    let history = |report: &Value| {
        report["history"].as_array().unwrap().iter().map(|line| number(&line["residual"])).collect::<Vec<_>>()
    };
    let first = history(&base)[1];
    // Kernels and strategies round differently.
    let (_, kernel) = run(&["--kernel", "table"]);
    let second = history(&kernel)[1];
    assert!(first != second && (first / second - 1.0).abs() < 1e-9, "{first} {second}");
    // Only `gather` makes lists of elements, only `sort` a list of all pairs.
    for (strategy, marks) in [
        ("gather", ["graph/lists"].as_slice()),
        ("sort", &["graph/pairs", "graph/sort"]),
        ("map", &[]),
        ("dashmap", &["graph/sort"]),
    ] {
        let (_, report) = run(&["--graph", strategy]);
        let steps = report["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap());
        let steps: Vec<&str> =
            steps.filter(|step| ["graph/lists", "graph/pairs", "graph/sort"].contains(step)).collect();
        assert_eq!(steps, marks, "{strategy}");
        let same = (report["strategies"]["graph"].as_str(), history(&report)[1]);
        assert_eq!(same, (Some(strategy), first), "all strategies give the same matrix");
    }
    // The conductivity grows in proportion to the temperatures (K T'' = T^2).
    let (_, hot) = run(&["--t-min", "3", "--t-max", "6"]);
    let conductivity = |report: &Value| number(&report["problem"]["conductivity"]);
    assert_eq!((number(&hot["problem"]["t_min"]), number(&hot["problem"]["t_max"])), (3.0, 6.0));
    assert_close("conductivity", conductivity(&hot), 3.0 * conductivity(&base));
    assert!((history(&hot)[0] / (9.0 * history(&base)[0]) - 1.0).abs() < 1e-9);
    let (_, threads) = run(&["--threads", "2"]);
    assert_eq!((number(&threads["threads"]), history(&threads)), (2.0, history(&base)));
    let (_, bent) = run(&["--map", "bubble:0.5"]);
    assert!(history(&bent)[0] != history(&base)[0] && bent["mesh"]["map"] == "bubble:0.5");
    for limited in [["--cg-max", "3"], ["--newton-max", "1"]] {
        let words = [&["--nodes", "5x7x11", "--device", "cpu"][..], &limited].concat();
        assert_eq!(support::run("minifenl", &words).0, 3, "{limited:?}");
    }
}

/// One rank that hears itself three times: sums are tripled, maxima are not.
#[derive(Debug)]
struct Echo {
    summed: RefCell<Vec<f64>>,
}

impl Communicator for Echo {
    support::rank!(0 of 1);
    /// As if the caches were shared by many ranks, so that the triad's arrays are short.
    fn ranks_on_node(&self) -> usize {
        64
    }
    fn all_sum(&self, values: &mut [f64]) {
        self.summed.borrow_mut().extend_from_slice(values);
        values.iter_mut().for_each(|value| *value *= 3.0);
    }
    fn all_sum_u64(&self, values: &mut [u64]) {
        values.iter_mut().for_each(|value| *value *= 3);
    }
    fn node_sum(&self, value: u64) -> u64 {
        value
    }
    fn all_gather(&self, mine: &[f64]) -> Result<Vec<f64>> {
        Ok(mine.to_vec())
    }
    fn exchange(&self, map: &Map) -> Result<Box<dyn Exchange>> {
        Solo.exchange(map)
    }
}

#[test]
fn the_report_adds_over_the_ranks_what_has_to_be_added() {
    let deck =
        Deck::parse("deck", "[mesh]\nnodes = \"5x7x11\"\nsize = [1, 2, 3]\n[run]\ntriad = true\ndevice = \"cpu\"")
            .unwrap();
    let comm = Echo { summed: RefCell::default() };
    let report: Report = solve_on(&Serial, &deck, &comm, &silent).unwrap();
    // A bandwidth that was added up is three times a number that entered a sum; a maximum is not.
    let triad = report.triad_gb_per_s.unwrap();
    assert!(
        comm.summed.borrow().iter().any(|&own| own > 0.0 && own * 3.0 == triad),
        "{triad} is no sum over the ranks"
    );
    assert_eq!(report.partition.duplicated_elements, 2 * ELEMENTS as u64);
    for phase in report.phases.iter().filter(|phase| phase.bytes > 0.0) {
        let rate = phase.gb_per_s.unwrap();
        assert_close(&phase.name, rate, phase.bytes / phase.seconds / 1e9);
        assert_close(&phase.name, phase.triad_fraction.unwrap(), rate / triad);
    }
    let cg = report.phases.iter().find(|phase| phase.name == "cg").unwrap();
    assert_close("cg", cg.bytes, 3.0 * cg.calls as f64 * (spmv().0 + 72.0 * NODES));
    assert_eq!(cg.calls as usize, report.cg_iterations);
    assert_eq!(report.rating.cg_triad_fraction, cg.triad_fraction);
    // Norms and errors do not depend on how often all ranks are counted.
    let deck = Deck { run: Default::default(), ..deck };
    let alone = solve_on(&Serial, &deck, &Solo, &silent).unwrap();
    assert_close("error_l2", report.error_l2, alone.error_l2);
    assert_eq!(report.cg_iterations, alone.cg_iterations);
}
