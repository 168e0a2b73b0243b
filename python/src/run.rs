//! Whole runs of the program.

use crate::interrupt::Signals;
use minifenl::comm::Solo;
use minifenl::run::{Deck, solution};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// Report as JSON, points `[node, 3]` and field `[node, component]`.
type Outcome<'py> = (String, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// Runs a deck, TOML text. A signal whose handler raises an exception ends the run at its next event.
#[pyfunction]
pub fn run<'py>(py: Python<'py>, deck: &str) -> PyResult<Outcome<'py>> {
    let (report, points, field) = py.detach(|| {
        let signals = Signals::new();
        let run = || {
            let deck = Deck::parse("deck", deck)?;
            let found = solution(&deck, &Solo, &|_| signals.check())?;
            let report = serde_json::to_string(&found.report).map_err(|e| minifenl::Error::Invalid(e.to_string()))?;
            Ok((report, found.mesh.node_coord, found.field))
        };
        let found = run();
        signals.outcome(found)
    })?;
    // A signal since the last check.
    py.check_signals()?;
    let nodes = points.len();
    let components = field.len() / nodes.max(1);
    let points = PyArray1::from_vec(py, points.into_iter().flatten().collect()).reshape([nodes, 3])?;
    Ok((report, points, PyArray1::from_vec(py, field).reshape([nodes, components])?))
}
