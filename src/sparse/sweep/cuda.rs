//! Sweeps on a GPU: a launch of `kernels/sparse.cu` for each group. The host makes the triangles.

use super::triangles::Triangle;
use super::{Sweep, Triangles};
use crate::Result;
use crate::blas::enough;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, Grid, arguments};
use crate::sparse::MatrixOf;
use crate::sparse::kernel_files::SPARSE;

/// Threads of a block and of a row, as in the kernels.
const THREADS: u32 = 256;
const SHARED: usize = 4;

/// Triangles on the host with their copy on a GPU.
#[derive(Debug)]
pub struct CudaTriangles {
    made: Triangles,
    lower: MatrixOf<Cuda>,
    upper: MatrixOf<Cuda>,
    inverse: CudaArray<f64>,
    rows: CudaArray<u32>,
}

impl Sweep for Cuda {
    type Triangles = CudaTriangles;

    fn take_triangles(&self, made: Triangles) -> Result<CudaTriangles> {
        let Triangles { groups, lower, upper, inverse } = &made;
        let [lower, upper] = [lower, upper].map(|Triangle { matrix, .. }| matrix.upload(self));
        let (inverse, rows) = (self.upload(inverse)?, self.upload(&groups.rows)?);
        Ok(CudaTriangles { lower: lower?, upper: upper?, inverse, rows, made })
    }

    fn refill_triangles(
        &self,
        triangles: &mut CudaTriangles,
        work: impl FnOnce(&mut Triangles) -> Result<()>,
    ) -> Result<()> {
        let CudaTriangles { made, lower, upper, inverse, .. } = triangles;
        work(made)?;
        self.overwrite(made.lower.matrix.values(), lower.values_mut())?;
        self.overwrite(made.upper.matrix.values(), upper.values_mut())?;
        self.overwrite(&made.inverse, inverse)
    }

    fn sweep(
        &self,
        triangles: &CudaTriangles,
        r: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        z: &mut CudaArray<f64>,
    ) -> Result<()> {
        let CudaTriangles { made, lower, upper, inverse, rows } = triangles;
        enough("sweep", &[("r", r), ("y", &*y), ("z", &*z)], inverse.len())?;
        let groups = made.groups.starts.windows(2).map(|ends| (ends[0], ends[1] - ends[0]));
        let (row_map, entries, values) = (lower.graph().row_map(), lower.graph().entries(), lower.values());
        for (first, count) in groups.clone() {
            let arguments = arguments![first as u64, count as u64, row_map, entries, values, inverse, rows, r, &mut *y];
            self.launch(&SPARSE, "sweep_forward", Grid::cover(SHARED * count, THREADS), arguments)?;
        }
        let (row_map, entries, values) = (upper.graph().row_map(), upper.graph().entries(), upper.values());
        for (first, count) in groups.rev() {
            #[rustfmt::skip]
            let arguments = arguments![
                first as u64, count as u64, row_map, entries, values, inverse, rows, &mut *y, &mut *z,
            ];
            self.launch(&SPARSE, "sweep_backward", Grid::cover(SHARED * count, THREADS), arguments)?;
        }
        Ok(())
    }
}
