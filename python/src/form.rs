//! Forms: equations on a mesh, assembled again and again.

use crate::errors::exception;
use crate::mesh::{Elements, Mesh};
use crate::pattern;
use crate::threads::Pool;
use minifenl::element::equations::GivenEquation;
use minifenl::fill::{Given, GivenAssembly, Parts, Strategy};
use minifenl::graph;
use minifenl::sparse::CrsGraph;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// An equation on a mesh, with its graph and the plan of its sums.
#[pyclass(frozen, module = "minifenl._minifenl")]
#[derive(Debug)]
pub struct Form {
    pub mesh: Arc<Elements>,
    graph: Arc<CrsGraph>,
    assembly: Mutex<GivenAssembly>,
    pub pool: Arc<Pool>,
}

#[pymethods]
impl Form {
    /// Plans the assembly of an equation by its name in the library.
    #[new]
    fn new(py: Python<'_>, mesh: &Mesh, equation: &str, threads: Option<usize>) -> PyResult<Self> {
        let equation: GivenEquation = equation.parse().map_err(exception)?;
        let (pool, mesh) = (Arc::new(Pool::new(threads)?), mesh.0.clone());
        let (threads, Elements { element, elem_node, node_coord }) = (pool.threads()?, &*mesh);
        let planned = py.detach(|| {
            let mut graph = graph::build(&threads, elem_node, node_coord.len(), graph::Strategy::default())?;
            if equation.dofs() > 1 {
                graph = graph.with_dofs(&threads, equation.dofs())?;
            }
            let strategy = Strategy::default();
            Ok((GivenAssembly::new(&threads, strategy, equation, *element, elem_node, &graph)?, graph.crs))
        });
        let (assembly, graph) = planned.map_err(exception)?;
        Ok(Form { mesh, graph, assembly: Mutex::new(assembly), pool })
    }

    /// Row offsets and columns, of 32 bits if the number of entries fits.
    fn pattern<'py>(&self, py: Python<'py>) -> [Bound<'py, PyAny>; 2] {
        pattern::arrays(py, &self.graph)
    }

    /// Overwrites values and residual at unknowns `[node, component]`. A coefficient is one number, or one per element.
    fn assemble(
        &self,
        py: Python<'_>,
        coefficients: Vec<PyReadonlyArray1<'_, f64>>,
        unknowns: PyReadonlyArray1<'_, f64>,
        mut values: PyReadwriteArray1<'_, f64>,
        mut residual: PyReadwriteArray1<'_, f64>,
    ) -> PyResult<()> {
        let threads = self.pool.threads()?;
        let coefficients = coefficients.iter().map(|given| given.as_slice()).collect::<Result<Vec<_>, _>>()?;
        let (unknowns, values, residual) = (unknowns.as_slice()?, values.as_slice_mut()?, residual.as_slice_mut()?);
        let assembled = py.detach(|| {
            let given = coefficients.iter().map(|&given| match given {
                [constant] => Given::constant(constant),
                _ => Given::elements(given),
            });
            let given: Vec<Given<'_>> = given.collect();
            let mut assembly = self.assembly.lock().unwrap_or_else(PoisonError::into_inner);
            let parts = Parts::Values(values, residual);
            assembly.assemble(&threads, &self.mesh.node_coord, unknowns, &given, parts)
        });
        assembled.map_err(exception)
    }
}
