//! Updates of single-reduction CG on a GPU: launches of `kernels/cg_fused.cu`.

use super::{FusedSlot, FusedSteps, SingleVectors};
use crate::Result;
use crate::blas::{Reductions, enough};
use crate::solve::kernel_files::CG_FUSED;
use crate::space::cuda::{Cuda, Grid, arguments};

/// Threads of a block, as in the kernels.
const THREADS: u32 = 256;
/// Blocks that a multiprocessor works on at once.
const BLOCKS: usize = 4;
/// Most blocks of an update.
const MOST: usize = 1024;

/// A grid that walks `n` items, two at a time, with all blocks resident.
fn walk(space: &Cuda, n: usize) -> Grid {
    let resident = BLOCKS * space.device().info().multiprocessors as usize;
    Grid::new(n.div_ceil(2 * THREADS as usize).clamp(1, resident.min(MOST)), THREADS)
}

impl FusedSteps for Cuda {
    fn fused_begin(&self, sums: &mut Reductions<Cuda>) -> Result<()> {
        sums.check("fused_begin", FusedSlot::LEN - 1)?;
        self.launch(&CG_FUSED, "fused_begin", Grid::new(1, 1), arguments![&mut sums.scalars])
    }

    fn fused_refresh(&self, resume: bool, sums: &mut Reductions<Cuda>) -> Result<()> {
        sums.check("fused_refresh", FusedSlot::LEN - 1)?;
        self.launch(&CG_FUSED, "fused_refresh", Grid::new(1, 1), arguments![u32::from(resume), &mut sums.scalars])
    }

    fn single_step(&self, n: usize, vectors: SingleVectors<'_, Cuda>, sums: &mut Reductions<Cuda>) -> Result<()> {
        let SingleVectors { u, w, p, s, x, r } = vectors;
        enough("single_step", &[("w", w), ("p", p), ("s", s), ("x", x), ("r", r)], n)?;
        sums.check("single_step", FusedSlot::LEN - 1)?;
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
