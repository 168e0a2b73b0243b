//! The main job on a GPU.

use super::Job;
use super::clock::Clock;
use crate::comm::Communicator;
use crate::space::Cuda;
use crate::space::cuda::{Event, devices};
use crate::{Result, blas};

impl Job for Cuda {
    fn device(&self) -> String {
        self.device().info().name.clone()
    }

    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64> {
        // Ranks on one GPU share its memory.
        let sharing = comm.ranks_on_node().div_ceil(devices()?.len()) as u64;
        Ok(self.device().memory()?.0 / sharing)
    }

    fn peak_bytes(&self) -> Result<u64> {
        self.device().peak_bytes()
    }

    fn triad_bandwidth(&self, comm: &dyn Communicator) -> Result<f64> {
        let items = (Job::free_bytes(self, comm)? / 64).min(1 << 28) as usize;
        Ok(blas::triad_on_gpu(self, items)?.median)
    }
}

impl Clock for Cuda {
    type Mark = Event;

    fn mark(&self) -> Result<Event> {
        self.record()
    }

    fn between(&self, before: &Event, after: &Event) -> Result<f64> {
        Ok(after.since(before)?.as_secs_f64())
    }
}
