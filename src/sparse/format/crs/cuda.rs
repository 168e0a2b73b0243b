//! CRS as a format on a GPU: products with a given number of threads per row, which may exchange ghosts; values in single precision.

use crate::Result;
use crate::error::check_length;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::format::slices::verdict;
use crate::sparse::kernel_files::SLICES;
use crate::sparse::{CrsMatrix, FormatCopy, Lanes, MatrixOf, Operator, RowProduct, StoredValue};

/// A matrix in CRS on a GPU, and how many threads share a row of its products.
#[derive(Debug)]
pub struct DeviceCrs<V: StoredValue = f64> {
    /// The matrix.
    pub matrix: CrsMatrix<V, CudaMemory>,
    /// Threads per row; `None`: as many as suit the mean row.
    pub lanes: Option<Lanes>,
}

impl<V: StoredValue> From<CrsMatrix<V, CudaMemory>> for DeviceCrs<V> {
    fn from(matrix: CrsMatrix<V, CudaMemory>) -> Self {
        DeviceCrs { matrix, lanes: None }
    }
}

impl<V: StoredValue> DeviceCrs<V> {
    fn lanes(&self) -> Lanes {
        self.lanes.unwrap_or_else(|| Lanes::of_matrix(&self.matrix))
    }
}

impl<V: StoredValue> Operator<Cuda> for DeviceCrs<V> {
    fn rows(&self) -> usize {
        self.matrix.graph().rows()
    }

    fn columns(&self) -> usize {
        self.matrix.graph().columns()
    }

    fn bytes(&self) -> usize {
        Operator::<Cuda>::bytes(&self.matrix)
    }

    fn apply(&self, space: &Cuda, x: &mut CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        space.spmv_lanes(self.lanes(), &self.matrix, x, y)
    }

    /// CRS needs no blocks, but a caller divides every format of a GPU at the same rows.
    fn row_block(&self) -> Option<usize> {
        Some(32)
    }

    fn takes_exchange(&self) -> bool {
        true
    }

    fn apply_dot_rows(&self, space: &Cuda, product: RowProduct<'_, Cuda>) -> Result<()> {
        space.spmv_dot_lanes(self.lanes(), &self.matrix, product)
    }
}

impl FormatCopy<Cuda> for DeviceCrs<f32> {
    fn update(&mut self, space: &Cuda, a: &MatrixOf<Cuda>) -> Result<()> {
        space.to_single_refusing(a.values(), self.matrix.parts_mut().1)
    }

    fn set_lanes(&mut self, lanes: Lanes) {
        self.lanes = Some(lanes);
    }

    fn single_crs(&self) -> Option<&CrsMatrix<f32, CudaMemory>> {
        self.lanes.is_none().then_some(&self.matrix)
    }
}

impl Cuda {
    /// Returns the matrix with its values rounded to single precision, on the same graph. Moves 12 bytes per entry.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn single(&self, a: &MatrixOf<Cuda>) -> Result<CrsMatrix<f32, CudaMemory>> {
        let mut single = CrsMatrix::unfilled_on(self, a.graph().clone())?;
        self.to_single(a.values(), single.parts_mut().1, Argument::NULL)?;
        Ok(single)
    }

    /// Rounds values, and refuses those too large for f32; the host waits.
    pub(in crate::sparse::format) fn to_single_refusing(
        &self,
        values: &CudaArray<f64>,
        single: &mut CudaArray<f32>,
    ) -> Result<()> {
        let mut overflows = self.zeros::<u64>(1)?;
        self.to_single(values, single, (&mut overflows).into())?;
        let mut found = [0];
        self.read(&overflows, &mut found)?;
        verdict([found[0], 0, 0])
    }

    fn to_single(&self, from: &CudaArray<f64>, to: &mut CudaArray<f32>, overflows: Argument) -> Result<()> {
        check_length("to_single", "single", to.len(), from.len())?;
        let grid = Grid::cover(from.len(), 256);
        self.launch(&SLICES, "to_single", grid, arguments![from.len() as u64, from, to, overflows])
    }
}
