//! The extension module behind the Python package `minifenl`: plans of sums, forms on meshes, solves and whole runs. What Python users see is in `lib/minifenl`.

mod dirichlet;
mod errors;
mod fill;
mod form;
mod gpu;
mod graph;
mod interrupt;
mod mesh;
mod operator;
mod pattern;
mod plan;
mod run;
mod solve;
mod text;
mod threads;

use pyo3::pymodule;

/// What the library offers to Python; the package wraps it in arrays and matrices of NumPy and SciPy.
#[pymodule(gil_used = false)]
mod _minifenl {
    use numpy::PyArray1;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::dirichlet::dirichlet;
    #[pymodule_export]
    use crate::fill::Fill;
    #[pymodule_export]
    use crate::form::Form;
    #[pymodule_export]
    use crate::gpu::GpuPlan;
    #[pymodule_export]
    use crate::graph::Graph;
    #[pymodule_export]
    use crate::mesh::Mesh;
    #[pymodule_export]
    use crate::operator::Operator;
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::solve::solve;

    /// Loads NumPy's interface now: the first use imports modules of Python, and a signal that ends such an import is a panic.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        PyArray1::<f64>::zeros(module.py(), 0, false);
        Ok(())
    }
}
