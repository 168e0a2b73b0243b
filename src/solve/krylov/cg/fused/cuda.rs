//! Updates of single-reduction and pipelined CG on a GPU: launches of `kernels/cg_fused.cu`.

use super::{FusedSlot, FusedSteps, PipelinedVectors, PreconditionedVectors, SingleVectors};
use crate::Result;
use crate::blas::{Reductions, enough};
use crate::solve::kernel_files::CG_FUSED;
use crate::space::cuda::{Cuda, Grid, arguments};

/// Threads of a block, as in the kernels.
const THREADS: u32 = 256;
/// Blocks that a multiprocessor works on at once: of single-reduction, pipelined and preconditioned pipelined CG.
const BLOCKS: [usize; 3] = [4, 3, 2];
/// Most blocks of an update: each stores three partial sums, of 4096 in all.
const MOST: usize = 1024;

/// A grid that walks `n` items, two at a time, with all blocks resident.
fn walk(space: &Cuda, n: usize, blocks: usize) -> Grid {
    let resident = blocks * space.device().info().multiprocessors as usize;
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
        let (grid, ticket) = (walk(self, n, BLOCKS[0]), self.ticket());
        let Reductions { partials, scalars, .. } = sums;
        let Some(u) = u else {
            let arguments = arguments![n as u64, w, p, s, x, r, partials, scalars, ticket];
            return self.launch(&CG_FUSED, "single_step", grid, arguments);
        };
        enough("single_step", &[("u", u)], n)?;
        let arguments = arguments![n as u64, u, w, p, s, x, r, partials, scalars, ticket];
        self.launch(&CG_FUSED, "single_step_preconditioned", grid, arguments)
    }

    fn pipelined_step(&self, n: usize, vectors: PipelinedVectors<'_, Cuda>, sums: &mut Reductions<Cuda>) -> Result<()> {
        let PipelinedVectors { preconditioned, n: product, z, s, p, x, r, w } = vectors;
        let arrays = [("n", product), ("z", &*z), ("s", &*s), ("p", &*p), ("x", &*x), ("r", &*r), ("w", &*w)];
        enough("pipelined_step", &arrays, n)?;
        sums.check("pipelined_step", FusedSlot::LEN - 1)?;
        let blocks = if preconditioned.is_none() { BLOCKS[1] } else { BLOCKS[2] };
        let (grid, ticket) = (walk(self, n, blocks), self.ticket());
        let Reductions { partials, scalars, .. } = sums;
        let Some(PreconditionedVectors { m, q, u }) = preconditioned else {
            let arguments = arguments![n as u64, product, z, s, p, x, r, w, partials, scalars, ticket];
            return self.launch(&CG_FUSED, "pipelined_step", grid, arguments);
        };
        enough("pipelined_step", &[("m", m), ("q", q), ("u", u)], n)?;
        let arguments = arguments![n as u64, m, product, z, q, s, p, x, r, u, w, partials, scalars, ticket];
        self.launch(&CG_FUSED, "pipelined_step_preconditioned", grid, arguments)
    }
}
