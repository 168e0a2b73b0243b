//! Plans of sums on a GPU, for arrays of other libraries by their addresses.

use crate::errors::exception;
use minifenl::contraction::Sum;
use minifenl::fill::{CudaCoo, DeviceIndices};
use minifenl::space::{Cuda, CudaArray, ExecutionSpace, Item};
use minifenl::{Error, Result};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// Address and number of items of an array on the GPU.
type Place = (u64, usize);

/// Indices in memory of the host or of the GPU.
#[derive(FromPyObject)]
enum Indices<'py> {
    Host(PyReadonlyArray1<'py, i32>),
    Gpu(Place),
}

/// An array of float64 on the GPU.
#[pyclass(frozen, module = "minifenl._minifenl")]
#[derive(Debug)]
pub struct GpuArray(CudaArray<f64>);

#[pymethods]
impl GpuArray {
    /// Address and number of items.
    #[getter]
    fn place(&self) -> Place {
        (self.0.address(), self.0.len())
    }
}

/// Sums of values at fixed pairs of indices, in order with the default stream of the GPU.
#[pyclass(frozen, module = "minifenl._minifenl")]
#[derive(Debug)]
pub struct GpuPlan {
    space: Cuda,
    coo: CudaCoo,
    /// Row offsets, of 32 bits as those of the columns.
    offsets: CudaArray<i32>,
}

/// The same without the interpreter.
enum Given<'a> {
    Host(&'a [i32]),
    Gpu(Place),
}

impl Indices<'_> {
    fn given(&self) -> PyResult<Given<'_>> {
        Ok(match self {
            Indices::Host(array) => Given::Host(array.as_slice()?),
            Indices::Gpu(place) => Given::Gpu(*place),
        })
    }
}

impl Given<'_> {
    /// Calls `work` with the indices on the GPU.
    fn on<R>(&self, space: &Cuda, work: impl FnOnce(&CudaArray<i32>) -> Result<R>) -> Result<R> {
        match *self {
            Given::Host(indices) => work(&space.upload(indices)?),
            Given::Gpu(place) => lent(space, place, |indices| work(indices)),
        }
    }
}

/// Calls `work`, one of the plan's calls, with an array of another library.
#[allow(unsafe_code)]
fn lent<T: Item, R>(
    space: &Cuda,
    (address, len): Place,
    work: impl FnOnce(&mut CudaArray<T>) -> Result<R>,
) -> Result<R> {
    // SAFETY: the package takes places from arrays that it holds during the call, and refuses values that overlap the sums. Other
    // libraries free and write them in order with this stream, or the package waits for it. The plan's calls keep no array.
    unsafe { space.with_foreign(address, len, work) }
}

#[pymethods]
impl GpuPlan {
    /// Plans sums at `(i[k], j[k])`, or with `per_elem = (a, b)` of matrices `[elem, a, b]` whose rows and columns are the tables `i` and
    /// `j`. Negative indices are ignored.
    #[new]
    fn new(
        py: Python<'_>,
        device: usize,
        i: Indices<'_>,
        j: Indices<'_>,
        shape: (usize, usize),
        per_elem: Option<(usize, usize)>,
    ) -> PyResult<Self> {
        let (i, j) = (i.given()?, j.given()?);
        let planned = py.detach(|| {
            let space = Cuda::on_default_stream(device)?;
            // Indices may come from a stream that is not in order with this one.
            space.fence_all()?;
            let coo = i.on(&space, |i| {
                j.on(&space, |j| match per_elem {
                    None => CudaCoo::new(&space, shape.0, shape.1, i, j),
                    Some((height, width)) => {
                        let [rows_of, columns_of] =
                            [(i, height), (j, width)].map(|(indices, per_elem)| DeviceIndices { indices, per_elem });
                        CudaCoo::from_elements(&space, shape.0, shape.1, rows_of, columns_of)
                    }
                })
            })?;
            let offsets = space.download(coo.graph().row_map())?;
            let fits = |at: u64| {
                let limit = || format!("{} on a GPU", i32::MAX);
                let needed =
                    || Error::TooLarge { what: "CooPlan".into(), needed: format!("{at} entries"), limit: limit() };
                i32::try_from(at).map_err(|_| needed())
            };
            let offsets = space.upload(&offsets.into_iter().map(fits).collect::<Result<Vec<i32>>>()?)?;
            Ok(GpuPlan { space, coo, offsets })
        });
        planned.map_err(exception)
    }

    /// Row offsets and columns, of 32 bits.
    fn pattern(&self) -> [Place; 2] {
        let entries = self.coo.graph().entries();
        [(self.offsets.address(), self.offsets.len()), (entries.address(), self.nnz())]
    }

    /// Number of values that a sum takes.
    #[getter]
    fn value_count(&self) -> usize {
        self.coo.value_count()
    }

    /// Number of entries.
    #[getter]
    fn nnz(&self) -> usize {
        self.coo.graph().nnz()
    }

    /// Bytes of the plan without its pattern.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.coo.bytes()
    }

    /// A new array with an item per entry.
    fn entries(&self) -> PyResult<GpuArray> {
        Ok(GpuArray(self.space.to_be_written(self.nnz()).map_err(exception)?))
    }

    /// Sums float64 values into the entries `out`. Does not wait for the GPU.
    fn sum_entries(&self, py: Python<'_>, values: Place, out: Place) -> PyResult<()> {
        let summed = py.detach(|| {
            lent(&self.space, values, |values| {
                lent(&self.space, out, |out| self.coo.sum_entries(&self.space, values, Sum::Overwrite, out))
            })
        });
        summed.map_err(exception)
    }

    /// Waits for all work of the process on the GPU.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.space.fence_all()).map_err(exception)
    }
}
