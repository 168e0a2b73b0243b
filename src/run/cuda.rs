//! The main job on a GPU.

use super::Job;
use super::clock::Clock;
use super::forecast::{self, Choices, Forecast, Sizes};
use crate::comm::Communicator;
use crate::space::Cuda;
use crate::space::cuda::Event;
use crate::{Result, blas};

impl Job for Cuda {
    fn device(&self) -> String {
        self.device().info().name.clone()
    }

    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64> {
        // Ranks that see different GPUs may number them alike, so the GPU's own id tells which ranks share it. Ids are
        // compared in 52 bits, which are exact in f64. A rank without an id shares with nobody; the gather is collective.
        let id = self.device().id().map_or(-1.0 - comm.rank() as f64, |id| (id >> 12) as f64);
        // A rank whose driver fails joins the gather too, where the others wait for it.
        let memory = self.device().memory();
        let ids = comm.all_gather(&[id])?;
        Ok(memory?.0 / sharing(id, &ids))
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

/// Returns the number of ranks whose GPU has this id, from the ids of all ranks.
fn sharing(id: f64, ids: &[f64]) -> u64 {
    ids.iter().filter(|&&other| other == id).count().max(1) as u64
}

#[test]
fn ranks_share_the_memory_of_the_gpu_that_they_use_and_of_no_other() {
    // `--device cuda:0` on four ranks, one GPU per rank, and two GPUs for five ranks of two hosts.
    assert_eq!(sharing(7.0, &[7.0; 4]), 4);
    assert_eq!([1.0, 2.0, 3.0].map(|id| sharing(id, &[1.0, 2.0, 3.0])), [1, 1, 1]);
    assert_eq!([5.0, 9.0].map(|id| sharing(id, &[5.0, 9.0, 5.0, 9.0, 5.0])), [3, 2]);
}
