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
    /// The verdicts on A and B: [`VERIFIED`], [`NOT_JUDGED`] or [`NOT_VERIFIED`].
    pub verdicts: [&'static str; 2],
}

/// The verdict on a run that is solved and verified.
const VERIFIED: &str = "VERIFIED";
/// The verdict on a run that was asked for a number of iterations, not for a solution.
const NOT_JUDGED: &str = "NOT JUDGED";
/// The verdict on a run that has failed.
pub const NOT_VERIFIED: &str = "NOT VERIFIED";

/// Returns the verdict of a report.
fn verdict(report: &Value) -> &'static str {
    let is_asked = report["cg_iterations_asked"].is_number();
    // A run that broke off has failed, whatever was asked for.
    let is_failed = report["verdict"][0].as_str().is_none_or(|why| !why.starts_with("not asked"));
    match report["verified"] == true {
        true => VERIFIED,
        false if is_asked && !is_failed => NOT_JUDGED,
        false => NOT_VERIFIED,
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
            verdicts: reports.map(verdict),
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
        let [a, b] = self.verdicts;
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
#[path = "comparison/tests.rs"]
mod tests;
