//! A matrix on a GPU in the format chosen for its products.
//!
//! ```text
//! storage = Storage::new(space, format, graph)     once
//! storage.update(space, matrix)                    when the values have changed
//! storage.view(matrix)                             products, and an operator for CG
//! ```

use super::sliced_ell::verdict;
use super::{Format, Product, SlicedEll};
use crate::blas::Reductions;
use crate::error::check_length;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, PeerExchange, arguments};
use crate::sparse::kernel_files::SLICES;
use crate::sparse::{CrsGraph, CrsMatrix, DeviceValue, Lanes};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The data that a format keeps beside the CRS matrix.
#[derive(Clone, Debug)]
pub struct Storage<V: DeviceValue = f64> {
    slices: Option<SlicedEll<V>>,
    /// Threads per row of products in CRS; `None`: as many as suit the mean row.
    pub lanes: Option<Lanes>,
}

impl<V: DeviceValue> Storage<V> {
    /// Builds what the format needs of the pattern.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had.
    pub fn new(space: &Cuda, format: Format, graph: &Arc<CrsGraph<CudaMemory>>) -> Result<Self> {
        let slices = match format {
            Format::Crs => None,
            Format::Sell | Format::Pattern | Format::Symmetric => Some(SlicedEll::new(space, format, graph)?),
        };
        Ok(Storage { slices, lanes: None })
    }

    /// Takes the matrix's values.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a matrix on another graph.
    pub fn update(&mut self, space: &Cuda, a: &CrsMatrix<V, CudaMemory>) -> Result<()> {
        self.slices.as_mut().map_or(Ok(()), |slices| slices.update(space, a))
    }

    /// Returns the matrix whose values were taken last, as this format stores it.
    pub fn view<'a>(&'a self, a: &'a CrsMatrix<V, CudaMemory>) -> Stored<'a, V> {
        let stored = match &self.slices {
            Some(slices) => Stored::of_both(a, slices),
            None => Stored::of_crs(a),
        };
        Stored { lanes: self.lanes, ..stored }
    }
}

/// A matrix as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a, V: DeviceValue = f64> {
    source: Source<'a, V>,
    lanes: Option<Lanes>,
    /// Whether CG on a small system may run in one launch; by default it may.
    pub at_once: bool,
}

#[derive(Clone, Copy, Debug)]
enum Source<'a, V: DeviceValue> {
    Crs(&'a CrsMatrix<V, CudaMemory>),
    /// Slices, and the same matrix in CRS where it is kept.
    Slices(&'a SlicedEll<V>, Option<&'a CrsMatrix<V, CudaMemory>>),
}

impl<'a, V: DeviceValue> Stored<'a, V> {
    fn of(source: Source<'a, V>) -> Self {
        Stored { source, lanes: None, at_once: true }
    }

    pub(super) fn of_crs(matrix: &'a CrsMatrix<V, CudaMemory>) -> Self {
        Self::of(Source::Crs(matrix))
    }

    pub(super) fn of_slices(slices: &'a SlicedEll<V>) -> Self {
        Self::of(Source::Slices(slices, None))
    }

    pub(super) fn of_both(matrix: &'a CrsMatrix<V, CudaMemory>, slices: &'a SlicedEll<V>) -> Self {
        Self::of(Source::Slices(slices, Some(matrix)))
    }

    /// The matrix with a number of threads per row for its products in CRS. With a number that was asked for, CG on a small system
    /// runs no launch that would choose its own.
    pub(super) fn with_lanes(self, lanes: Option<Lanes>) -> Self {
        Stored { lanes, at_once: lanes.is_none(), ..self }
    }

    /// Returns the CRS matrix; `None` if only slices are kept.
    pub fn matrix(&self) -> Option<&'a CrsMatrix<V, CudaMemory>> {
        match self.source {
            Source::Crs(matrix) => Some(matrix),
            Source::Slices(_, matrix) => matrix,
        }
    }

    fn lanes(&self, matrix: &CrsMatrix<V, CudaMemory>) -> Lanes {
        self.lanes.unwrap_or_else(|| Lanes::of_matrix(matrix))
    }

    /// Computes y = alpha A x + beta y, as [`Spmv::spmv`](crate::sparse::Spmv::spmv).
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors.
    pub fn spmv(&self, space: &Cuda, alpha: f64, x: &CudaArray<f64>, beta: f64, y: &mut CudaArray<f64>) -> Result<()> {
        match self.source {
            Source::Slices(slices, _) => slices.spmv(space, alpha, x, beta, y),
            Source::Crs(matrix) => space.spmv_lanes(self.lanes(matrix), alpha, matrix, x, beta, y),
        }
    }

    /// Computes y = A x over `rows` and x.y, as [`Spmv::spmv_dot`](crate::sparse::Spmv::spmv_dot); `rows` starts at a multiple of 32.
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors.
    pub fn spmv_dot(
        &self,
        space: &Cuda,
        rows: Range<usize>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        match self.source {
            Source::Slices(slices, _) => slices.spmv_dot(space, rows, x, y, sums, slot),
            Source::Crs(matrix) => space.spmv_dot_lanes(self.lanes(matrix), matrix, rows, x, y, sums, slot),
        }
    }
}

impl Cuda {
    /// Returns the matrix with its values rounded to single precision, on the same graph.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had.
    pub fn single(&self, a: &CrsMatrix<f64, CudaMemory>) -> Result<CrsMatrix<f32, CudaMemory>> {
        let mut single = CrsMatrix::from_parts(a.graph().clone(), self.unfilled(a.graph().nnz())?);
        self.to_single(a, &mut single)?;
        Ok(single)
    }

    /// Rounds the values of a matrix into those of a single-precision one. Moves 12 bytes per entry.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of entries.
    pub fn to_single(&self, a: &CrsMatrix<f64, CudaMemory>, single: &mut CrsMatrix<f32, CudaMemory>) -> Result<()> {
        self.to_single_counting(a.values(), single.parts_mut().1, Argument::NULL)
    }

    /// [`to_single`](Self::to_single) that refuses values too large for f32; the host waits.
    pub(super) fn round(&self, a: &CrsMatrix<f64, CudaMemory>, single: &mut CrsMatrix<f32, CudaMemory>) -> Result<()> {
        self.to_single_refusing(a.values(), single.parts_mut().1)
    }

    /// Rounds values, and refuses those too large for f32; the host waits.
    pub(super) fn to_single_refusing(&self, values: &CudaArray<f64>, single: &mut CudaArray<f32>) -> Result<()> {
        let mut overflows = self.zeros::<u64>(1)?;
        self.to_single_counting(values, single, (&mut overflows).into())?;
        let mut found = [0];
        self.read(&overflows, &mut found)?;
        verdict([found[0], 0, 0])
    }

    /// Times three products in each of the formats, and returns the formats that can store the matrix with the time of a product,
    /// fastest first. Formats with equal times keep their order. Allocates one format at a time; the host waits.
    ///
    /// # Errors
    /// As [`Storage::new`] and [`Stored::spmv`].
    pub fn time_formats<V: DeviceValue>(
        &self,
        a: &CrsMatrix<V, CudaMemory>,
        formats: &[Format],
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
    ) -> Result<Vec<(Format, Duration)>> {
        let mut times = Vec::new();
        for &format in formats {
            let mut storage = Storage::new(self, format, a.graph())?;
            match storage.update(self, a) {
                Ok(()) => {}
                // Not symmetric.
                Err(Error::Invalid(_)) => continue,
                Err(error) => return Err(error),
            }
            let stored = storage.view(a);
            // Not timed: the first product of a kernel may include its compilation.
            stored.spmv(self, 1.0, x, 0.0, y)?;
            let before = self.record()?;
            for _ in 0..3 {
                stored.spmv(self, 1.0, x, 0.0, y)?;
            }
            times.push((format, self.record()?.since(&before)? / 3));
        }
        times.sort_by_key(|&(_, time)| time);
        Ok(times)
    }

    fn to_single_counting(&self, from: &CudaArray<f64>, to: &mut CudaArray<f32>, overflows: Argument) -> Result<()> {
        check_length("to_single", "single", to.len(), from.len())?;
        let grid = Grid::cover(from.len(), 256);
        self.launch(&SLICES, "to_single", grid, arguments![from.len() as u64, from, to, overflows])
    }
}

impl<V: DeviceValue> Product<Cuda> for Stored<'_, V> {
    /// Rows per slice. CRS needs no blocks, but a caller splits every format at the same rows.
    const ROW_BLOCK: usize = 32;

    fn extents(&self) -> (usize, usize) {
        match self.source {
            Source::Crs(matrix) => (matrix.graph().rows(), matrix.graph().columns()),
            Source::Slices(slices, _) => slices.extents(),
        }
    }

    fn bytes(&self) -> usize {
        let (rows, columns) = self.extents();
        let matrix = match self.source {
            Source::Slices(slices, _) => slices.bytes(),
            Source::Crs(matrix) => {
                matrix.values().bytes() + matrix.graph().entries().bytes() + matrix.graph().row_map().bytes()
            }
        };
        matrix + size_of::<f64>() * (rows + columns)
    }

    fn multiply(&self, space: &Cuda, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        self.spmv(space, 1.0, x, 0.0, y)
    }

    fn multiply_dot(
        &self,
        space: &Cuda,
        rows: Range<usize>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        self.spmv_dot(space, rows, x, y, sums, slot)
    }

    fn multiply_dot_exchanging(
        &self,
        space: &Cuda,
        interior: usize,
        exchange: &PeerExchange,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<bool> {
        match self.source {
            Source::Slices(slices, _) => slices.spmv_dot_exchanging(space, interior, exchange, x, y, sums, slot)?,
            Source::Crs(matrix) => {
                space.spmv_dot_exchanging(self.lanes(matrix), matrix, interior, exchange, x, y, sums, slot)?
            }
        }
        Ok(true)
    }
}
