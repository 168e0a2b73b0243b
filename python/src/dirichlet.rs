//! Dirichlet conditions on a matrix of SciPy.

use crate::errors::exception;
use crate::pattern::{self, Indices};
use crate::threads::Pool;
use minifenl::fill::Dirichlet;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;

/// Eliminates the unknowns whose item of `fixed` is not 0, in place: values of the matrix and right-hand side b. `imposed` has a value
/// per unknown.
#[pyfunction]
pub fn dirichlet(
    py: Python<'_>,
    offsets: Indices<'_>,
    columns: Indices<'_>,
    mut values: PyReadwriteArray1<'_, f64>,
    mut b: PyReadwriteArray1<'_, f64>,
    fixed: PyReadonlyArray1<'_, u8>,
    imposed: PyReadonlyArray1<'_, f64>,
    threads: Option<usize>,
) -> PyResult<()> {
    let threads = Pool::new(threads)?.threads()?;
    let (offsets, columns) = (offsets.slice()?, columns.slice()?);
    let (values, b) = (values.as_slice_mut()?, b.as_slice_mut()?);
    let (fixed, imposed) = (fixed.as_slice()?, imposed.as_slice()?);
    let applied = py.detach(|| {
        let graph = pattern::graph(offsets, columns)?;
        Dirichlet::new(&threads, &graph, fixed)?.apply_to_values(&threads, &graph, (values, b), imposed)
    });
    applied.map_err(exception)
}
