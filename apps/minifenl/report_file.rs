//! Reads a report as JSON and refuses what is none, so that times can be compared and names shown.

use minifenl::error::printable;
use minifenl::files::read_text;
use minifenl::run::report::SCHEMA_VERSION;
use minifenl::{Error, Result};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The first words of a table of `minifenl sweep`.
const SWEEP: &str = "value,trial,";
const EXPECTED: &str = "expected the report of a run (--report FILE.json)";

/// Largest size of a report in bytes; those of this program have some 20 KiB, and 200 bytes per rank that is placed unlike others.
const LARGEST: u64 = 1 << 22;
/// Most phases of a report.
const MOST_PHASES: usize = 1000;
/// Longest path of a key, and name of a phase, in bytes.
const LONGEST_PATH: usize = 200;

/// Reads a report that `minifenl --report` wrote as JSON.
///
/// # Errors
/// [`Error::File`] with the path: a file that cannot be read, has more than 4 MiB, is no report, or has keys of another version; times
/// below 0 or of nothing, no phases, names of phases that a terminal would not show as they are.
pub fn read(path: &Path) -> Result<Value> {
    let failed = |reason: String| Error::File { path: path.display().to_string(), reason };
    let text = read_text(path, LARGEST)?;
    let report: Value = serde_json::from_str(&text).map_err(|error| match text.starts_with(SWEEP) {
        true => failed(format!("a table of sweep: {EXPECTED}")),
        false => failed(format!("no JSON; give a report of --report FILE.json: {error}")),
    })?;
    if ["passed", "failed", "checks"].iter().all(|key| report.get(key).is_some()) {
        return Err(failed(format!("checks of verify: {EXPECTED}")));
    }
    match report.get("schema_version") {
        Some(version) if *version == SCHEMA_VERSION => {}
        Some(version) => return Err(failed(format!("schema_version is {version}, expected {SCHEMA_VERSION}"))),
        None => return Err(failed("no report: key `schema_version` is missing".into())),
    }
    check(&report).map(|()| report).map_err(|reason| failed(format!("no report: {reason}")))
}

/// Says why a value is no report whose times can be compared and shown, in O(leaves).
fn check(report: &Value) -> Result<(), String> {
    let phases = report["phases"].as_array().map_or(&[][..], Vec::as_slice);
    if phases.is_empty() || phases.len() > MOST_PHASES {
        return Err(format!("expected `phases`, 1 to {MOST_PHASES} of them"));
    }
    let mut names = BTreeSet::new();
    for (at, phase) in phases.iter().enumerate() {
        let name = phase["name"].as_str().filter(|name| is_name(name) && names.insert(*name));
        let seconds = phase["seconds"].as_f64().filter(|seconds| *seconds >= 0.0);
        if name.is_none() || seconds.is_none() {
            return Err(format!("phase {at}: expected a `name` of its own, and `seconds` of 0 or more"));
        }
    }
    if !report["total_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0) || !names.contains("total") {
        return Err("expected `total_seconds` above 0, and the phase `total`".into());
    }
    match is_flat(report, 0) {
        true => Ok(()),
        false => Err(format!("expected keys of at most {LONGEST_PATH} characters with those around them")),
    }
}

/// Whether a phase may have this name: that of a report is short, and shown as it is.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_PATH && printable(name) == name
}

/// Whether the paths of all leaves below a value whose own path has `length` bytes are short.
fn is_flat(value: &Value, length: usize) -> bool {
    match value {
        Value::Object(map) => map.iter().all(|(key, value)| is_flat(value, length + key.len() + 1)),
        // Indices have no more than 7 digits in a file of LARGEST bytes.
        Value::Array(list) => list.iter().all(|value| is_flat(value, length + 8)),
        _ => length <= LONGEST_PATH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        let phases = ["scan", "cg", "total"].map(|name| json!({"name": name, "seconds": 1.0}));
        json!({"schema_version": 1, "threads": 1, "verified": true, "total_seconds": 11.0, "phases": phases})
    }

    #[test]
    fn what_is_no_report_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        for (text, words) in [
            ("{", "no JSON"),
            ("value,trial,graph_us_per_node\n", "r.json: a table of sweep: expected the report of a run"),
            (
                "{\"passed\": 3, \"failed\": 0, \"checks\": []}",
                "r.json: checks of verify: expected the report of a run",
            ),
            ("{}", "key `schema_version` is missing"),
            ("{\"schema_version\": 2}", "schema_version is 2, expected 1"),
            ("{\"schema_version\": 1, \"phases\": [{}], \"total_seconds\": 1}", "phase 0: expected a `name`"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("r.json: ") && error.contains(words), "{error}");
        }
        // Changes of a good report: pointer, value, what is said.
        let deep = (0..9).fold(json!(1), |value, _| json!({"k".repeat(30): value}));
        let lists = (0..25).fold(json!(1), |value, _| json!([value]));
        let list = |length: usize| json!(vec![json!({"name": "p", "seconds": 1}); length]);
        for (pointer, value, words) in [
            ("/total_seconds", json!(0), "expected `total_seconds` above 0"),
            ("/total_seconds", json!(-1.5), "expected `total_seconds` above 0"),
            ("/total_seconds", Value::Null, "expected `total_seconds` above 0"),
            ("/phases", json!([]), "expected `phases`, 1 to 1000"),
            ("/phases", json!({}), "expected `phases`, 1 to 1000"),
            ("/phases", list(1001), "expected `phases`, 1 to 1000"),
            ("/phases", list(2), "phase 1: expected a `name` of its own"),
            ("/phases/1/seconds", json!(-1e-3), "phase 1: expected"),
            ("/phases/1/seconds", json!("1"), "phase 1: expected"),
            ("/phases/2/name", json!("all"), "and the phase `total`"),
            ("/phases/0/name", json!(""), "phase 0: expected"),
            ("/phases/0/name", json!("scan\u{1b}[31m"), "phase 0: expected"),
            ("/phases/0/name", json!("n".repeat(65_536)), "phase 0: expected"),
            ("/threads", deep, "expected keys of at most 200 characters"),
            ("/threads", lists, "expected keys of at most 200 characters"),
        ] {
            let mut changed = report();
            *changed.pointer_mut(pointer).unwrap() = value;
            std::fs::write(&path, changed.to_string()).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("r.json: no report: ") && error.contains(words), "{pointer}: {error}");
        }
        std::fs::write(&path, " ".repeat((4 << 20) + 1)).unwrap();
        assert!(read(&path).unwrap_err().to_string().ends_with("larger than 4 MiB"));
        std::fs::write(&path, report().to_string()).unwrap();
        assert_eq!(read(&path).unwrap(), report());
    }
}
