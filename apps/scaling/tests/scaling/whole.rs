//! Whole reports of two made-up studies against files in `whole/`: each sentence, cell, column of CSV, number of `results.json`, line and
//! label of a figure. Other tests compute single numbers by hand; these notice a change of any. A number of the reports differs from all others, and the version
//! from that of this build.
//!
//! On a difference the new text lies in the folder that the message names. Copy it if the change is meant.

use crate::made_up::scaling;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Phases with seconds and bytes of a call on one rank, and slowest rank over the mean.
const PHASES: [(&str, f64, f64, f64); 7] = [
    ("graph", 0.21, 1.1e6, 1.01),
    ("fill", 0.13, 1.3e6, 1.03),
    ("boundary", 0.017, 1.7e5, 1.05),
    ("preconditioner", 0.031, 1.9e6, 1.07),
    ("cg", 1.23e-3, 2.3e6, 1.11),
    ("spmv", 0.77e-3, 1.6e6, 1.13),
    ("halo", 0.05e-3, 0.0, 1.17),
];

/// The report of a run. `slower` is the time of a call over that on one rank.
fn report(nodes: [u64; 3], [ranks, threads, imbalance, repeat]: [usize; 4], slower: f64, build: &str) -> Value {
    let (count, own) = (nodes.iter().product::<u64>(), ranks as f64);
    let noise = [0.98, 1.0, 1.07][repeat - 1];
    let phase = |&(name, seconds, bytes, imbalance): &(&str, f64, f64, f64)| {
        let calls = if name == "fill" { 4.0 } else { 40.0 };
        let waits = if name == "halo" { 3.0 * (own - 1.0) } else { 1.0 };
        json!({"name": name, "calls": calls as u64, "seconds": calls * seconds * slower * noise * waits, "bytes": calls * bytes * own,
            "imbalance": imbalance + 0.01 * own})
    };
    json!({"schema_version": 1, "version": "0.3.7", "date": "2026-11-22T13:00:05Z", "problem": {"name": "heat"},
        "mesh": {"element": "hex8", "nodes": nodes}, "nodes": count, "elements": nodes.map(|n| n - 1).iter().product::<u64>(),
        "ranks": ranks, "threads": threads, "device": "cpu", "cg_iterations": 38 + 2 * ranks, "cg_reductions": 77 + 4 * ranks,
        "total_seconds": 1.5 * slower * noise, "verified": true, "verdict": [], "triad_gb_per_s": 11.0 * own.powf(0.9),
        "partition": {"imbalance_asked_percent": imbalance, "imbalance_percent": imbalance as f64 * 0.96,
            "owned_max": count / ranks as u64 * (100 + imbalance as u64) / 100},
        "provenance": {"machine": {"host": "a", "cpu": "Made Up 9", "cores": 8, "hardware_threads": 16},
            "mpi": "Open MPI v4.1.4, package: x", "build": {"commit": "abc", "profile": build},
            "placement": [{"first_rank": 0, "last_rank": ranks - 1, "host": "a", "threads": threads, "affinity": "0-15", "gpu": null}]},
        "phases": PHASES.iter().map(phase).collect::<Vec<_>>()})
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A weak study up to 16 ranks with uneven boxes, miniFE and one run without a report.
fn weak(folder: &Path) {
    let study = json!({"kind": "weak", "nodes": [8, 9, 10], "device": "cpu", "flags": ["--no-triad"], "ranks": [1, 2, 4, 8, 16],
        "threads": [1], "imbalance": [0, 50], "repeats": 3});
    put(&folder.join("study.json"), &study.to_string());
    let boxes = [[8, 9, 10], [16, 9, 10], [16, 18, 10], [16, 18, 20], [32, 18, 20]];
    for (power, nodes) in boxes.into_iter().enumerate() {
        for imbalance in [0, 50].into_iter().take(1 + power) {
            for repeat in 1..=3 {
                let ranks = 1 << power;
                let slower = (1.0 + 0.03 * (power * power) as f64) * (1.0 + 0.013 * imbalance as f64);
                let uneven = if imbalance > 0 { "-imbalance-050" } else { "" };
                let stem = format!("ranks-{ranks:06}-threads-001{uneven}-{repeat}");
                if (power, repeat, imbalance) != (3, 2, 50) {
                    let run = report(nodes, [ranks, 1, imbalance, repeat], slower, "release");
                    put(&folder.join(format!("runs/{stem}.json")), &run.to_string());
                    put(&folder.join(format!("runs/{stem}.others")), &format!("0.{power}{repeat}\n"));
                }
                let [x, y, z] = nodes.map(|nodes| nodes - 1);
                let yaml = format!(
                    "nx: {x}\nny: {y}\nnz: {z}\nnumber of processors: {ranks}\nload_imbalance: {imbalance}\n"
                ) + &format!(
                    "Mat-struc-gen Time: 0.3{power}{repeat}\nFE assembly Time: 0.2{power}{repeat}\nIterations: 200\n"
                ) + &format!("MATVEC Time: 0.1{power}{repeat}\nTotal CG Time: 0.4{power}{repeat}\n");
                put(&folder.join(format!("peers/minife/{stem}/a.yaml")), &yaml);
            }
        }
    }
}

/// A strong study of ranks and threads by a debug build, in which the largest point is oversubscribed; with FENL.
fn strong(folder: &Path) {
    let study = json!({"kind": "strong", "nodes": [16, 9, 10], "device": "cpu", "flags": [], "ranks": [1, 2, 4],
        "threads": [1, 2, 5], "repeats": 1});
    put(&folder.join("study.json"), &study.to_string());
    for ranks in [1, 2, 4] {
        for threads in [1, 2, 5] {
            let slower = (1.0 + 0.2 * ranks as f64) / (ranks * threads) as f64;
            let stem = format!("ranks-{ranks:06}-threads-{threads:03}-1");
            let run = report([16, 9, 10], [ranks, threads, 0, 1], slower, "debug");
            put(&folder.join(format!("runs/{stem}.json")), &run.to_string());
            let line = format!(
                "1080 , 1440 , 3 , 97 , 0.5 , 1e-3 , 2e-3 , 3e-3 , 4e-3 , 5e-3 , 6e-3 , {threads}e-3 , 1e-3 , {ranks}e-3 , 7e-3 , 1"
            );
            put(&folder.join(format!("peers/fenl/{stem}/fenl.txt")), &format!("ELEMS\n{line}\n"));
        }
    }
}

/// Names and numbers of a JSON value, these with six digits; an entry of a list below the top on a line of its own.
fn flat(value: &Value, path: &str, text: &mut String) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| flat(value, &format!("{path}/{key}"), text)),
        Value::Array(list) => list.iter().for_each(|value| {
            text.push_str(if path.matches('/').count() == 1 { "\n" } else { "" });
            flat(value, path, text);
        }),
        Value::Number(number) if number.is_f64() => write!(text, "{path} {:.5e} ", number.as_f64().unwrap()).unwrap(),
        value => write!(text, "{path} {value} ").unwrap(),
    }
}

/// What is drawn: points of lines, bands and limits, and all words.
fn drawn(svg: &str) -> String {
    let lines = svg.lines().filter(|line| line.contains(" points=\"") || line.contains("<text"));
    lines.map(|line| format!("{}\n", line.trim())).collect()
}

macro_rules! files {
    ($($name:literal)*) => { [$(($name, include_str!(concat!("whole/", $name)))),*] };
}

/// The texts that were looked through.
const EXPECTED: [(&str, &str); 9] = files! {
    "weak.md.txt" "weak.csv" "weak.json.txt" "weak.svg.txt" "strong.md.txt" "strong.json.txt" "strong.svg.txt" "compare.md.txt" "model.md.txt"
};

/// Compares a text with a file of `whole/`, line by line.
fn assert_is(name: &str, found: &str, wrong: &mut String) {
    let (_, expected) = EXPECTED.into_iter().find(|(file, _)| *file == name).expect("a file");
    if found != expected {
        put(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("whole").join(name), found);
        let different = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
        let [lines, others] = [found, expected].map(|text| text.lines().count());
        writeln!(wrong, "{name}: {different:?}, {lines} and {others} lines").unwrap();
    }
}

#[test]
fn whole_reports_are_those_that_were_looked_through() {
    let (root, mut wrong) = (tempfile::tempdir().unwrap(), String::new());
    let folder = root.path().display().to_string();
    let run = |words: &[&str]| {
        let output = scaling(words);
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code(), String::from_utf8(output.stdout).unwrap().replace(&folder, "FOLDER"))
    };
    let folders = ["weak", "strong"].map(|kind| root.path().join(kind).display().to_string());
    for (kind, (fill, code)) in ["weak", "strong"].into_iter().zip([(weak as fn(&Path), 3), (strong, 0)]) {
        let folder = root.path().join(kind);
        fill(&folder);
        let (found, text) = run(&["report", folder.to_str().unwrap()]);
        assert_eq!(found, Some(code), "{kind}: {text}");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert_is(&format!("{kind}.md.txt"), &read("report.md"), &mut wrong);
        if kind == "weak" {
            assert_is("weak.csv", &read("study.csv"), &mut wrong);
        }
        let (mut numbers, mut figures) = (String::new(), String::new());
        flat(&serde_json::from_str(&read("results.json")).unwrap(), "", &mut numbers);
        numbers.push('\n');
        assert_is(&format!("{kind}.json.txt"), &numbers, &mut wrong);
        for name in ["time", "efficiency", "communication", "imbalance", "uneven", "peers", "model"] {
            let svg = std::fs::read_to_string(folder.join(format!("{name}.svg"))).unwrap_or_default();
            figures += &format!("{name}\n{}", drawn(&svg));
            // Each figure is a picture, too.
            let png = std::fs::read(folder.join(format!("{name}.png"))).unwrap_or_default();
            assert_eq!(png.starts_with(b"\x89PNG"), !svg.is_empty(), "{kind}: {name}");
        }
        assert_is(&format!("{kind}.svg.txt"), &figures, &mut wrong);
    }
    let figure = root.path().join("two.svg").display().to_string();
    let (code, text) = run(&["compare", &folders[0], &folders[1], "--figure", &figure]);
    assert_eq!(code, Some(0));
    assert_is("compare.md.txt", &(text + &drawn(&std::fs::read_to_string(&figure).unwrap())), &mut wrong);
    let machine =
        ["model", "--bandwidth", "10", "--latency", "2", "--link", "5", "--flops", "30", "--ranks", "1,3,64,1000"];
    let (code, text) = run(&[&machine[..], &["--nodes-per-rank", "12x13x14", "--imbalance", "20"]].concat());
    assert_eq!(code, Some(0));
    assert_is("model.md.txt", &text, &mut wrong);
    assert!(wrong.is_empty(), "{wrong}new texts are in {}/whole", env!("CARGO_TARGET_TMPDIR"));
}
