//! Sparsity patterns as arrays of SciPy, and back.

use minifenl::Result;
use minifenl::sparse::CrsGraph;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// Indices of either width, contiguous.
#[derive(FromPyObject)]
pub enum Indices<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

/// Returns row offsets and columns, of 32 bits if the number of entries fits.
pub fn arrays<'py>(py: Python<'py>, graph: &CrsGraph) -> [Bound<'py, PyAny>; 2] {
    let (offsets, columns) = (graph.row_map(), graph.entries());
    if i32::try_from(graph.nnz()).is_ok() && i32::try_from(graph.columns()).is_ok() {
        let offsets = PyArray1::from_iter(py, offsets.iter().map(|&at| at as i32));
        [offsets.into_any(), PyArray1::from_iter(py, columns.iter().map(|&column| column as i32)).into_any()]
    } else {
        let offsets = PyArray1::from_iter(py, offsets.iter().map(|&at| at as i64));
        [offsets.into_any(), PyArray1::from_iter(py, columns.iter().map(|&column| i64::from(column))).into_any()]
    }
}

/// The same without the interpreter.
#[derive(Clone, Copy)]
pub enum IndexSlice<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

impl Indices<'_> {
    pub fn slice(&self) -> PyResult<IndexSlice<'_>> {
        Ok(match self {
            Indices::Narrow(array) => IndexSlice::Narrow(array.as_slice()?),
            Indices::Wide(array) => IndexSlice::Wide(array.as_slice()?),
        })
    }
}

/// Returns the graph of a square matrix with sorted rows.
pub fn graph(offsets: IndexSlice<'_>, columns: IndexSlice<'_>) -> Result<CrsGraph> {
    let offsets: Vec<u64> = match offsets {
        IndexSlice::Narrow(offsets) => offsets.iter().map(|&at| at as u64).collect(),
        IndexSlice::Wide(offsets) => offsets.iter().map(|&at| at as u64).collect(),
    };
    let columns = match columns {
        IndexSlice::Narrow(columns) => columns.iter().map(|&column| column as u32).collect(),
        // One that does not fit is out of range of the rows, too.
        IndexSlice::Wide(columns) => columns.iter().map(|&column| u32::try_from(column).unwrap_or(u32::MAX)).collect(),
    };
    let rows = offsets.len().saturating_sub(1);
    CrsGraph::new(offsets, columns, rows)
}
