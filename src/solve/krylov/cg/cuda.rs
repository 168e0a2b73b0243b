//! CG steps on a GPU: launches of `kernels/cg.cu`.

use super::{CgSlot, CgSteps, CgVectors, Quotient, SingleLaunch};
use crate::Result;
use crate::blas::{Reductions, enough};
use crate::solve::kernel_files::CG;
use crate::space::cuda::{Cuda, CudaArray, Grid, arguments};
use crate::sparse::{CrsValues, DeviceMatrix};

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

    fn cg_begin(&self, tolerance: f64, limit: usize, slot: usize, sums: &mut Reductions<Cuda>) -> Result<()> {
        sums.check("cg_begin", CgSlot::LEN - 1)?;
        let arguments = arguments![tolerance, limit as f64, slot as u32, &mut sums.scalars];
        self.launch(&CG, "cg_begin", Grid::new(1, 1), arguments)
    }

    fn cg_check(&self, rr: usize, sums: &mut Reductions<Cuda>) -> Result<()> {
        sums.check("cg_check", CgSlot::LEN - 1)?;
        self.launch(&CG, "cg_check", Grid::new(1, 1), arguments![rr as u32, &mut sums.scalars])
    }

    fn cg_step(
        &self,
        n: usize,
        rz: usize,
        rr_new: usize,
        vectors: CgVectors<'_, Cuda>,
        sums: &mut Reductions<Cuda>,
    ) -> Result<()> {
        let CgVectors { p, q, x, r } = vectors;
        enough("cg_step", &[("p", p), ("q", q), ("x", x), ("r", r)], n)?;
        sums.check("cg_step", CgSlot::LEN - 1)?;
        let (rz, rr_new, ranks, ticket) = (rz as u32, rr_new as u32, sums.ranks_argument(), self.ticket());
        let Reductions { partials, scalars, .. } = sums;
        let arguments = arguments![n as u64, rz, rr_new, p, q, x, r, ranks, partials, scalars, ticket];
        self.launch(&CG, "cg_step", self.walk(n), arguments)
    }

    fn cg_direction(
        &self,
        n: usize,
        rr: usize,
        beta: Quotient,
        z: &CudaArray<f64>,
        p: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
    ) -> Result<()> {
        enough("cg_direction", &[("z", z), ("p", p)], n)?;
        sums.check("cg_direction", CgSlot::LEN - 1)?;
        let Quotient { top, bottom } = beta;
        let (rr, top, bottom) = (rr as u32, top as u32, bottom as u32);
        let arguments = arguments![n as u64, rr, top, bottom, z, p, &mut sums.scalars];
        self.launch(&CG, "cg_direction", self.walk(n), arguments)
    }
}
