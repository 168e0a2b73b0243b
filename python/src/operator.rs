//! Jacobians of equations with constant coefficients, applied without a matrix.

use crate::errors::exception;
use crate::form::Form;
use crate::mesh::Elements;
use crate::threads::Pool;
use minifenl::Error;
use minifenl::element::equations::{Heat, Jacobian, Model, ModelEquation, Poisson, Scalar, WaveElasticity};
use minifenl::fill::{ApplyModel, HostOperator, Strategy};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The Jacobian of a model on a mesh at given unknowns.
#[pyclass(frozen, module = "minifenl._minifenl")]
#[derive(Debug)]
pub struct Operator {
    mesh: Arc<Elements>,
    operator: Mutex<HostOperator>,
    pool: Arc<Pool>,
}

/// Returns the model of an equation with these constants.
fn model(equation: &str, constants: &[f64]) -> Result<Model, Error> {
    let equation = match (equation, constants) {
        ("poisson", []) => ModelEquation::Scalar(Scalar::Poisson(Poisson { load: 0.0 })),
        ("heat", &[conductivity]) => ModelEquation::Scalar(Scalar::Heat(Heat { conductivity })),
        ("elasticity", &[lambda, mu]) => {
            let unused = [0.0; 3];
            ModelEquation::Elastic(WaveElasticity { lambda, mu, amplitude: unused, wave: unused, phase: 0.0 })
        }
        _ => {
            let expected = "expected poisson, heat or elasticity";
            return Err(Error::Invalid(format!("{equation}: has no operator without a matrix; {expected}")));
        }
    };
    Ok(Model { equation, jacobian: Jacobian::Analytic })
}

#[pymethods]
impl Operator {
    /// Prepares products on mesh and threads of a form, at unknowns `[node, component]`; `fixed` is 0 for each free one.
    #[new]
    fn new(
        py: Python<'_>,
        form: &Form,
        equation: &str,
        constants: Vec<f64>,
        unknowns: PyReadonlyArray1<'_, f64>,
        fixed: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<Self> {
        let model = model(equation, &constants).map_err(exception)?;
        let (pool, mesh) = (form.pool.clone(), form.mesh.clone());
        let (threads, unknowns, fixed) = (pool.threads()?, unknowns.as_slice()?, fixed.as_slice()?);
        let made = py.detach(|| {
            let (owned, mut residual) = (mesh.node_coord.len(), vec![0.0; unknowns.len()]);
            let made = threads.model_operator(Strategy::default(), &model, mesh.field(), owned, fixed.to_vec());
            let mut operator = made?;
            threads.linearise(&mut operator, &mesh.node_coord, unknowns, &mut residual)?;
            Ok(operator)
        });
        Ok(Operator { operator: Mutex::new(made.map_err(exception)?), mesh, pool })
    }

    /// Overwrites y with J x.
    fn apply(&self, py: Python<'_>, x: PyReadonlyArray1<'_, f64>, mut y: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
        let (threads, x, y) = (self.pool.threads()?, x.as_slice()?, y.as_slice_mut()?);
        let applied = py.detach(|| {
            let mut operator = self.operator.lock().unwrap_or_else(PoisonError::into_inner);
            threads.apply_model(&mut operator, &self.mesh.node_coord, x, y, None)
        });
        applied.map_err(exception)
    }
}
