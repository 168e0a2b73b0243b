//! Forms: equations on a mesh, assembled again and again.

use crate::errors::exception;
use crate::graph::graph_of;
use crate::mesh::{Elements, Mesh};
use crate::pattern;
use crate::text::{self, Names};
use crate::threads::Pool;
use minifenl::element::equations::GivenEquation;
use minifenl::fill::{Given, GivenAssembly, Parts, Strategy, WeakForm};
use minifenl::space::Threads;
use minifenl::sparse::CrsGraph;
use minifenl::{Error, Result};
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
    /// Given fields that the assembly takes at least.
    fields: usize,
    /// Whether the gradient of each given field is read.
    gradients: Vec<bool>,
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
        Self::plan(py, mesh, equation.into(), equation.dofs(), 0, vec![], threads)
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
        let fields: usize = names.coefficients.iter().map(|(_, components)| components).sum();
        let gradients = (0..fields).map(|field| program.reads_gradient(field)).collect();
        let (form, fields) = text::weak_form(program, fields).map_err(exception)?;
        Self::plan(py, mesh, form, names.unknowns.len(), fields, gradients, threads)
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
        self.run(py, &fields, unknowns.as_slice()?, |threads, assembly, unknowns, given| {
            assembly.assemble(threads, &self.mesh.node_coord, unknowns, given, Parts::Values(values, residual))
        })
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
        self.run(py, &fields, unknowns.as_slice()?, |threads, assembly, unknowns, given| {
            assembly.multiply(threads, &self.mesh.node_coord, unknowns, given, (x, fixed), y)
        })?;
        for (y, (&x, _)) in y.iter_mut().zip(x.iter().zip(fixed)).filter(|(_, (_, fixed))| **fixed != 0) {
            *y = x;
        }
        Ok(())
    }
}

impl Form {
    /// Plans the assembly of a weak form that takes at least so many given fields.
    fn plan(
        py: Python<'_>,
        mesh: &Mesh,
        form: WeakForm,
        dofs: usize,
        fields: usize,
        gradients: Vec<bool>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let (pool, mesh) = (Arc::new(Pool::new(threads)?), mesh.0.clone());
        let (threads, Elements { element, elem_node, .. }) = (pool.threads()?, &*mesh);
        let planned = py.detach(|| {
            let graph = graph_of(&threads, elem_node, dofs)?;
            let strategy = Strategy::default();
            Ok((GivenAssembly::new(&threads, strategy, form, *element, elem_node, &graph)?, graph.crs))
        });
        let (assembly, graph) = planned.map_err(exception)?;
        Ok(Form { mesh, graph, assembly: Mutex::new(assembly), pool, fields, gradients })
    }

    /// Calls `work` with the assembly, the unknowns and the given fields, without the lock of the interpreter.
    fn run(
        &self,
        py: Python<'_>,
        fields: &[GivenArray<'_>],
        unknowns: &[f64],
        work: impl Send + FnOnce(&Threads, &mut GivenAssembly, &[f64], &[Given<'_>]) -> Result<()>,
    ) -> PyResult<()> {
        let threads = self.pool.threads()?;
        let mut of_call = Vec::with_capacity(fields.len().max(self.fields));
        for (place, field) in fields {
            of_call.push(given(place, field.as_slice()?).map_err(exception)?);
        }
        of_call.resize(of_call.len().max(self.fields), Given::constant(&0.0));
        let done = py.detach(|| {
            let mut assembly = self.assembly.lock().unwrap_or_else(PoisonError::into_inner);
            work(&threads, &mut assembly, unknowns, &of_call)
        });
        done.map_err(exception)
    }
}
