//! A stopwatch for the steps of one operation.

use std::time::{Duration, Instant};

/// Wall time of each step of an operation, in the order of the steps. Each mark costs one clock read.
///
/// The clock is the host's. Launches on a GPU are asynchronous, so a step that is marked before the host waits for the GPU
/// does not hold the time of its kernels.
#[derive(Clone, Debug)]
pub struct StepTimes {
    last: Instant,
    steps: Vec<(&'static str, Duration)>,
}

impl Default for StepTimes {
    fn default() -> Self {
        StepTimes { last: Instant::now(), steps: Vec::new() }
    }
}

impl StepTimes {
    /// Adds the time since the last mark (or the start) to `step`. A step that is marked twice holds the sum, so a retried
    /// step reports all its attempts.
    pub fn mark(&mut self, step: &'static str) {
        let now = Instant::now();
        let elapsed = now - std::mem::replace(&mut self.last, now);
        match self.steps.iter_mut().find(|(name, _)| *name == step) {
            Some((_, sum)) => *sum += elapsed,
            None => self.steps.push((step, elapsed)),
        }
    }

    /// Iterates over the steps and their times.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Duration)> + '_ {
        self.steps.iter().copied()
    }
}
