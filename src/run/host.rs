//! The main job on hosts.

use super::Job;
use crate::comm::Communicator;
use crate::space::{FreeMemory, Scan, Threads, peak_bytes};
use crate::{Result, blas};
use std::time::Instant;

impl Job for Threads {
    type Mark = Instant;

    fn mark(&self) -> Result<Instant> {
        Ok(Instant::now())
    }

    fn between(&self, before: &Instant, after: &Instant) -> Result<f64> {
        Ok((*after - *before).as_secs_f64())
    }

    fn device(&self) -> String {
        "cpu".into()
    }

    fn scan(&self, rows: usize) -> Scan {
        Scan::of(self, rows)
    }

    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64> {
        Ok(FreeMemory::now().share(comm.ranks_on_node() as u64))
    }

    fn peak_bytes(&self) -> Result<u64> {
        Ok(peak_bytes())
    }

    fn triad_seconds(&self, comm: &dyn Communicator) -> f64 {
        // Three arrays are written for the first time, at 1 GB/s where pages are slow; a pass to warm up at 4 GB/s; passes for 0.4 s.
        let gb = 24e-9 * blas::triad_length(comm.ranks_on_node()) as f64;
        gb + 2.0 * gb / 4.0 + 0.4
    }

    fn triad_bandwidth(&self, comm: &dyn Communicator) -> Result<f64> {
        Ok(blas::triad(self, blas::triad_length(comm.ranks_on_node()))?.median)
    }
}
