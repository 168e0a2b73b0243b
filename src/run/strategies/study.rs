//! Shared by the steps of the study: timing, agreement of the ranks, memory, and how results are compared.

use super::compared::{Compared, Promise};
use crate::comm::{Communicator, agree, failing};
use crate::mesh::Mesh;
use crate::run::Job;
use crate::run::forecast::{Choices, Sizes};
use crate::space::FreeMemory;
use crate::{Error, Result};
use std::time::Instant;

/// Largest difference of sums of rounded numbers, relative to the largest expected value.
pub(super) const TOLERANCE: f64 = 1e-12;

/// What all steps share.
pub(super) struct Study<'a, S: Job> {
    pub space: &'a S,
    pub comm: &'a dyn Communicator,
    pub mesh: &'a Mesh<S::Memory>,
    pub sizes: Sizes,
    /// Bytes that this rank may use.
    pub free: u64,
    /// The choices of the papers.
    pub papers: Choices,
    pub rounds: usize,
    pub nodes: u64,
}

/// The result of the rounds of one strategy on this rank.
pub(super) struct Rounds {
    pub seconds: Vec<f64>,
    pub difference: f64,
    pub is_repeatable: bool,
}

impl<S: Job> Study<'_, S> {
    /// Does `work` between two waits for the space, beginning on all ranks together: seconds and result.
    pub fn timed<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<(f64, R)> {
        self.space.fence()?;
        self.comm.barrier();
        let start = Instant::now();
        let result = work().and_then(|result| self.space.fence().map(|()| result));
        let seconds = start.elapsed().as_secs_f64();
        agree(self.comm, result).map(|result| (seconds, result))
    }

    /// Whether the device offers a strategy: what it refuses by name, all ranks refuse.
    pub fn offered<R>(&self, result: Result<R>) -> Result<Option<R>> {
        agree(
            self.comm,
            match result {
                Err(Error::Invalid(_)) => Ok(None),
                result => result.map(Some),
            },
        )
    }

    /// Refuses a strategy that needs more memory than is free. Returns what a run with it needs on all ranks.
    pub fn fits(&self, choices: &Choices) -> Result<u64> {
        let forecast = S::forecast(&self.sizes, choices);
        let on_host = FreeMemory::now().share(self.comm.ranks_on_node() as u64);
        agree(self.comm, forecast.check(self.comm, self.free, on_host))?;
        let mut bytes = [forecast.peak()];
        self.comm.all_sum_u64(&mut bytes);
        Ok(bytes[0])
    }

    /// The line of a strategy; `seeds` is the median of the papers' one. `None`: the device does not offer it.
    pub fn compared(
        &self,
        (step, name): (&'static str, String),
        is_seeds: bool,
        choices: &Choices,
        (tolerance, promise): (f64, Promise),
        rounds: Option<Rounds>,
    ) -> Result<Compared> {
        let run_bytes = self.fits(choices)?;
        let is_repeatable = rounds.as_ref().map(|rounds| failing(self.comm, !rounds.is_repeatable).is_none());
        let (mut seconds, mut difference) =
            rounds.map_or((vec![], None), |rounds| (rounds.seconds, Some(rounds.difference)));
        self.comm.all_max(&mut seconds);
        if let Some(difference) = &mut difference {
            // A maximum may pass over a NaN.
            let mut largest = [if difference.is_nan() { f64::INFINITY } else { *difference }];
            self.comm.all_max(&mut largest);
            *difference = largest[0];
        }
        let median_seconds = median(&seconds);
        let us_per_node = median_seconds.map(|seconds| 1e6 * seconds / self.nodes as f64);
        Ok(Compared {
            step,
            name,
            is_seeds,
            seconds,
            median_seconds,
            us_per_node,
            speedup: None,
            run_bytes,
            difference,
            tolerance,
            promise,
            is_repeatable,
        })
    }
}

pub(super) fn median(seconds: &[f64]) -> Option<f64> {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some(0.5 * (sorted[middle - 1] + sorted[middle])),
    }
}

/// Returns the largest difference, relative to the largest expected value; NaN if any difference is NaN.
pub(super) fn difference(found: &[f64], expected: &[f64]) -> f64 {
    if found.len() != expected.len() {
        return f64::INFINITY;
    }
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |max, x| max.max(x.abs()));
    let larger = |max: f64, d: f64| if d > max || d.is_nan() { d } else { max };
    found.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale).fold(0.0, larger)
}

/// A rough value for each global id, between 1 and 2.
pub(super) fn wave(id: u64) -> f64 {
    1.5 + 0.5 * (0.37 * id as f64).sin()
}

/// [`wave`] of all nodes of this rank, owned and ghosts.
pub(super) fn waves<S: Job>(study: &Study<'_, S>) -> Vec<f64> {
    (0..study.mesh.map.local_count() as u32).map(|node| wave(study.mesh.global_node(node))).collect()
}

pub(super) fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
