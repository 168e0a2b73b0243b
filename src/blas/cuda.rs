//! Vector operations on a GPU: launches of `kernels/blas.cu`.

use super::kernel_files::BLAS;
use super::{Blas, cg_slot};
use crate::Result;
use crate::error::check_at_least;
use crate::space::cuda::{Cuda, CudaArray, Grid, arguments};
use crate::space::{ExecutionSpace, Item};

/// Threads of a block, as in the kernels.
const THREADS: u32 = 256;
/// Most blocks of a reduction; each stores a partial sum.
pub(crate) const PARTIALS: usize = 4096;
/// Blocks that a multiprocessor works on at once, at 32 registers a thread.
const BLOCKS: usize = 8;

impl Cuda {
    /// A grid that walks `n` items, two at a time.
    fn walk(&self, n: usize) -> Grid {
        let resident = BLOCKS * self.device().info().multiprocessors as usize;
        Grid::new(n.div_ceil(2 * THREADS as usize).clamp(1, resident.min(PARTIALS)), THREADS)
    }

    fn blas(&self, name: &'static str, grid: Grid, arguments: &mut [crate::space::cuda::Argument]) -> Result<()> {
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

fn enough<T: Item>(operation: &'static str, arrays: &[(&'static str, &CudaArray<T>)], n: usize) -> Result<()> {
    arrays.iter().try_for_each(|(name, array)| check_at_least(operation, name, array.len(), n))
}

impl Blas for Cuda {
    const LOOK: usize = 16;
    const AHEAD: usize = 1;

    fn partials_len(_: usize) -> usize {
        PARTIALS
    }

    fn dot(
        &self,
        n: usize,
        x: &CudaArray<f64>,
        y: &CudaArray<f64>,
        partials: &mut CudaArray<f64>,
        slot: usize,
        scalars: &mut CudaArray<f64>,
    ) -> Result<()> {
        enough("dot", &[("x", x), ("y", y)], n)?;
        check_at_least("dot", "partials", partials.len(), PARTIALS)?;
        check_at_least("dot", "scalars", scalars.len(), slot + 1)?;
        self.blas("dot", self.walk(n), arguments![n as u64, x, y, partials, slot as u32, scalars, self.ticket()])
    }

    fn max_abs(&self, n: usize, x: &CudaArray<f64>, partials: &mut CudaArray<f64>) -> Result<f64> {
        enough("max_abs", &[("x", x)], n)?;
        check_at_least("max_abs", "partials", partials.len(), 1)?;
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

    fn axpy(&self, n: usize, alpha: f64, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        enough("axpy", &[("x", x), ("y", y)], n)?;
        self.blas("axpy", self.walk(n), arguments![n as u64, alpha, x, y])
    }

    fn cg_begin(&self, tolerance: f64, limit: usize, slot: usize, scalars: &mut CudaArray<f64>) -> Result<()> {
        check_at_least("cg_begin", "scalars", scalars.len(), cg_slot::LEN)?;
        self.blas("cg_begin", Grid::new(1, 1), arguments![tolerance, limit as f64, slot as u32, scalars])
    }

    fn cg_check(&self, rr: usize, scalars: &mut CudaArray<f64>) -> Result<()> {
        check_at_least("cg_check", "scalars", scalars.len(), cg_slot::LEN)?;
        self.blas("cg_check", Grid::new(1, 1), arguments![rr as u32, scalars])
    }

    fn cg_step(
        &self,
        n: usize,
        rr: usize,
        rr_new: usize,
        p: &CudaArray<f64>,
        q: &CudaArray<f64>,
        x: &mut CudaArray<f64>,
        r: &mut CudaArray<f64>,
        partials: &mut CudaArray<f64>,
        scalars: &mut CudaArray<f64>,
    ) -> Result<()> {
        enough("cg_step", &[("p", p), ("q", q), ("x", x), ("r", r)], n)?;
        check_at_least("cg_step", "partials", partials.len(), PARTIALS)?;
        check_at_least("cg_step", "scalars", scalars.len(), cg_slot::LEN)?;
        let (rr, rr_new) = (rr as u32, rr_new as u32);
        self.blas(
            "cg_step",
            self.walk(n),
            arguments![n as u64, rr, rr_new, p, q, x, r, partials, scalars, self.ticket()],
        )
    }

    fn cg_direction(
        &self,
        n: usize,
        rr: usize,
        rr_old: usize,
        r: &CudaArray<f64>,
        p: &mut CudaArray<f64>,
        scalars: &mut CudaArray<f64>,
    ) -> Result<()> {
        enough("cg_direction", &[("r", r), ("p", p)], n)?;
        check_at_least("cg_direction", "scalars", scalars.len(), cg_slot::LEN)?;
        self.blas("cg_direction", self.walk(n), arguments![n as u64, rr as u32, rr_old as u32, r, p, scalars])
    }
}
