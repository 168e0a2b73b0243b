//! The main job on host spaces.

use super::Job;
use super::clock::Clock;
use super::forecast::{self, Choices, Forecast, Sizes};
use crate::comm::Communicator;
use crate::space::{FreeMemory, HostSpace, peak_bytes};
use crate::{Result, blas};
use std::time::Instant;

impl<S: HostSpace> Job for S {
    fn device(&self) -> String {
        "cpu".into()
    }

    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64> {
        Ok(FreeMemory::now().share(comm.ranks_on_node() as u64))
    }

    fn forecast(sizes: &Sizes, choices: &Choices) -> Forecast {
        forecast::on_host(sizes, choices)
    }

    fn peak_bytes(&self) -> Result<u64> {
        Ok(peak_bytes())
    }

    fn triad_bandwidth(&self, comm: &dyn Communicator) -> Result<f64> {
        Ok(blas::triad(self, blas::triad_length(comm.ranks_on_node()))?.median)
    }
}

impl<S: HostSpace> Clock for S {
    type Mark = Instant;

    fn mark(&self) -> Result<Instant> {
        Ok(Instant::now())
    }

    fn between(&self, before: &Instant, after: &Instant) -> Result<f64> {
        Ok((*after - *before).as_secs_f64())
    }
}
