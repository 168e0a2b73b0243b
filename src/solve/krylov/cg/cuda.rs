//! CG steps on a GPU: launches of `kernels/cg.cu` and `kernels/cg_fused.cu`.

use super::{CgDirection, CgParams, CgSlot, CgStep, CgSteps, SingleLaunch, SingleVectors};
use crate::Result;
use crate::blas::{Reductions, enough};
use crate::solve::kernel_files::{CG, CG_FUSED};
use crate::space::cuda::{Cuda, Grid, arguments};
use crate::sparse::{CrsValues, DeviceMatrix};

/// Threads of a block, as in the kernels.
const THREADS: u32 = 256;
/// Blocks that a multiprocessor works on at once.
const BLOCKS: usize = 4;
/// Most blocks of an update.
const MOST: usize = 1024;

/// A grid of single-reduction CG: it walks `n` items, two at a time, with all blocks resident.
fn walk(space: &Cuda, n: usize) -> Grid {
    let resident = BLOCKS * space.device().info().multiprocessors as usize;
    Grid::new(n.div_ceil(2 * THREADS as usize).clamp(1, resident.min(MOST)), THREADS)
}

impl CgSteps for Cuda {
    // Fewer would make the GPU wait for the host; more would waste launches after convergence.
    const CHECK_INTERVAL: usize = 16;
    const CHECKS_IN_FLIGHT: usize = 1;

    fn single_launch<'a>(&'a self, matrix: &'a DeviceMatrix) -> Result<Option<Box<SingleLaunch<'a, Cuda>>>> {
        match matrix.crs() {
            Some(CrsValues::Double(a)) => self.single_launch_of(a),
            Some(CrsValues::Single(a)) => self.single_launch_of(a),
            None => Ok(None),
        }
    }

    fn cg_begin(&self, params: CgParams, slot: usize, sums: &mut Reductions<Cuda>) -> Result<()> {
        sums.check("cg_begin", CgSlot::LEN - 1)?;
        let CgParams { tolerance, absolute, max_iterations } = params;
        let arguments = arguments![tolerance, absolute, max_iterations as f64, slot as u32, &mut sums.scalars];
        self.launch(&CG, "cg_begin", Grid::new(1, 1), arguments)
    }

    fn cg_check(&self, rr: usize, sums: &mut Reductions<Cuda>) -> Result<()> {
        sums.check("cg_check", CgSlot::LEN - 1)?;
        self.launch(&CG, "cg_check", Grid::new(1, 1), arguments![rr as u32, &mut sums.scalars])
    }

    fn cg_step(&self, n: usize, step: CgStep<'_, Cuda>, sums: &mut Reductions<Cuda>) -> Result<()> {
        let CgStep { rz, rr, p, q, x, r } = step;
        enough("cg_step", &[("p", p), ("q", q), ("x", x), ("r", r)], n)?;
        sums.check("cg_step", CgSlot::LEN - 1)?;
        let (rz, rr, ranks, ticket) = (rz as u32, rr as u32, sums.ranks_argument(), self.ticket());
        let Reductions { partials, scalars, .. } = sums;
        let arguments = arguments![n as u64, rz, rr, p, q, x, r, ranks, partials, scalars, ticket];
        self.launch(&CG, "cg_step", self.walk(n), arguments)
    }

    fn cg_direction(&self, n: usize, direction: CgDirection<'_, Cuda>, sums: &mut Reductions<Cuda>) -> Result<()> {
        let CgDirection { rr, top, bottom, z, p } = direction;
        enough("cg_direction", &[("z", z), ("p", p)], n)?;
        sums.check("cg_direction", CgSlot::LEN - 1)?;
        let (rr, top, bottom) = (rr as u32, top as u32, bottom as u32);
        let arguments = arguments![n as u64, rr, top, bottom, z, p, &mut sums.scalars];
        self.launch(&CG, "cg_direction", self.walk(n), arguments)
    }

    fn fused_refresh(&self, resume: bool, sums: &mut Reductions<Cuda>) -> Result<()> {
        sums.check("fused_refresh", CgSlot::LEN - 1)?;
        self.launch(&CG_FUSED, "fused_refresh", Grid::new(1, 1), arguments![u32::from(resume), &mut sums.scalars])
    }

    fn single_step(&self, n: usize, vectors: SingleVectors<'_, Cuda>, sums: &mut Reductions<Cuda>) -> Result<()> {
        let SingleVectors { u, w, p, s, x, r } = vectors;
        enough("single_step", &[("w", w), ("p", p), ("s", s), ("x", x), ("r", r)], n)?;
        sums.check("single_step", CgSlot::LEN - 1)?;
        let (grid, ticket) = (walk(self, n), self.ticket());
        let Reductions { partials, scalars, .. } = sums;
        let Some(u) = u else {
            let arguments = arguments![n as u64, w, p, s, x, r, partials, scalars, ticket];
            return self.launch(&CG_FUSED, "single_step", grid, arguments);
        };
        enough("single_step", &[("u", u)], n)?;
        let arguments = arguments![n as u64, u, w, p, s, x, r, partials, scalars, ticket];
        self.launch(&CG_FUSED, "single_step_preconditioned", grid, arguments)
    }
}
