//! Graphs of element tables.

use crate::errors::exception;
use crate::pattern;
use crate::threads::Pool;
use minifenl::Result;
use minifenl::graph::{self, Graph as ElementGraph};
use minifenl::mesh::ElemNode;
use minifenl::space::Threads;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A table of elements with its pattern.
#[pyclass(frozen, module = "minifenl._minifenl")]
#[derive(Debug)]
pub struct Graph(pub ElementGraph);

/// Returns the graph of a table with so many unknowns per node.
pub fn graph_of(threads: &Threads, elem_node: &ElemNode, dofs: usize) -> Result<ElementGraph> {
    let graph = graph::build(threads, elem_node, elem_node.node_count(), graph::Strategy::default())?;
    if dofs > 1 { graph.with_dofs(threads, dofs) } else { Ok(graph) }
}

#[pymethods]
impl Graph {
    /// Takes elements `[elem, nodes per element]`.
    #[new]
    fn new(
        py: Python<'_>,
        cells: PyReadonlyArray2<'_, u32>,
        nodes: usize,
        dofs: usize,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let (per_elem, cells, threads) = (cells.shape()[1], cells.as_slice()?, Pool::new(threads)?.threads()?);
        let made = py.detach(|| {
            let elem_node = ElemNode::with_repeats(cells.to_vec(), per_elem, nodes)?;
            graph_of(&threads, &elem_node, dofs)
        });
        Ok(Graph(made.map_err(exception)?))
    }

    /// Row offsets and columns, of 32 bits if the number of entries fits.
    fn pattern<'py>(&self, py: Python<'py>) -> [Bound<'py, PyAny>; 2] {
        pattern::arrays(py, &self.0.crs)
    }
}
