//! Shared by the steps of the study: timing, agreement of the ranks, memory, and how results are compared.

use super::compared::Compared;
use crate::comm::{Communicator, agree, failing};
use crate::mesh::Mesh;
use crate::run::Job;
use crate::run::forecast::{Choices, Forecast, Sizes};
use crate::run::report::SpreadReport;
use crate::space::FreeMemory;
use crate::sparse::Format;
use crate::{Error, Result, fill, graph};
use std::hash::{DefaultHasher, Hasher};
use std::time::Instant;

/// Largest difference of sums of rounded numbers, relative to the largest expected value.
pub(super) const TOLERANCE: f64 = 1e-12;

/// Shortest time of the calls of a round, in seconds: launches take microseconds.
const SHORTEST: f64 = 2e-4;

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

/// Arrays of a result.
pub(in crate::run) type Numbers = Vec<Vec<f64>>;
/// Distance of a result from the reference.
type Distance = fn(&Numbers, &Numbers) -> f64;

impl<S: Job> Study<'_, S> {
    /// Measures a strategy, and completes its line: `prepare` makes what `work` uses, and `numbers` downloads what work and its last result left. They are
    /// compared with `reference` by `distance`; without one, the numbers of this strategy become it. A call warms up; those of a round
    /// take [`SHORTEST`] or longer, or are 64, and begin on all ranks together between two waits for the space. What the device refuses by name is
    /// not measured.
    pub fn measured<T, R>(
        &self,
        mut compared: Compared,
        choices: &Choices,
        (reference, distance): (&mut Option<Numbers>, Distance),
        prepare: impl FnOnce() -> Result<T>,
        mut work: impl FnMut(&mut T) -> Result<R>,
        mut numbers: impl FnMut(&mut T, &R) -> Result<Numbers>,
    ) -> Result<Compared> {
        let Study { space, comm, .. } = *self;
        compared.run_bytes = self.run_bytes(choices);
        let first = prepare().and_then(|mut state| work(&mut state).map(|result| (state, result)));
        // What one rank refuses, no rank measures.
        if failing(comm, matches!(first, Err(Error::Invalid(_)))).is_some() {
            return Ok(compared);
        }
        let (mut state, result) = agree(comm, first)?;
        let first = agree(comm, numbers(&mut state, &result))?;
        let bits = fingerprint(&first);
        // One of these results is kept.
        let reference = reference.get_or_insert(first);
        let mut result = Some(result);
        let mut round = |calls: usize, state: &mut T, result: &mut Option<R>| {
            *result = None;
            space.fence()?;
            comm.barrier();
            let start = Instant::now();
            let done = (0..calls).try_for_each(|_| work(state).map(|done| *result = Some(done)));
            let done = done.and_then(|()| space.fence());
            let seconds = start.elapsed().as_secs_f64();
            agree(comm, done).map(|()| seconds / calls as f64)
        };
        let calls = calls(comm, round(1, &mut state, &mut result)?);
        let seconds = (0..self.rounds).map(|_| round(calls, &mut state, &mut result));
        compared.seconds = seconds.collect::<Result<_>>()?;
        comm.all_max(&mut compared.seconds);
        let last = result.as_ref().map_or(Ok(Numbers::new()), |result| numbers(&mut state, result));
        let last = agree(comm, last)?;
        compared.is_repeatable = Some(failing(comm, fingerprint(&last) != bits).is_none());
        // A maximum may pass over a NaN.
        let difference = distance(&last, reference);
        let mut largest = [if difference.is_nan() { f64::INFINITY } else { difference }];
        comm.all_max(&mut largest);
        compared.difference = Some(largest[0]);
        compared.median_seconds = Some(SpreadReport::new(&compared.seconds).median_seconds);
        compared.us_per_node = compared.median_seconds.map(|seconds| 1e6 * seconds / self.nodes as f64);
        Ok(compared)
    }

    /// Refuses the study if a strategy with the results that are compared needs more memory than is free.
    pub fn fits(&self) -> Result<()> {
        let Study { sizes, papers, comm, .. } = self;
        let graphs = graph::Strategy::ALL.map(|(graph, _)| Choices { graph, ..*papers });
        let fills = fill::Strategy::ALL
            .into_iter()
            .flat_map(|(fill, _)| fill::Kernel::ALL.map(|(kernel, _)| Choices { fill, kernel, ..*papers }));
        let formats = Format::ALL.map(|(format, _)| Choices { storage: format.into(), ..*papers });
        let forecasts = graphs.into_iter().chain(fills).chain(formats).map(|all| Forecast::of::<S>(sizes, &all));
        let Some(largest) = forecasts.max_by_key(Forecast::peak) else { return Ok(()) };
        // The largest result is that of a graph: the reference, another one, and positions that are on their way to it.
        let (rows, positions) = (sizes.rows(), 64 * sizes.elems);
        let copies = 16 * (rows + 1 + sizes.matrix().shape.entries as u64 + positions) + 4 * positions;
        let on_host = FreeMemory::now().share(comm.ranks_on_node() as u64);
        agree(*comm, largest.with_copies::<S>(copies).check(*comm, self.free, on_host))
    }

    /// The bytes that a run needs on all ranks.
    pub fn run_bytes(&self, choices: &Choices) -> u64 {
        let mut bytes = [Forecast::of::<S>(&self.sizes, choices).peak()];
        self.comm.all_sum_u64(&mut bytes);
        bytes[0]
    }
}

/// Returns the calls of a round, given the seconds of one: those of the slowest rank, since a call may wait for all ranks.
fn calls(comm: &dyn Communicator, seconds: f64) -> usize {
    let mut slowest = [seconds];
    comm.all_max(&mut slowest);
    (SHORTEST / slowest[0].max(1e-7)).ceil().clamp(1.0, 64.0) as usize
}

/// Returns the largest difference, relative to the largest expected value; NaN if any difference is NaN.
pub(in crate::run) fn difference(found: &[f64], expected: &[f64]) -> f64 {
    if found.len() != expected.len() {
        return f64::INFINITY;
    }
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |max, x| max.max(x.abs()));
    let larger = |max: f64, d: f64| if d > max || d.is_nan() { d } else { max };
    found.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale).fold(0.0, larger)
}

/// The largest [`difference`] of two results; NaN if one is.
pub(super) fn largest_difference(found: &Numbers, expected: &Numbers) -> f64 {
    let larger = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
    found.iter().zip(expected).map(|(found, expected)| difference(found, expected)).fold(0.0, larger)
}

/// A rough value for each global id, between 1 and 2.
pub(super) fn wave(id: u64) -> f64 {
    1.5 + 0.5 * (0.37 * id as f64).sin()
}

/// [`wave`] of all nodes of this rank, owned and ghosts.
pub(super) fn waves<S: Job>(study: &Study<'_, S>) -> Vec<f64> {
    (0..study.mesh.map.local_count() as u32).map(|node| wave(study.mesh.global_node(node))).collect()
}

/// A number that tells the bits of a result from others.
pub(super) fn fingerprint(numbers: &Numbers) -> u64 {
    let mut hasher = DefaultHasher::new();
    numbers.iter().flatten().for_each(|number| hasher.write_u64(number.to_bits()));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::on_ranks;

    #[test]
    fn all_ranks_make_the_calls_of_the_slowest() {
        let of = |seconds: [f64; 3]| on_ranks(3, |comm| calls(comm, seconds[comm.rank()]));
        assert_eq!(of([SHORTEST / 40.0, SHORTEST / 3.5, SHORTEST / 10.0]), [4; 3]);
        assert_eq!((of([0.0; 3]), of([0.0, 0.0, SHORTEST])), (vec![64; 3], vec![1; 3]));
    }
}
