//! Sums of element matrices on a graph.

use crate::errors::exception;
use crate::graph::Graph;
use crate::threads::Pool;
use minifenl::Result;
use minifenl::fill::{MatrixFill, Strategy};
use minifenl::space::Threads;
use minifenl::space::atomic::Atomic;
use num_traits::Zero;
use numpy::{Element, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;

/// Numbers or components of complex numbers, contiguous.
#[derive(FromPyObject)]
enum Reals<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
}

/// A strategy on a graph.
#[pyclass(frozen, module = "minifenl._minifenl")]
#[derive(Debug)]
pub struct Fill {
    fill: MatrixFill,
    pool: Pool,
}

#[pymethods]
impl Fill {
    /// Prepares a strategy by its name in the library.
    #[new]
    fn new(py: Python<'_>, graph: &Graph, strategy: &str, threads: Option<usize>) -> PyResult<Self> {
        let strategy: Strategy = strategy.parse().map_err(exception)?;
        let pool = Pool::new(threads)?;
        let threads = pool.threads()?;
        let fill = py.detach(|| MatrixFill::new(&threads, strategy, &graph.0)).map_err(exception)?;
        Ok(Fill { fill, pool })
    }

    /// Sums matrices `[elem, i, j]` into the entries `out`; numbers are complex if `is_complex`, their components side by side.
    fn sum(&self, py: Python<'_>, matrices: Reals<'_>, out: Bound<'_, PyAny>, is_complex: bool) -> PyResult<()> {
        let threads = self.pool.threads()?;
        match matrices {
            Reals::F64(matrices) => self.sum_of(py, &threads, &matrices, &out, is_complex),
            Reals::F32(matrices) => self.sum_of(py, &threads, &matrices, &out, is_complex),
        }
    }
}

impl Fill {
    fn sum_of<T: Atomic + Element + Zero>(
        &self,
        py: Python<'_>,
        threads: &Threads,
        matrices: &PyReadonlyArray1<'_, T>,
        out: &Bound<'_, PyAny>,
        is_complex: bool,
    ) -> PyResult<()> {
        let mut out: PyReadwriteArray1<'_, T> = out.extract()?;
        let (matrices, out) = (matrices.as_slice()?, out.as_slice_mut()?);
        let done: Result<()> = py.detach(|| {
            if is_complex {
                self.fill.sum(threads, matrices.as_chunks::<2>().0, out.as_chunks_mut::<2>().0)
            } else {
                self.fill.sum(threads, matrices.as_chunks::<1>().0, out.as_chunks_mut::<1>().0)
            }
        });
        done.map_err(exception)
    }
}
