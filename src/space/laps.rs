//! A stopwatch for the steps of one operation.

use std::time::{Duration, Instant};

/// Wall time of each step of an operation, in the order of the steps. Costs a clock read a step.
#[derive(Clone, Debug)]
pub struct Laps {
    last: Instant,
    laps: Vec<(&'static str, Duration)>,
}

impl Default for Laps {
    fn default() -> Self {
        Laps { last: Instant::now(), laps: Vec::new() }
    }
}

impl Laps {
    /// Books the time since the last mark (or the start) under `step`; a step marked twice has the sum.
    pub fn mark(&mut self, step: &'static str) {
        let now = Instant::now();
        let lap = now - std::mem::replace(&mut self.last, now);
        match self.laps.iter_mut().find(|(name, _)| *name == step) {
            Some((_, sum)) => *sum += lap,
            None => self.laps.push((step, lap)),
        }
    }

    /// The steps and their times.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Duration)> + '_ {
        self.laps.iter().copied()
    }
}
