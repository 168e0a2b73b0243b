//! The main job on a GPU.

use super::Job;
use super::clock::Clock;
use super::forecast::{self, Choices, Forecast, Sizes};
use crate::comm::{Communicator, equal_on_node};
use crate::space::Cuda;
use crate::space::cuda::Event;
use crate::{Result, blas};

impl Job for Cuda {
    fn device(&self) -> String {
        self.device().info().name.clone()
    }

    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64> {
        // A rank whose driver fails joins the sums too, where the others wait for it.
        let (id, memory) = (self.device().id().ok(), self.device().memory());
        // Ranks that see different GPUs may number them alike, so the GPU's own id tells which ranks share it.
        let sharing = equal_on_node(comm, id);
        Ok(memory?.0 / sharing as u64)
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        self.reserve(bytes)
    }

    fn forecast(sizes: &Sizes, choices: &Choices) -> Forecast {
        forecast::on_gpu(sizes, choices)
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
