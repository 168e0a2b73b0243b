//! Meshes of one element type.

use crate::errors::exception;
use crate::threads::Pool;
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{FieldOn, check_elements};
use minifenl::mesh::{ElemNode, boundary_faces};
use minifenl::{Error, Result};
use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;

/// Nodes and elements.
#[derive(Debug)]
pub struct Elements {
    pub element: ElementType,
    pub elem_node: ElemNode,
    pub node_coord: Vec<[f64; 3]>,
}

impl Elements {
    pub fn field(&self) -> FieldOn<'_, minifenl::space::HostMemory> {
        FieldOn { element: self.element, elem_node: &self.elem_node, node_coord: &self.node_coord }
    }
}

/// A mesh whose elements are checked.
#[pyclass(frozen, module = "minifenl._minifenl")]
#[derive(Debug)]
pub struct Mesh(pub Arc<Elements>);

/// Returns the volume with so many nodes.
fn volume(nodes: usize) -> Result<ElementType> {
    let found = ElementType::volumes().find(|(element, _)| element.nodes() == nodes);
    found.map(|(element, _)| element).ok_or_else(|| {
        let known = ElementType::volumes().map(|(element, name)| format!("{} ({name})", element.nodes()));
        let known = known.collect::<Vec<_>>().join(", ");
        Error::Invalid(format!("cells: have {nodes} nodes each, expected one of {known}"))
    })
}

#[pymethods]
impl Mesh {
    /// Takes nodes `[node, 3]` and elements `[elem, nodes per element]`.
    #[new]
    fn new(
        py: Python<'_>,
        points: PyReadonlyArray2<'_, f64>,
        cells: PyReadonlyArray2<'_, u32>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let element = volume(cells.shape()[1]).map_err(exception)?;
        let (points, cells, threads) = (points.as_slice()?, cells.as_slice()?, Pool::new(threads)?.threads()?);
        let made = py.detach(|| {
            let node_coord = points.as_chunks::<3>().0.to_vec();
            let elem_node = ElemNode::with_repeats(cells.to_vec(), element.nodes(), node_coord.len())?;
            let mesh = Elements { element, elem_node, node_coord };
            check_elements(&threads, mesh.field())?;
            Ok(Mesh(Arc::new(mesh)))
        });
        made.map_err(exception)
    }

    /// Name of the element type.
    #[getter]
    fn element(&self) -> String {
        self.0.element.to_string()
    }

    /// Quadrature points of an element.
    #[getter]
    fn points_per_elem(&self) -> usize {
        self.0.element.points()
    }

    /// Coordinates of the quadrature points, `[elem, point, 3]`.
    fn quadrature_points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let Elements { element, elem_node, node_coord } = &*self.0;
        let (tables, elems) = (BasisTables::of(*element), elem_node.elem_count());
        let points = py.detach(|| {
            let of_elem = |elem: usize| {
                let nodes = elem_node.elem(elem);
                tables.values.chunks_exact(tables.nodes).flat_map(move |phi| {
                    let at =
                        |axis: usize| nodes.iter().zip(phi).map(|(&m, phi)| phi * node_coord[m as usize][axis]).sum();
                    [at(0), at(1), at(2)]
                })
            };
            (0..elems).flat_map(of_elem).collect::<Vec<f64>>()
        });
        PyArray1::from_vec(py, points).reshape([elems, tables.weights.len(), 3])
    }

    /// Nodes on the faces of one element only, ascending.
    fn boundary_nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let nodes = py.detach(|| {
            let faces = boundary_faces(self.0.element, &self.0.elem_node, &|_| true)?;
            let nodes = faces.iter().flat_map(|faces| faces.elem_node.as_slice()).map(|&node| i64::from(node));
            let mut nodes: Vec<i64> = nodes.collect();
            nodes.sort_unstable();
            nodes.dedup();
            Ok(nodes)
        });
        Ok(PyArray1::from_vec(py, nodes.map_err(exception)?))
    }
}
