//! Reports against `docs/report.schema.json`: those of runs are valid, and reports that lack a key or have another are not.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

/// The compiled schema.
struct Schema(Schemas, SchemaIndex);

impl Schema {
    fn read() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let text = include_str!("../../docs/report.schema.json");
        compiler.add_resource("report", serde_json::from_str(text).unwrap()).unwrap();
        let index = compiler.compile("report", &mut schemas).unwrap();
        Schema(schemas, index)
    }

    /// What is wrong with a value; empty if nothing is.
    fn faults(&self, value: &Value) -> String {
        self.0.validate(value, self.1).err().map_or(String::new(), |error| format!("{error:#}"))
    }
}

/// Runs the program; returns its report as text, JSON or YAML by the name of the file.
fn report(name: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let nodes: &[&str] = if flags.contains(&"--nodes") { &[] } else { &["--nodes", "6x5x9"] };
    let fixed = ["--device", "cpu", "--threads", "2", "--report", path.to_str().unwrap()];
    let (_, out, err) = support::run("minifenl", &[&fixed[..], nodes, flags].concat());
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{flags:?}: {error}: {out}{err}"))
}

#[test]
fn reports_of_runs_are_valid() {
    let schema = Schema::read();
    for flags in [
        &[][..],
        &["--fill", "gather", "--graph", "sort"],
        &["--fill", "scatter", "--graph", "dashmap", "--kernel", "table"],
        &["--kernel", "intrepid", "--workset", "40", "--layout", "right"],
        // Not converged, not finite, nothing to solve.
        &["--cg-max", "3"],
        &["--newton-max", "1"],
        &["--t-min", "1e-200", "--t-max", "2e-200"],
        &["--problem", "elasticity", "--element", "tet10", "--nodes", "5x7x5"],
        &["--problem", "minife", "--element", "hex20", "--nodes", "9"],
        &["--nodes", "9x9x2", "--deterministic", "--cg-variant", "single-reduction"],
        &["--operator", "matrix-free"],
    ] {
        let value = serde_json::from_str(&report("r.json", flags)).unwrap();
        assert_eq!(schema.faults(&value), "", "{flags:?}");
    }
    // Numbers of a bandwidth measurement, which takes long on machines with large caches.
    let mut value: Value = serde_json::from_str(&report("r.json", &[])).unwrap();
    value["triad_gb_per_s"] = 20.5.into();
    (value["phases"][0]["triad_fraction"], value["rating"]["cg_triad_fraction"]) = (0.5.into(), 0.75.into());
    assert_eq!(schema.faults(&value), "");
    // Reports that were written before levels had ranks.
    let mut value: Value = serde_json::from_str(&report("r.json", &["--preconditioner", "mg"])).unwrap();
    assert_eq!(schema.faults(&value), "");
    let levels = value["levels"].as_array_mut().unwrap();
    assert!(
        levels.iter_mut().all(|level| level.as_object_mut().unwrap().remove("ranks").is_some()) && !levels.is_empty()
    );
    assert_eq!(schema.faults(&value), "");
    let value: Value = serde_yaml_ng::from_str(&report("r.yaml", &[])).unwrap();
    assert_eq!(schema.faults(&value), "");
}

/// Takes each key away, one at a time, and gives each object one more.
#[test]
fn a_key_that_is_missing_or_unknown_is_a_fault() {
    let schema = Schema::read();
    let whole: Value = serde_json::from_str(&report("r.json", &[])).unwrap();
    let mut objects = vec![];
    pointers(&whole, String::new(), &mut objects);
    // The deck has a description of its own; one phase stands for all, and one spread.
    let is_one = |pointer: &str| !pointer.starts_with("/phases/") || pointer == "/phases/0";
    let mut spreads = objects.iter().filter(|pointer| pointer.ends_with("/spread")).cloned();
    let spread = spreads.next().unwrap();
    // The contractions that a kernel does not call have no key.
    objects.retain(|pointer| pointer != "/strategies/contractions");
    objects.retain(|pointer| !pointer.starts_with("/provenance/deck") && (is_one(pointer) || *pointer == spread));
    assert!(objects.len() > 12, "{objects:?}");
    for pointer in objects {
        let keys: Vec<String> = whole.pointer(&pointer).unwrap().as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut less = whole.clone();
            less.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().remove(&key);
            assert_ne!(schema.faults(&less), "", "{pointer}/{key} is not required");
        }
        let mut more = whole.clone();
        more.pointer_mut(&pointer).unwrap()["one_more"] = 1.into();
        assert_ne!(schema.faults(&more), "", "{pointer} takes any key");
    }
    for (pointer, wrong) in [
        ("/schema_version", Value::from(2)),
        ("/date", "yesterday".into()),
        ("/verified", "yes".into()),
        ("/nodes", (-1).into()),
        ("/phases/0/gb_per_s", 0.0.into()),
        ("/phases/0/seconds", Value::Null),
        ("/strategies/fill", "auto".into()),
    ] {
        let mut value = whole.clone();
        *value.pointer_mut(pointer).unwrap() = wrong;
        assert_ne!(schema.faults(&value), "", "{pointer}");
    }
}

/// The places of all objects in a value.
fn pointers(value: &Value, place: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, format!("{place}/{key}"), found));
            found.push(place);
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| pointers(value, format!("{place}/{at}"), found));
        }
        _ => {}
    }
}
