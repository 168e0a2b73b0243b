//! The plan of a sum: which value goes to which entry of a sparse matrix.

use crate::errors::exception;
use crate::pattern::{self, IndexSlice, Indices};
use crate::threads::Pool;
use minifenl::LocalOrdinal;
use minifenl::contraction::Sum;
use minifenl::fill::{Combinations, Coo, ElementIndices, ReducedPairs};
use minifenl::graph::CooIndex;
use minifenl::space::{Item, Threads};
use num_traits::Zero;
use numpy::{Complex32, Complex64, Element, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Values of one of the types that a matrix can have, contiguous.
#[derive(FromPyObject)]
enum Values<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
    C64(PyReadonlyArray1<'py, Complex64>),
    C32(PyReadonlyArray1<'py, Complex32>),
}

/// Evaluates an expression with the values, whatever their type.
macro_rules! with_values {
    ($given:expr, $values:ident => $work:expr) => {
        match $given {
            Values::F64($values) => $work,
            Values::F32($values) => $work,
            Values::C64($values) => $work,
            Values::C32($values) => $work,
        }
    };
}

/// A value times a weight.
trait Weighted: Copy {
    fn weighted(self, weight: f64) -> Self;
}

macro_rules! weighted {
    ($($value:ty: $weight:ty),*) => {$(
        impl Weighted for $value {
            fn weighted(self, weight: f64) -> Self {
                self * weight as $weight
            }
        }
    )*};
}
weighted!(f64: f64, f32: f32, Complex64: f64, Complex32: f32);

/// Unknowns that are combinations of others, each with those and their weights.
type Constraints = Vec<(LocalOrdinal, Vec<(LocalOrdinal, f64)>)>;

/// Sums of values at fixed pairs of indices.
#[pyclass(frozen, module = "minifenl._minifenl")]
#[derive(Debug)]
pub struct Plan {
    coo: Coo,
    /// Pairs of the reduced matrix, with constraints.
    reduced: Option<ReducedPairs>,
    pool: Pool,
}

#[pymethods]
impl Plan {
    /// Plans sums at `(i[k], j[k])`, or with `per_elem = (a, b)` of matrices `[elem, a, b]` whose rows and columns are the tables `i` and
    /// `j`. Negative indices are ignored.
    #[new]
    #[pyo3(signature = (i, j, shape, per_elem=None, threads=None))]
    fn new(
        py: Python<'_>,
        i: Indices<'_>,
        j: Indices<'_>,
        shape: (usize, usize),
        per_elem: Option<(usize, usize)>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let pool = Pool::new(threads)?;
        let threads = pool.threads()?;
        let coo = match (i.slice()?, j.slice()?) {
            (IndexSlice::Narrow(i), IndexSlice::Narrow(j)) => py.detach(|| plan(&threads, shape, i, j, per_elem)),
            (IndexSlice::Wide(i), IndexSlice::Wide(j)) => py.detach(|| plan(&threads, shape, i, j, per_elem)),
            _ => return Err(PyTypeError::new_err("i and j: expected the same type")),
        };
        Ok(Plan { coo: coo.map_err(exception)?, reduced: None, pool })
    }

    /// Plans sums at `(i[k], j[k])` of a square matrix, reduced to the unknowns that are no combinations of others.
    #[staticmethod]
    fn constrained(
        py: Python<'_>,
        i: Indices<'_>,
        j: Indices<'_>,
        rows: usize,
        constraints: Constraints,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let pool = Pool::new(threads)?;
        let threads = pool.threads()?;
        let reduced = match (i.slice()?, j.slice()?) {
            (IndexSlice::Narrow(i), IndexSlice::Narrow(j)) => py.detach(|| reduce(&threads, rows, &constraints, i, j)),
            (IndexSlice::Wide(i), IndexSlice::Wide(j)) => py.detach(|| reduce(&threads, rows, &constraints, i, j)),
            _ => return Err(PyTypeError::new_err("i and j: expected the same type")),
        };
        let (coo, reduced) = reduced.map_err(exception)?;
        Ok(Plan { coo, reduced: Some(reduced), pool })
    }

    /// Row offsets and columns, of 32 bits if the number of entries fits.
    fn pattern<'py>(&self, py: Python<'py>) -> [Bound<'py, PyAny>; 2] {
        pattern::arrays(py, self.coo.graph())
    }

    /// Number of values that a sum takes.
    #[getter]
    fn value_count(&self) -> usize {
        self.reduced.as_ref().map_or(self.coo.value_count(), ReducedPairs::given_count)
    }

    /// Number of entries.
    #[getter]
    fn nnz(&self) -> usize {
        self.coo.graph().nnz()
    }

    /// Bytes of the plan without its pattern.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.coo.bytes() + self.reduced.as_ref().map_or(0, ReducedPairs::bytes)
    }

    /// Sums values into the entries `out`.
    fn sum_entries(&self, py: Python<'_>, values: Values<'_>, out: Bound<'_, PyAny>) -> PyResult<()> {
        let threads = self.pool.threads()?;
        with_values!(values, values => with(py, &values, &out, |values, out| match &self.reduced {
            None => self.coo.sum_entries(&threads, values, Sum::Overwrite, out),
            Some(pairs) => {
                let values = pairs.values_by(values, Weighted::weighted)?;
                self.coo.sum_entries(&threads, &values, Sum::Overwrite, out)
            }
        }))
    }

    /// Sums vectors `[elem, a]`, or one value per pair, into the rows `out`.
    fn sum_rows(&self, py: Python<'_>, values: Values<'_>, out: Bound<'_, PyAny>) -> PyResult<()> {
        let threads = self.pool.threads()?;
        with_values!(values, values => with(py, &values, &out, |values, out| {
            self.coo.sum_rows(&threads, values, Sum::Overwrite, out)
        }))
    }
}

/// Plans pairs, or matrices of elements.
fn plan<I: CooIndex>(
    threads: &Threads,
    (rows, columns): (usize, usize),
    i: &[I],
    j: &[I],
    per_elem: Option<(usize, usize)>,
) -> minifenl::Result<Coo> {
    match per_elem {
        None => Coo::new(threads, rows, columns, i, j),
        Some((a, b)) => {
            let [rows_of, columns_of] =
                [(i, a), (j, b)].map(|(indices, per_elem)| ElementIndices { indices, per_elem });
            Coo::from_elements(threads, rows, columns, rows_of, columns_of)
        }
    }
}

/// Plans the reduced pairs of a matrix with constraints.
fn reduce<I: CooIndex>(
    threads: &Threads,
    rows: usize,
    constraints: &Constraints,
    i: &[I],
    j: &[I],
) -> minifenl::Result<(Coo, ReducedPairs)> {
    let combinations = Combinations::new(rows, constraints)?;
    let (pairs, free) = (combinations.pairs(i, j)?, combinations.free_count());
    Ok((Coo::new(threads, free, free, pairs.rows(), pairs.columns())?, pairs))
}

/// Calls `work` with values and a result of their type, without the lock of the interpreter.
fn with<T: Item + Element + Zero>(
    py: Python<'_>,
    values: &PyReadonlyArray1<'_, T>,
    out: &Bound<'_, PyAny>,
    work: impl Send + FnOnce(&[T], &mut [T]) -> minifenl::Result<()>,
) -> PyResult<()> {
    let mut out: PyReadwriteArray1<'_, T> = out.extract()?;
    let (values, out) = (values.as_slice()?, out.as_slice_mut()?);
    py.detach(|| work(values, out)).map_err(exception)
}
