//! Forms: equations on a mesh, assembled again and again.

use crate::errors::exception;
use crate::graph::graph_of;
use crate::mesh::{Elements, Mesh};
use crate::pattern;
use crate::text::{self, Names, Task, TextAssembly};
use crate::threads::Pool;
use minifenl::element::equations::GivenEquation;
use minifenl::fill::{Given, GivenAssembly, Parts, Strategy};
use minifenl::space::Threads;
use minifenl::sparse::CrsGraph;
use minifenl::{Error, Result};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

/// An equation on a mesh, with its graph and the plan of its sums.
#[pyclass(frozen, module = "minifenl._minifenl")]
#[derive(Debug)]
pub struct Form {
    pub mesh: Arc<Elements>,
    graph: Arc<CrsGraph>,
    assembly: Mutex<Assembly>,
    pub pool: Arc<Pool>,
    /// Whether the gradient of each given field is read.
    gradients: Vec<bool>,
}

enum Assembly {
    Named(GivenAssembly),
    Text(Box<TextAssembly>),
}

impl Debug for Assembly {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Assembly")
    }
}

impl Assembly {
    fn run(
        &mut self,
        space: &Threads,
        mesh: &Elements,
        unknowns: &[f64],
        given: &[Given<'_>],
        task: Task<'_>,
    ) -> Result<()> {
        let coord = &mesh.node_coord;
        match (self, task) {
            (Assembly::Text(assembly), task) => assembly(space, coord, unknowns, given, task),
            (Assembly::Named(assembly), Task::Assemble(parts)) => {
                assembly.assemble(space, coord, unknowns, given, parts)
            }
            (Assembly::Named(assembly), Task::Multiply { x, fixed, y }) => {
                assembly.multiply(space, coord, unknowns, given, (x, fixed), y)
            }
        }
    }
}

/// A given field and where its values are: one number (`constant`), or those of `nodes`, `elements` or quadrature `points`.
type GivenArray<'py> = (String, PyReadonlyArray1<'py, f64>);

fn given<'a>(place: &str, values: &'a [f64]) -> Result<Given<'a>> {
    match (place, values) {
        ("constant", [value]) => Ok(Given::constant(value)),
        ("nodes", _) => Ok(Given::nodes(values)),
        ("elements", _) => Ok(Given::elements(values)),
        ("points", _) => Ok(Given::points(values)),
        _ => Err(Error::Invalid(format!("place {place}: expected constant, nodes, elements or points"))),
    }
}

#[pymethods]
impl Form {
    /// Plans the assembly of an equation by its name in the library.
    #[new]
    fn new(py: Python<'_>, mesh: &Mesh, equation: &str, threads: Option<usize>) -> PyResult<Self> {
        let equation: GivenEquation = equation.parse().map_err(exception)?;
        let (pool, mesh) = (Arc::new(Pool::new(threads)?), mesh.0.clone());
        let (threads, Elements { element, elem_node, .. }) = (pool.threads()?, &*mesh);
        let planned = py.detach(|| {
            let graph = graph_of(&threads, elem_node, equation.dofs())?;
            let strategy = Strategy::default();
            Ok((GivenAssembly::new(&threads, strategy, equation, *element, elem_node, &graph)?, graph.crs))
        });
        let (assembly, graph) = planned.map_err(exception)?;
        Ok(Form { mesh, graph, assembly: Mutex::new(Assembly::Named(assembly)), pool, gradients: vec![] })
    }

    /// Plans the assembly of flux and source of each unknown, as text; an empty one is zero. `coefficients` have 1 or 3 components.
    #[staticmethod]
    fn of_text(
        py: Python<'_>,
        mesh: &Mesh,
        unknowns: Vec<String>,
        flux: Vec<String>,
        source: Vec<String>,
        coefficients: Vec<(String, usize)>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let names = Names { unknowns, coefficients };
        let program = text::program(&names, &flux, &source).map_err(exception)?;
        let fields = names.coefficients.iter().map(|(_, components)| components).sum();
        let gradients = (0..fields).map(|field| program.reads_gradient(field)).collect();
        let (pool, mesh) = (Arc::new(Pool::new(threads)?), mesh.0.clone());
        let (threads, Elements { element, elem_node, .. }) = (pool.threads()?, &*mesh);
        let planned = py.detach(|| {
            let graph = graph_of(&threads, elem_node, names.unknowns.len())?;
            Ok((text::plan(&threads, program, *element, elem_node, &graph)?, graph.crs))
        });
        let (assembly, graph) = planned.map_err(exception)?;
        Ok(Form { mesh, graph, assembly: Mutex::new(Assembly::Text(assembly)), pool, gradients })
    }

    /// Whether the gradient of each given field is read, of an equation as text.
    #[getter]
    fn gradients(&self) -> Vec<bool> {
        self.gradients.clone()
    }

    /// Row offsets and columns, of 32 bits if the number of entries fits.
    fn pattern<'py>(&self, py: Python<'py>) -> [Bound<'py, PyAny>; 2] {
        pattern::arrays(py, &self.graph)
    }

    /// Overwrites values and residual at unknowns `[node, component]`, with the given fields of the equation.
    fn assemble(
        &self,
        py: Python<'_>,
        fields: Vec<GivenArray<'_>>,
        unknowns: PyReadonlyArray1<'_, f64>,
        mut values: PyReadwriteArray1<'_, f64>,
        mut residual: PyReadwriteArray1<'_, f64>,
    ) -> PyResult<()> {
        let (values, residual) = (values.as_slice_mut()?, residual.as_slice_mut()?);
        self.run(py, &fields, unknowns.as_slice()?, Task::Assemble(Parts::Values(values, residual)))
    }

    /// Overwrites y with the matrix at the unknowns times x, without storing it; unknowns whose item of `fixed` is not 0 have rows and
    /// columns of the unit matrix.
    fn multiply(
        &self,
        py: Python<'_>,
        fields: Vec<GivenArray<'_>>,
        unknowns: PyReadonlyArray1<'_, f64>,
        x: PyReadonlyArray1<'_, f64>,
        fixed: PyReadonlyArray1<'_, u8>,
        mut y: PyReadwriteArray1<'_, f64>,
    ) -> PyResult<()> {
        let (x, fixed, y) = (x.as_slice()?, fixed.as_slice()?, y.as_slice_mut()?);
        self.run(py, &fields, unknowns.as_slice()?, Task::Multiply { x, fixed, y: &mut *y })?;
        for (y, (&x, _)) in y.iter_mut().zip(x.iter().zip(fixed)).filter(|(_, (_, fixed))| **fixed != 0) {
            *y = x;
        }
        Ok(())
    }
}

impl Form {
    fn run(&self, py: Python<'_>, fields: &[GivenArray<'_>], unknowns: &[f64], task: Task<'_>) -> PyResult<()> {
        let threads = self.pool.threads()?;
        let mut of_call = Vec::with_capacity(fields.len());
        for (place, field) in fields {
            of_call.push(given(place, field.as_slice()?).map_err(exception)?);
        }
        let done = py.detach(|| {
            let mut assembly = self.assembly.lock().unwrap_or_else(PoisonError::into_inner);
            assembly.run(&threads, &self.mesh, unknowns, &of_call, task)
        });
        done.map_err(exception)
    }
}
