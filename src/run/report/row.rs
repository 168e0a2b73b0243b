//! A report as one row of a CSV table (RFC 4180), for spreadsheets. The columns are the same for every run.

use super::Report;
use crate::fill::Kernel;
use crate::run::deck::FillDeck;

/// Phases whose seconds are columns.
const PHASES: [&str; 18] = [
    "connect",
    "kernels",
    "memory",
    "mesh",
    "graph",
    "setup",
    "residual",
    "nested",
    "fill",
    "boundary",
    "ghosts",
    "format",
    "preconditioner",
    "cg",
    "spmv",
    "apply",
    "halo",
    "verify",
];

impl Report {
    /// The names of the columns.
    pub fn csv_header() -> String {
        let names: Vec<String> = columns(None).into_iter().map(|(name, _)| name).collect();
        names.join(",")
    }

    /// The values of the columns. Empty where a number is not finite or was not measured.
    pub fn csv_row(&self) -> String {
        let values: Vec<String> = columns(Some(self)).into_iter().map(|(_, value)| quoted(&value)).collect();
        values.join(",")
    }
}

/// Names of the columns with the values of a report; without a report, values are empty.
fn columns(report: Option<&Report>) -> Vec<(String, String)> {
    let mut columns = Vec::new();
    let mut add = |name: &str, value: &dyn Fn(&Report) -> String| {
        columns.push((name.to_string(), report.map_or(String::new(), value)));
    };
    add("date", &|r| r.date.clone());
    add("version", &|r| r.version.into());
    add("commit", &|r| r.provenance.build.commit.clone());
    add("host", &|r| r.provenance.machine.host.clone());
    add("cpu", &|r| r.provenance.machine.cpu.clone());
    add("device", &|r| r.device.clone());
    add("ranks", &|r| r.ranks.to_string());
    add("threads", &|r| r.threads.to_string());
    add("nodes_x", &|r| r.mesh.nodes[0].to_string());
    add("nodes_y", &|r| r.mesh.nodes[1].to_string());
    add("nodes_z", &|r| r.mesh.nodes[2].to_string());
    add("nodes", &|r| r.nodes.to_string());
    for (axis, name) in ["size_x", "size_y", "size_z"].into_iter().enumerate() {
        add(name, &|r| number(Some(r.mesh.size[axis])));
    }
    add("map", &|r| r.mesh.map.clone());
    add("imbalance", &|r| number(Some(r.partition.imbalance_asked_percent)));
    add("problem", &|r| r.problem.name.to_string());
    add("t_min", &|r| number(r.problem.t_min));
    add("t_max", &|r| number(r.problem.t_max));
    add("advection", &|r| r.problem.advection.map_or(String::new(), |[x, y, z]| format!("{x} {y} {z}")));
    add("element", &|r| r.mesh.element.to_string());
    add("preset", &|r| r.provenance.deck.run.preset.to_string());
    add("graph", &|r| text(r.strategies.graph));
    add("scan", &|r| text(r.strategies.scan));
    add("fill", &|r| r.strategies.fill.to_string());
    add("kernel", &|r| text(r.strategies.kernel));
    add("workset", &|r| text(worksets(r).and_then(|fill| fill.workset)));
    add("layout", &|r| text(worksets(r).map(|fill| fill.layout)));
    add("variant", &|r| text(worksets(r).filter(|_| r.device != "cpu").map(|fill| fill.variant)));
    add("jacobian", &|r| r.provenance.deck.fill.jacobian.to_string());
    add("operator", &|r| r.strategies.operator.to_string());
    add("format", &|r| text(r.strategies.format));
    add("matrix", &|r| text(r.strategies.matrix_values));
    add("lanes", &|r| text((r.device != "cpu").then_some(r.provenance.deck.matrix.lanes)));
    add("solver", &|r| r.strategies.solver.to_string());
    add("cg", &|r| r.strategies.cg.clone());
    add("preconditioner", &|r| r.strategies.preconditioner.to_string());
    add("forcing", &|r| r.strategies.forcing.to_string());
    add("newton_tolerance", &|r| number(Some(r.provenance.deck.newton_tolerance(r.mesh.nodes))));
    add("newton_max", &|r| r.provenance.deck.newton.max_iterations.to_string());
    add("cg_tolerance", &|r| number(Some(r.provenance.deck.cg_tolerance())));
    add("cg_max", &|r| r.provenance.deck.cg.max_iterations.to_string());
    add("cg_iterations_asked", &|r| text(r.cg_iterations_asked));
    add("halo", &|r| r.strategies.halo.clone().unwrap_or_default());
    add("deterministic", &|r| r.deterministic.to_string());
    add("newton_iterations", &|r| r.newton_iterations.to_string());
    add("cg_iterations", &|r| r.cg_iterations.to_string());
    add("error_max", &|r| number(Some(r.error_max)));
    add("error_bound", &|r| number(Some(r.error_bound)));
    add("verified", &|r| r.verified.to_string());
    add("reason", &|r| r.reason.clone());
    add("verdict", &|r| r.verdict.join("; "));
    add("total_seconds", &|r| number(Some(r.total_seconds)));
    add("unknowns_per_second", &|r| number(Some(r.rating.unknowns_per_second)));
    add("cg_gflop_per_s", &|r| number(r.rating.cg_gflop_per_s));
    add("total_gflop_per_s", &|r| number(r.rating.total_gflop_per_s));
    add("triad_gb_per_s", &|r| number(r.triad_gb_per_s));
    add("peak_bytes", &|r| r.peak_bytes.to_string());
    for name in PHASES {
        let seconds = |r: &Report| r.phases.iter().find(|phase| phase.name == name).map(|phase| phase.seconds);
        add(&format!("{name}_seconds"), &|r| number(seconds(r)));
    }
    columns
}

/// Settings of worksets, where the run had some.
fn worksets(report: &Report) -> Option<&FillDeck> {
    (report.strategies.kernel == Some(Kernel::Intrepid)).then_some(&report.provenance.deck.fill)
}

/// Text of a value, empty without one.
fn text(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or(String::new(), |value| format!("{value:?}"))
}

/// Quotes a value that holds a comma, a quote or the end of a line.
pub fn quoted(value: &str) -> String {
    if value.contains([',', '"', '\n', '\r']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_value_for_each_column() {
        let mut report = crate::run::report::tests::sample();
        report.verdict = vec!["a, \"b\"".into(), "a later reason".into()];
        report.error_max = f64::NAN;
        report.mesh.size = [1.0, 0.5, 2.5];
        let (header, row) = (Report::csv_header(), report.csv_row());
        let names: Vec<&str> = header.split(',').collect();
        assert!(row.contains(",\"a, \"\"b\"\"; a later reason\","), "{row}");
        let values: Vec<String> =
            row.replace("\"a, \"\"b\"\"; a later reason\"", "verdict").split(',').map(String::from).collect();
        assert_eq!(names.len(), values.len());
        for (name, value) in [
            ("nodes_z", "3"),
            ("size_x", "1.0"),
            ("size_y", "0.5"),
            ("size_z", "2.5"),
            ("problem", "heat"),
            ("element", "hex8"),
            ("operator", "assembled"),
            ("format", "crs"),
            ("error_max", ""),
            ("total_seconds", "0.75"),
            ("graph_seconds", "0.5"),
            ("cg_seconds", ""),
        ] {
            assert_eq!(values[names.iter().position(|other| *other == name).unwrap()], value, "{name}");
        }
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)));
    }
}
