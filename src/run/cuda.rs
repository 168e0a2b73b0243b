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
        // A rank whose driver fails joins the sums too, where the others wait for it.
        let (id, memory) = (self.device().id().ok(), self.device().memory());
        let sharing = sharing(id, comm.rank_on_node(), comm.ranks_on_node(), |value| comm.node_sum(value));
        Ok(memory?.0 / sharing)
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

/// Returns the number of ranks of this node that use the GPU with this id. Ranks that see different GPUs may number them alike,
/// so the GPU's own id is compared, one rank's after the other's: no rank holds a table. A rank without an id shares with nobody.
fn sharing(id: Option<u64>, rank: usize, ranks: usize, mut node_sum: impl FnMut(u64) -> u64) -> u64 {
    let told = |by: usize| node_sum(if by == rank { id.unwrap_or(0) } else { 0 });
    let same = (0..ranks).map(told).filter(|&other| Some(other) == id);
    same.count().max(1) as u64
}

#[test]
fn ranks_share_the_memory_of_the_gpu_that_they_use_and_of_no_other() {
    let shares = |ids: &[Option<u64>]| -> Vec<u64> {
        let share = |rank: usize| {
            let mut by = 0..ids.len();
            // The sum of a node whose other ranks say what they should.
            let node_sum = |value: u64| {
                let by = by.next().unwrap();
                assert_eq!(value, if by == rank { ids[rank].unwrap_or(0) } else { 0 });
                ids[by].unwrap_or(0)
            };
            sharing(ids[rank], rank, ids.len(), node_sum)
        };
        (0..ids.len()).map(share).collect()
    };
    // `--device cuda:0` on four ranks, one GPU per rank, two GPUs for five ranks, and drivers that fail.
    assert_eq!(shares(&[Some(7); 4]), [4; 4]);
    assert_eq!(shares(&[Some(1), Some(2), Some(u64::MAX)]), [1; 3]);
    assert_eq!(shares(&[5, 9, 5, 9, 5].map(Some)), [3, 2, 3, 2, 3]);
    assert_eq!(shares(&[None, Some(4), None, Some(4)]), [1, 2, 1, 2]);
}
