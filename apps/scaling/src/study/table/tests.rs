//! Tests of the table against numbers by hand.

use super::*;
use crate::study::Kind;
use crate::testing::{Sample, sample, table};
use serde_json::json;

#[test]
fn weak_and_strong_efficiencies_equal_those_by_hand() {
    let weak = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (sample(2, [8, 16, 8], 1.25e-3), 1)]);
    let cg = |table: &Table, row: usize| table.rows[row].phase("cg").unwrap().efficiency.unwrap();
    assert!((cg(&weak, 0) - 1.0).abs() < 1e-12 && (cg(&weak, 1) - 0.8).abs() < 1e-12);
    // Half the time would be perfect; it is 0.625 of it.
    let strong = table(Kind::Strong, &[(sample(1, [8; 3], 1e-3), 1), (sample(2, [8; 3], 0.625e-3), 1)]);
    assert!((cg(&strong, 1) - 0.8).abs() < 1e-12);
    assert!(strong.refusal().is_none() && strong.missing.is_empty());
    // Workers are threads, too.
    let threads = [sample(1, [8; 3], 1e-3), Sample { threads: 2, ..sample(1, [8; 3], 0.625e-3) }];
    let threads = table(Kind::Strong, &threads.map(|sample| (sample, 1)));
    assert!((cg(&threads, 1) - 0.8).abs() < 1e-12);
    assert!(weak.rows[1].phase("halo").unwrap().efficiency.is_none());
}

#[test]
fn repeats_have_a_median_and_a_spread() {
    let times = [1.2e-3, 1.0e-3, 1.1e-3];
    let runs: Vec<_> = times.iter().zip(1..).map(|(&time, repeat)| (sample(1, [8; 3], time), repeat)).collect();
    let row = table(Kind::Weak, &runs).rows.remove(0);
    let cg = &row.phase("cg").unwrap().seconds;
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(close(cg.p10_seconds, 1.0e-3) && close(cg.median_seconds, 1.1e-3) && close(cg.p90_seconds, 1.2e-3));
    assert_eq!((row.runs, row.iterations, row.reductions), (3, 10.0, 2.0));
    let halo = Sample { halo: 0.3e-3, ..sample(1, [8; 3], 1e-3) };
    assert!(close(table(Kind::Weak, &[(halo, 1)]).rows[0].communication, 0.3));
}

#[test]
fn runs_of_a_given_number_of_iterations_count_unless_something_else_is_wrong() {
    let mut report = sample(1, [8; 3], 1e-3).json();
    report["verified"] = false.into();
    let mistake = |report: &serde_json::Value| {
        let record: Record = serde_json::from_value(report.clone()).unwrap();
        record.mistake(&crate::testing::study(Kind::Weak, vec![1], vec![0], 1), Point::even(1, 1))
    };
    report["verdict"] = vec!["not asked: the number of CG iterations was given"].into();
    assert!(mistake(&report).unwrap().starts_with("not verified"), "nobody gave a number");
    report["cg_iterations_asked"] = 10.into();
    assert_eq!(mistake(&report), None);
    report["verdict"].as_array_mut().unwrap().push("asymmetry of the matrix 1e-3".into());
    assert!(mistake(&report).unwrap().contains("asymmetry"));
}

#[test]
fn reports_with_numbers_or_words_of_no_run_do_not_count() {
    let (study, good) = (crate::testing::study(Kind::Weak, vec![2], vec![0], 1), sample(2, [8, 16, 8], 1e-3).json());
    let mistake = |report: serde_json::Value| match serde_json::from_value::<Record>(report) {
        Ok(record) => record.mistake(&study, Point::even(2, 1)),
        Err(error) => Some(error.to_string()),
    };
    assert_eq!(mistake(good.clone()), None);
    let place = |first: u64, last: u64| json!({"first_rank": first, "last_rank": last, "host": "a", "threads": 1, "affinity": "0-1", "gpu": null});
    for (key, value, words) in [
        ("/schema_version", json!(2), "schema_version is 2, expected 1"),
        ("/problem/name", json!("poisson"), "a run of `poisson`: expected heat"),
        ("/mesh/element", json!("hex20"), "a run of `hex20`: expected hex8"),
        ("/ranks", json!(1), "ran on 1 rank instead of 2"),
        ("/threads", json!(2), "a run on 2 ranks x 2 threads with 8x16x8 nodes: expected 2 ranks x 1 thread"),
        ("/partition/imbalance_asked_percent", json!(50), "a run on 2 ranks x 1 thread, 50 % imbalance"),
        ("/elements", json!(734), "number of nodes or elements"),
        ("/nodes", json!(1025), "number of nodes or elements"),
        ("/total_seconds", json!(-1.0), "total_seconds"),
        ("/total_seconds", json!(0.0), "total_seconds"),
        ("/phases", json!([]), "seconds of phase cg"),
        ("/phases/2/seconds", json!(0.0), "seconds of phase cg"),
        ("/phases/1/seconds", json!(-0.1), "of a phase"),
        ("/phases/1/bytes", json!(1e300), "of a phase"),
        ("/phases/1/imbalance", json!(0.0), "of a phase"),
        ("/triad_gb_per_s", json!(0.0), "triad_gb_per_s"),
        ("/partition/owned_max", json!(511), "owned_max"),
        ("/partition/owned_max", json!(1025), "owned_max"),
        ("/partition/imbalance_percent", json!(-1.0), "imbalance of the partition"),
        ("/provenance/placement", json!([]), "placement"),
        ("/provenance/placement", json!([place(0, 1), place(1, 1)]), "placement"),
        ("/provenance/placement", json!([place(0, 0)]), "placement"),
        ("/provenance/placement/0/first_rank", json!(1), "placement"),
        ("/provenance/placement/0/last_rank", json!(u64::MAX), "placement"),
        ("/provenance/placement/0/threads", json!(0), "placement"),
        ("/provenance/placement/0/threads", json!(65537), "placement"),
        ("/provenance/placement/0/host", json!("a\u{1b}[2J"), "`a\\u{1b}[2J`: expected text without"),
        ("/phases/0/name", json!("a\nb"), "expected text without control characters"),
        ("/verdict", json!(["a\u{202e}"]), "expected text without control characters"),
    ] {
        let mut report = good.clone();
        *report.pointer_mut(key).unwrap() = value;
        let found = mistake(report).unwrap_or_default();
        assert!(found.contains(words), "{key}: {found}");
    }
    // With a deck the first run decides.
    let by_deck = Study { flags: ["--input", "a.toml"].map(String::from).to_vec(), ranks: vec![1, 2], ..study.clone() };
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    let mut other = good.clone();
    other["problem"]["name"] = json!("poisson");
    let first = sample(1, [8; 3], 1e-3).json();
    for (ranks, report) in [(1, first), (2, other)] {
        std::fs::write(folder.path().join(file(Point::even(ranks, 1), 1)), report.to_string()).unwrap();
    }
    let table = Table::read(&by_deck, folder.path()).unwrap();
    let expected = "a run of poisson on hex8: expected heat on hex8, as in the first run";
    assert!(table.rows.len() == 1 && table.missing[0].contains(expected), "{:?}", table.missing);
    // Also among the runs of its own point.
    let mut again = sample(1, [8; 3], 1e-3).json();
    again["problem"]["name"] = json!("poisson");
    std::fs::write(folder.path().join(file(Point::even(1, 1), 2)), again.to_string()).unwrap();
    let table = Table::read(&Study { ranks: vec![1], repeats: 2, ..by_deck }, folder.path()).unwrap();
    assert!(table.rows[0].runs == 1 && table.missing[0].contains(expected), "{:?}", table.missing);
}

#[test]
fn oversubscribed_points_have_no_efficiency_but_a_reason() {
    let four = sample(4, [8, 16, 16], 2e-3);
    let found = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (four, 1)]);
    assert!(found.rows[0].phase("cg").unwrap().efficiency.is_some());
    assert!(found.rows[1].phases.iter().all(|phase| phase.efficiency.is_none()));
    let words = found.refusal().unwrap();
    assert!(words.contains("4 ranks x 1 thread (4 threads share 2 hardware threads of a)"), "{words}");
    let alone = table(Kind::Weak, &[(four, 1)]);
    assert!(alone.refusal().unwrap().starts_with("No efficiency is given: the smallest point"));
    assert!(alone.rows[0].phases.iter().all(|phase| phase.efficiency.is_none()));
    // One run of several is enough: the second has both ranks on one hardware thread.
    let (study, folder) = (crate::testing::study(Kind::Weak, vec![2], vec![0], 2), tempfile::tempdir().unwrap());
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    for (repeat, affinity) in [(1, "0-1"), (2, "0")] {
        let mut report = sample(2, [8, 16, 8], 1e-3).json();
        report["provenance"]["placement"][0]["affinity"] = json!(affinity);
        std::fs::write(folder.path().join(file(Point::even(2, 1), repeat)), report.to_string()).unwrap();
    }
    let table = Table::read(&study, folder.path()).unwrap();
    let why = "2 threads share 1 hardware thread of a";
    assert_eq!((table.rows[0].runs, table.rows[0].placement.oversubscribed.as_deref()), (2, Some(why)));
}

#[test]
fn a_point_is_oversubscribed_by_other_programs_too() {
    let record = Sample { ranks: 2, ..Sample::default() }.record();
    let point = |ranks| Point::even(ranks, 1);
    assert_eq!((crowded(point(2), &record, 0.2), crowded(point(1), &record, 1.1)), (None, None));
    let words = "its threads and other programs, which used 0.4, share 2 hardware threads of a";
    assert_eq!(crowded(point(2), &record, 0.4).as_deref(), Some(words));
    // The threads beside a GPU wait for it.
    let gpu = Record { device: "a GPU".to_string().try_into().unwrap(), ..record };
    assert_eq!(crowded(point(2), &gpu, 9.0), None);
}

#[test]
fn reports_of_other_runs_are_named() {
    let found = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (sample(2, [9; 3], 1e-3), 1)]);
    assert_eq!(found.rows.len(), 1);
    assert!(
        found.missing[0].contains("9x9x9 nodes: expected 2 ranks x 1 thread with 8x16x8 nodes"),
        "{:?}",
        found.missing
    );
}

/// Three runs that differ in everything: each number is the median of its own kind, per call or per iteration.
#[test]
fn a_row_has_the_medians_of_what_its_runs_say() {
    let study = crate::testing::study(Kind::Weak, vec![2], vec![0], 3);
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    let point = Point::even(2, 1);
    for (repeat, factor) in [(1, 3.0), (2, 1.0), (3, 2.0)] {
        let own = Sample {
            iterations: 10 * repeat,
            halo: 0.25e-3 * factor,
            triad: 5.0 * factor,
            ..sample(2, [8, 16, 8], 1e-3)
        };
        let mut report = own.json();
        report["total_seconds"] = json!(7.0 * factor);
        report["cg_reductions"] = json!((repeat as f64 * 10.0 * (1.0 + factor)) as usize);
        report["phases"][0]["imbalance"] = json!(1.0 + factor);
        report["phases"][1]["seconds"] = json!(4.0 * factor);
        report["phases"][2]["bytes"] = json!(1e6 * factor * 10.0 * repeat as f64);
        let path = folder.path().join(file(point, repeat));
        std::fs::write(&path, report.to_string()).unwrap();
        std::fs::write(others::file(&path), format!("{}\n", 0.0625 * factor)).unwrap();
    }
    let table = Table::read(&study, folder.path()).unwrap();
    let row = &table.rows[0];
    let close = |found: f64, expected: f64, what: &str| {
        assert!((found / expected - 1.0).abs() < 1e-12, "{what}: {found}, expected {expected}");
    };
    assert_eq!((row.runs, row.nodes, row.point, table.missing.len()), (3, [8, 16, 8], point, 0));
    close(row.iterations, 20.0, "iterations");
    // Per iteration: 4, 2 and 3.
    close(row.reductions, 3.0, "all-reduces");
    close(row.total.median_seconds, 14.0, "total");
    close(row.total.p90_seconds, 21.0, "longest total");
    close(row.triad_gb_per_s.unwrap(), 10.0, "triad");
    close(row.bytes, 2e6, "bytes");
    close(row.communication, 0.5, "communication");
    close(row.others.unwrap(), 0.125, "other programs");
    close(row.phase("graph").unwrap().imbalance, 3.0, "imbalance");
    // Two calls of the fill.
    close(row.phase("fill").unwrap().seconds.median_seconds, 4.0, "fill");
    close(row.phase("fill").unwrap().seconds.p10_seconds, 2.0, "shortest fill");
    close(row.phase("spmv").unwrap().seconds.median_seconds, 0.7e-3, "product");
    close(row.count(), 1024.0, "nodes");
    assert_eq!((row.imbalance_percent, row.owned_max), (Some(0.0), Some(512)));
    let names: Vec<_> = row.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["graph", "fill", "cg", "spmv", "halo"]);
}

#[test]
fn the_efficiency_of_each_phase_is_that_of_its_own_times() {
    let slow = |ranks, nodes, iteration, fill: f64| {
        let mut report = sample(ranks, nodes, iteration).json();
        report["phases"][1]["seconds"] = json!(2.0 * fill);
        report
    };
    let study = crate::testing::study(Kind::Weak, vec![1, 2], vec![0], 1);
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    for (ranks, report) in [(1, slow(1, [8; 3], 1e-3, 0.1)), (2, slow(2, [8, 16, 8], 1.25e-3, 0.4))] {
        std::fs::write(folder.path().join(file(Point::even(ranks, 1), 1)), report.to_string()).unwrap();
    }
    let efficiencies = || {
        let table = Table::read(&study, folder.path()).unwrap();
        ["graph", "fill", "cg", "spmv"].map(|name| table.rows[1].phase(name).unwrap().efficiency)
    };
    for (found, expected) in efficiencies().iter().zip([1.0, 0.25, 0.8, 0.8]) {
        assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}, expected {expected}");
    }
    // Phases too short to be timed, at the first point and at the second, have none.
    let mut first = slow(1, [8; 3], 1e-3, 0.1);
    first["phases"][0]["seconds"] = json!(0.0);
    for (ranks, report) in [(1, first), (2, slow(2, [8, 16, 8], 1.25e-3, 0.0))] {
        std::fs::write(folder.path().join(file(Point::even(ranks, 1), 1)), report.to_string()).unwrap();
    }
    assert_eq!(efficiencies().map(|found| found.is_some()), [false, false, true, true]);
}
