//! Two reports side by side: the ratio of times, phase by phase, and what differs in settings and provenance.
//!
//! A ratio is B over A. Phases that take less than [`SHARE`] of the total in both reports are shown but not judged: they are too short
//! to be measured well.

use minifenl::error::printable;
use minifenl::run::report::columns;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Share of the total from which a phase is judged.
pub const SHARE: f64 = 0.05;
/// Columns of the table.
const WIDTH: usize = 80;
/// Characters that the table shows of a value: at least, at most.
const SHOWN: [usize; 2] = [12, 22];
/// Keys that may differ between runs of one kind: results, reasons, dates, and names of files.
const RESULTS: [&str; 12] = [
    "date",
    "error_",
    "algebraic_error",
    "symmetry",
    "rating",
    "triad_gb_per_s",
    "peak_bytes",
    "provenance.command",
    "provenance.deck.run.report",
    "provenance.deck.run.append",
    "phases",
    "strategies.format_reason",
];
/// Keys of algorithms that only some runs use: they are compared where both runs have them.
const OF_ALGORITHMS: [&str; 3] = ["levels", "pair_map", "strategies.contractions"];

/// Keys of the deck that may be left to the preset, and the keys that say what was chosen.
const CHOSEN: [[&str; 2]; 7] = [
    ["graph.strategy", "graph"],
    ["graph.scan", "scan"],
    ["fill.strategy", "fill"],
    ["fill.kernel", "kernel"],
    ["cg.variant", "cg"],
    ["cg.preconditioner", "preconditioner"],
    ["matrix.format", "format"],
];

/// A phase in two reports.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseRatio {
    /// The phase.
    pub name: String,
    /// Seconds in A and in B; `None` where it did not run.
    pub seconds: [Option<f64>; 2],
    /// Whether its part of the total is large enough to be judged.
    pub is_judged: bool,
    /// Whether the single calls of one of the reports are noisy.
    pub is_noisy: bool,
}

impl PhaseRatio {
    /// Seconds in B over seconds in A.
    pub fn ratio(&self) -> Option<f64> {
        let [a, b] = self.seconds;
        Some(b? / a.filter(|a| *a > 0.0)?)
    }
}

/// Two reports side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The phases of either report, those of A first, `total` last.
    pub phases: Vec<PhaseRatio>,
    /// Keys with other values, but for results: key, value in A, value in B.
    pub differences: Vec<[String; 3]>,
    /// The verdicts on A and B.
    pub verdicts: [Verdict; 2],
}

/// What a report says of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Verified,
    /// A number of iterations was asked for, and no solution.
    NotJudged,
    NotVerified,
}

impl Verdict {
    fn of(report: &Value) -> Self {
        let is_asked = report["cg_iterations_asked"].is_number();
        // A run that broke off has failed, whatever was asked for.
        let is_failed = report["verdict"][0].as_str().is_none_or(|why| !why.starts_with("not asked"));
        match report["verified"] == true {
            true => Verdict::Verified,
            false if is_asked && !is_failed => Verdict::NotJudged,
            false => Verdict::NotVerified,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Verdict::Verified => "VERIFIED",
            Verdict::NotJudged => "NOT JUDGED",
            Verdict::NotVerified => "NOT VERIFIED",
        }
    }
}

impl Comparison {
    /// Compares two reports.
    pub fn new(a: &Value, b: &Value) -> Self {
        let reports = [a, b];
        let phases = reports.map(|report| report["phases"].as_array().map_or(&[][..], Vec::as_slice));
        // At most MOST_PHASES each.
        let mut names: Vec<&str> = Vec::new();
        for phase in phases.into_iter().flatten() {
            let name = phase["name"].as_str().unwrap_or("");
            if !names.contains(&name) && name != "total" {
                names.push(name);
            }
        }
        names.push("total");
        let totals = reports.map(|report| report["total_seconds"].as_f64().unwrap_or(0.0));
        let row = |name: &&str| {
            let found = phases.map(|phases| phases.iter().find(|phase| phase["name"] == *name));
            let seconds = found.map(|phase| phase?["seconds"].as_f64());
            let large = |at: usize| seconds[at].is_some_and(|seconds| seconds >= SHARE * totals[at]);
            let is_noisy = found.iter().flatten().any(|phase| phase["spread"]["noisy"] == true);
            PhaseRatio { name: name.to_string(), seconds, is_judged: large(0) || large(1), is_noisy }
        };
        Comparison {
            phases: names.iter().map(row).collect(),
            differences: differences(a, b),
            verdicts: reports.map(Verdict::of),
        }
    }

    /// The first key of mesh or problem that differs: then the ratios compare unlike runs.
    pub fn other_problem(&self) -> Option<&str> {
        // The name before what follows from it.
        let of = ["problem.name", "mesh.", "problem.", "nodes"];
        of.into_iter()
            .find_map(|of| self.differences.iter().map(|[key, ..]| key.as_str()).find(|key| key.starts_with(of)))
    }

    /// The judged phases whose ratio exceeds `limit`, and those that take time in B only.
    pub fn above(&self, limit: f64) -> Vec<&PhaseRatio> {
        let exceeds = |phase: &&PhaseRatio| {
            // Without a ratio there is no time in A, or 0.
            phase.is_judged && phase.seconds[1].is_some() && phase.ratio().is_none_or(|ratio| ratio > limit)
        };
        self.phases.iter().filter(exceeds).collect()
    }

    /// The comparison as text.
    pub fn table(&self) -> String {
        let seconds = |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{seconds:.4}"));
        let rows = self.phases.iter().map(|phase| {
            let remark = match (phase.is_judged, phase.is_noisy) {
                (true, true) => "noisy",
                (true, false) => "",
                (false, _) => "short",
            };
            let [a, b] = phase.seconds.map(seconds);
            vec![
                phase.name.clone(),
                a,
                b,
                phase.ratio().map_or("-".into(), |ratio| format!("{ratio:.3}")),
                remark.into(),
            ]
        });
        let mut text = columns(&["phase", "A seconds", "B seconds", "B/A", ""], rows);
        if !self.differences.is_empty() {
            let longest = self.differences.iter().map(|[key, ..]| key.chars().count()).max().unwrap_or(0);
            let most = (WIDTH.saturating_sub(longest + 4) / 2).clamp(SHOWN[0], SHOWN[1]);
            let row = |[key, a, b]: &[String; 3]| vec![key.clone(), shown(a, most), shown(b, most)];
            text += "\n";
            text += &columns(&["differs", "A", "B"], self.differences.iter().map(row));
        }
        let [a, b] = self.verdicts.map(Verdict::word);
        let note = self.other_problem().map_or(String::new(), |key| {
            format!(
                "note: A and B solve different problems ({key});\n      ratios of their times are not ratios of speed\n"
            )
        });
        text + &format!("\nshort: below {:.0} % of both totals, not judged\nA {a}, B {b}\n{note}", 100.0 * SHARE)
    }
}

/// A value cut to `most` characters, without control characters; numbers to six digits.
fn shown(text: &str, most: usize) -> String {
    if let Ok(number) = text.parse::<f64>()
        && text.len() > 10
    {
        let is_plain = (1e-3..1e7).contains(&number.abs());
        return if is_plain { format!("{number:.6}") } else { format!("{number:.5e}") };
    }
    let text = printable(text);
    if text.chars().count() <= most {
        return text.into_owned();
    }
    text.chars().take(most - 3).chain("...".chars()).collect()
}

/// The settings and the provenance that differ.
fn differences(a: &Value, b: &Value) -> Vec<[String; 3]> {
    let [a, b] = [a, b].map(|report| {
        let mut flat = BTreeMap::new();
        flatten(report, String::new(), &mut flat);
        flat
    });
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let is_result = |key: &str| {
        let results = RESULTS.iter().any(|result| key.starts_with(result));
        // The course of Newton's iteration is told by its counts.
        results || key.starts_with("history") || key.starts_with("verdict") || key.ends_with("seconds")
    };
    let is_of_one = |key: &str| {
        let is_of_algorithm = OF_ALGORITHMS.iter().any(|of| key.starts_with(of));
        is_of_algorithm && (!a.contains_key(key) || !b.contains_key(key))
    };
    // What a preset chose stands among the strategies; where presets differ, that is said once.
    let presets = [&a, &b].map(|flat| flat.get("provenance.deck.run.preset"));
    let is_of_preset = |key: &str| {
        let Some(key_of_deck) = key.strip_prefix("provenance.deck.") else { return false };
        let is_auto = [&a, &b].iter().any(|flat| flat.get(key).is_some_and(|value| value == "auto"));
        let chosen = CHOSEN.iter().find(|[known, _]| *known == key_of_deck).map(|[_, key]| format!("strategies.{key}"));
        let is_told = chosen.is_some_and(|key| a.contains_key(&key) && b.contains_key(&key));
        is_auto && (is_told || presets[0] != presets[1])
    };
    let text = |value: Option<&String>| value.map_or("not given", String::as_str).to_string();
    let differs = keys
        .into_iter()
        .filter(|key| !is_result(key) && !is_of_one(key) && !is_of_preset(key) && a.get(*key) != b.get(*key));
    let name = |key: &str| printable(key.trim_start_matches("provenance.")).into_owned();
    differs.map(|key| [name(key), text(a.get(key)), text(b.get(key))]).collect()
}

/// The leaves of a value by their paths; a list of plain values is one leaf.
fn flatten(value: &Value, path: String, flat: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| flatten(value, below(key), flat)),
        Value::Array(list) if list.iter().any(Value::is_object) => {
            list.iter().enumerate().for_each(|(at, value)| flatten(value, below(&at.to_string()), flat));
        }
        Value::String(text) => drop(flat.insert(path, text.clone())),
        value => drop(flat.insert(path, value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(cg: f64, scan: f64, threads: usize) -> Value {
        json!({
            "schema_version": 1, "date": format!("day {cg}"), "threads": threads, "verified": cg < 5.0, "total_seconds": 10.0 + cg,
            "provenance": {"command": [cg], "build": {"commit": "abc", "features": ["a", "b"]}},
            "phases": [
                {"name": "scan", "seconds": scan},
                {"name": "cg", "seconds": cg, "spread": {"noisy": cg > 2.5}},
                {"name": "total", "seconds": 10.0 + cg},
            ],
        })
    }

    #[test]
    fn ratios_are_b_over_a_and_short_phases_are_not_judged() {
        let comparison = Comparison::new(&report(2.0, 0.1, 1), &report(3.0, 0.4, 2));
        let found: Vec<_> =
            comparison.phases.iter().map(|phase| (&*phase.name, phase.ratio(), phase.is_judged)).collect();
        assert_eq!(found, [("scan", Some(4.0), false), ("cg", Some(1.5), true), ("total", Some(13.0 / 12.0), true)]);
        let names = |limit| comparison.above(limit).iter().map(|phase| &*phase.name).collect::<Vec<_>>();
        assert_eq!((names(1.05), names(1.2), names(1.5)), (vec!["cg", "total"], vec!["cg"], vec![]));
        assert_eq!(comparison.differences, [["threads".to_string(), "1".into(), "2".into()]]);
        assert!(comparison.phases[1].is_noisy && comparison.table().contains("1.500  noisy"), "{}", comparison.table());
    }

    #[test]
    fn reports_of_other_problems_are_named() {
        let (mut a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
        (a["mesh"], b["mesh"]) = (json!({"nodes": [8, 8, 8]}), json!({"nodes": [8, 8, 8]}));
        assert_eq!(Comparison::new(&a, &b).other_problem(), None);
        b["mesh"]["nodes"][1] = 9.into();
        let comparison = Comparison::new(&a, &b);
        assert_eq!(comparison.other_problem(), Some("mesh.nodes"));
        assert!(comparison.table().contains("different problems (mesh.nodes)"), "{}", comparison.table());
    }

    #[test]
    fn a_phase_of_one_report_has_no_ratio_and_a_new_one_is_above() {
        let (a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
        b["phases"][0]["name"] = "sort".into();
        let comparison = Comparison::new(&a, &b);
        let names: Vec<&str> = comparison.phases.iter().map(|phase| &*phase.name).collect();
        assert_eq!(names, ["scan", "cg", "sort", "total"]);
        assert_eq!((comparison.phases[0].seconds, comparison.phases[0].ratio()), ([Some(1.0), None], None));
        assert_eq!(comparison.above(1.1).iter().map(|phase| &*phase.name).collect::<Vec<_>>(), ["sort"]);
        b["provenance"]["build"] = json!({"commit": "def", "features": ["a"]});
        let differences = Comparison::new(&a, &b).differences;
        assert_eq!(differences.len(), 2);
        assert_eq!(differences[1], ["build.features", "[\"a\",\"b\"]", "[\"a\"]"].map(String::from));
    }

    /// A phase that A has in no time has no ratio, and more time in B is above any.
    #[test]
    fn a_phase_of_no_time_in_a_is_above_in_b() {
        let comparison = Comparison::new(&report(2.0, 0.0, 1), &report(2.0, 4.0, 1));
        assert_eq!((comparison.phases[0].ratio(), comparison.phases[0].is_judged), (None, true));
        assert_eq!(comparison.above(9e9).iter().map(|phase| &*phase.name).collect::<Vec<_>>(), ["scan"]);
    }

    #[test]
    fn a_choice_left_to_a_preset_is_told_by_what_it_chose() {
        let run = |preset: &str, format: &str, forcing: &str, chosen: &str| {
            let deck = json!({"run": {"preset": preset}, "matrix": {"format": format}, "newton": {"forcing": forcing}});
            let mut report = report(2.0, 1.0, 1);
            report["provenance"]["deck"] = deck;
            report["strategies"] = json!({"format": chosen, "format_reason": format!("preset {preset}")});
            report
        };
        let found = |a: &Value, b: &Value| {
            Comparison::new(a, b).differences.into_iter().map(|[key, ..]| key).collect::<Vec<_>>()
        };
        let papers = run("papers", "crs", "fixed", "crs");
        assert_eq!(found(&papers, &run("fast", "auto", "auto", "crs")), ["deck.run.preset"]);
        assert_eq!(found(&papers, &run("fast", "auto", "auto", "pattern")), ["deck.run.preset", "strategies.format"]);
        let fast = run("fast", "auto", "auto", "crs");
        assert_eq!(found(&run("fast", "crs", "fixed", "crs"), &fast), ["deck.newton.forcing"]);
        assert_eq!(
            found(&papers, &run("papers", "pattern", "fixed", "pattern")),
            ["deck.matrix.format", "strategies.format"]
        );
    }

    #[test]
    fn values_leave_room_for_their_key() {
        let (mut a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
        let long = "v".repeat(40);
        (a["partition"], b["partition"]) = (json!({"x".repeat(40): long}), json!({"x".repeat(40): 1}));
        let table = Comparison::new(&a, &b).table();
        assert!(table.contains(&format!("{}...", "v".repeat(9))), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }

    #[test]
    fn keys_of_an_algorithm_are_compared_where_both_runs_used_it() {
        let (mut a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
        (a["pair_map"], b["pair_map"]) = (json!({"capacity": 8}), Value::Null);
        (a["levels"], b["levels"]) = (json!([{"rows": 27, "seconds": 0.5}, {"rows": 8}]), json!([]));
        a["strategies"] = json!({"contractions": {"data_field_scalar": 4}});
        assert_eq!(Comparison::new(&a, &b).differences, [[""; 3]; 0]);
        b["pair_map"] = json!({"capacity": 9});
        b["levels"] = json!([{"rows": 64, "seconds": 0.25}]);
        let differences = Comparison::new(&a, &b).differences;
        assert_eq!(
            differences,
            [["levels.0.rows", "27", "64"], ["pair_map.capacity", "8", "9"]].map(|row| row.map(String::from))
        );
    }

    #[test]
    fn a_verdict_is_verified_not_judged_or_not_verified() {
        let mut b = report(9.0, 1.0, 1);
        let verdict = |b: &Value| Comparison::new(&report(2.0, 1.0, 1), b).verdicts;
        assert_eq!(verdict(&b), [Verdict::Verified, Verdict::NotVerified]);
        (b["cg_iterations_asked"], b["verdict"]) = (20.into(), json!(["not asked: a number was given"]));
        assert_eq!(verdict(&b)[1], Verdict::NotJudged);
        assert!(Comparison::new(&b, &b).table().ends_with("\nA NOT JUDGED, B NOT JUDGED\n"));
        b["verdict"] = json!(["CG broke down"]);
        assert_eq!(verdict(&b)[1], Verdict::NotVerified);
    }

    #[test]
    fn keys_and_values_cannot_steer_a_terminal() {
        let (a, mut b) = (report(2.0, 1.0, 1), report(2.0, 1.0, 1));
        b["nodes\u{1b}]0;x\u{7}"] = json!("\u{1b}[2J\n\u{202e}");
        let comparison = Comparison::new(&a, &b);
        let text = comparison.table();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n') && text.contains("\\u{1b}[2J\\n"), "{text}");
        assert_eq!(comparison.other_problem(), Some("nodes\\u{1b}]0;x\\u{7}"));
    }

    /// Numbers of six digits, long texts cut, keys of one report.
    #[test]
    fn the_whole_table_is_as_by_hand() {
        let (mut a, mut b) = (report(2.0, 0.1, 1), report(3.0, 0.4, 2));
        (a["host"], b["host"]) = (json!("a-host-with-a-long-name"), json!("b"));
        (a["load"], b["load"]) = (json!(123456.7890123), json!(0.00012345678901));
        a["extra"] = json!(true);
        let lines = [
            "phase  A seconds  B seconds    B/A",
            "scan      0.1000     0.4000  4.000  short",
            "cg        2.0000     3.0000  1.500  noisy",
            "total    12.0000    13.0000  1.083",
            "",
            "differs                       A           B",
            "extra                      true   not given",
            "host     a-host-with-a-long-...           b",
            "load              123456.789012  1.23457e-4",
            "threads                       1           2",
            "",
            "short: below 5 % of both totals, not judged",
            "A VERIFIED, B VERIFIED",
        ];
        assert_eq!(Comparison::new(&a, &b).table(), lines.join("\n") + "\n");
    }
}
