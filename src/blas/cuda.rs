//! Vector operations on a GPU: launches of `kernels/blas.cu`.

use super::kernel_files::BLAS;
use super::{Blas, Reductions};
use crate::Result;
use crate::error::check_at_least;
use crate::space::cuda::{Argument, Cuda, CudaArray, Grid, arguments};
use crate::space::{ExecutionSpace, Item};

/// Threads of a block, as in the kernels.
const THREADS: u32 = 256;
/// Most blocks of a reduction; each stores a partial sum.
pub(crate) const PARTIALS: usize = 4096;
/// Blocks that a multiprocessor works on at once, at 32 registers per thread.
const BLOCKS: usize = 8;

impl Cuda {
    /// Returns a grid that walks `n` items, two at a time. It depends on `n` and the GPU alone, so a sum is split the same way
    /// every time. One block at least: it stores the sum of no items.
    pub(crate) fn walk(&self, n: usize) -> Grid {
        let resident = BLOCKS * self.device().info().multiprocessors as usize;
        Grid::new(n.div_ceil(2 * THREADS as usize).clamp(1, resident.min(PARTIALS)), THREADS)
    }

    fn blas(&self, name: &'static str, grid: Grid, arguments: &[Argument]) -> Result<()> {
        self.launch(&BLAS, name, grid, arguments)
    }

    /// STREAM's triad a = b + factor c, once.
    pub(crate) fn triad_pass(
        &self,
        n: usize,
        b: &CudaArray<f64>,
        factor: f64,
        c: &CudaArray<f64>,
        a: &mut CudaArray<f64>,
    ) -> Result<()> {
        let grid = Grid::cover(n.div_ceil(4).max(1), THREADS);
        self.blas("triad", grid, arguments![n as u64, b, factor, c, a])
    }
}

pub(crate) fn enough<T: Item>(
    operation: &'static str,
    arrays: &[(&'static str, &CudaArray<T>)],
    n: usize,
) -> Result<()> {
    arrays.iter().try_for_each(|(name, array)| check_at_least(operation, name, array.len(), n))
}

impl Blas for Cuda {
    fn partials_len(_: usize) -> usize {
        PARTIALS
    }

    fn dot(
        &self,
        n: usize,
        x: &CudaArray<f64>,
        y: &CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        enough("dot", &[("x", x), ("y", y)], n)?;
        sums.check("dot", slot)?;
        let (stop, ranks, slot, ticket) = (sums.stop_argument(), sums.ranks_argument(), slot as u32, self.ticket());
        let Reductions { partials, scalars, .. } = sums;
        self.blas("dot", self.walk(n), arguments![n as u64, x, y, stop, ranks, partials, slot, scalars, ticket])
    }

    fn max_abs(&self, n: usize, x: &CudaArray<f64>, partials: &mut CudaArray<f64>) -> Result<f64> {
        enough("max_abs", &[("x", x)], n)?;
        check_at_least("max_abs", "partials", partials.len(), 1)?;
        // The kernel takes the maximum with the stored value.
        self.fill_bytes(partials, 0)?;
        self.blas("max_abs", self.walk(n), arguments![n as u64, x, &mut *partials])?;
        let mut largest = [0.0];
        self.read(partials, &mut largest)?;
        Ok(largest[0])
    }

    fn fill(&self, n: usize, value: f64, y: &mut CudaArray<f64>) -> Result<()> {
        enough("fill", &[("y", y)], n)?;
        self.blas("fill", self.walk(n), arguments![n as u64, value, y])
    }

    fn copy(&self, n: usize, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        self.copy_items(n, x, y)
    }

    fn axpby(
        &self,
        n: usize,
        alpha: f64,
        x: &CudaArray<f64>,
        beta: f64,
        y: &CudaArray<f64>,
        z: &mut CudaArray<f64>,
    ) -> Result<()> {
        enough("axpby", &[("x", x), ("y", y), ("z", z)], n)?;
        self.blas("axpby", self.walk(n), arguments![n as u64, alpha, x, beta, y, z])
    }

    fn reciprocals(&self, n: usize, x: &mut CudaArray<f64>) -> Result<()> {
        enough("reciprocals", &[("x", x)], n)?;
        self.blas("reciprocals", self.walk(n), arguments![n as u64, x])
    }

    fn axpy(&self, n: usize, alpha: f64, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        enough("axpy", &[("x", x), ("y", y)], n)?;
        self.blas("axpy", self.walk(n), arguments![n as u64, alpha, x, y])
    }

    fn relax(
        &self,
        n: usize,
        [alpha, beta]: [f64; 2],
        w: &CudaArray<f64>,
        b: &CudaArray<f64>,
        y: Option<&CudaArray<f64>>,
        d: &mut CudaArray<f64>,
        x: &mut CudaArray<f64>,
    ) -> Result<()> {
        enough("relax", &[("w", w), ("b", b), ("y", y.unwrap_or(b)), ("d", d), ("x", x)], n)?;
        let y = y.map_or(Argument::NULL, Argument::from);
        self.blas("relax", self.walk(n), arguments![n as u64, alpha, beta, w, b, y, d, x])
    }
}

impl Reductions<Cuda> {
    /// Refuses arrays that are too short for a result at `slot`.
    pub(crate) fn check(&self, operation: &'static str, slot: usize) -> Result<()> {
        check_at_least(operation, "partials", self.partials.len(), PARTIALS)?;
        check_at_least(operation, "scalars", self.scalars.len(), 1 + slot.max(self.stop.unwrap_or(0)))
    }

    /// The address of the table by which kernels make sums collective, or no address.
    pub(crate) fn ranks_argument(&self) -> Argument {
        self.collective.as_deref().map_or(Argument::NULL, Argument::from)
    }

    /// The address of the scalar that switches kernels off, or no address.
    pub(crate) fn stop_argument(&self) -> Argument {
        self.stop.map_or(Argument::NULL, |slot| Argument::from_item(&self.scalars, slot))
    }
}
