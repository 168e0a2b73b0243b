//! The forecast of a run: sizes of the parts, memory by stage, what is free.
//!
//! Allocates nothing that grows with the mesh. Without a usable GPU, a run on a GPU is forecast too; its free memory is unknown
//! then, and nothing is compared.

mod table;

use super::choices::forecast;
use super::deck::Chosen;
use super::driver::{device, pool};
use super::forecast::{Choices, Forecast, Sizes};
use super::meshes::preconditioned;
use super::problem::Case;
use super::steps::share;
use super::{Deck, Event, Job, Progress};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::comm::{Communicator, agree, default_threads, failing};
use crate::mesh::BoxPart;
use crate::space::{FreeMemory, Threads};

/// Sizes and memory of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankForecast {
    /// The rank.
    pub rank: usize,
    /// Its part of the box.
    pub sizes: Sizes,
    /// Its memory by stage.
    pub forecast: Forecast,
    /// Bytes that are free for its stages, and for its staging on the host. `None` where the GPU is not there.
    pub free: Option<[u64; 2]>,
}

/// The forecast of a run.
#[derive(Clone, Debug)]
pub struct DryRun {
    /// Points of the grid of the whole box along x, y, z.
    pub points: [u64; 3],
    /// Nodes of the whole box.
    pub nodes: u64,
    /// Elements of the whole box.
    pub elements: u64,
    /// Problem and element, unless it is heat on `hex8`.
    pub problem: Option<String>,
    /// Ranks.
    pub ranks: usize,
    /// Threads of each rank.
    pub threads: usize,
    /// What would compute: "cpu", the name of a GPU, or "a GPU".
    pub device: String,
    /// The algorithms.
    pub choices: Choices,
    /// Method and preconditioner of the linear solves, such as "CG classic with mg".
    pub solver: String,
    /// The lowest rank that needs the most memory; the same on all ranks.
    pub largest: RankForecast,
    /// Whether all ranks fit; `None` where the free memory of some rank is unknown.
    pub fits: Option<bool>,
    /// This rank.
    pub own: RankForecast,
}

/// Forecasts the run that the deck describes, on all ranks of `comm`.
///
/// # Errors
/// Ranks whose settings, version or build differ, and bad input, as [`solve`](super::solve). A run that does not fit is not an
/// error here; [`DryRun::check`] makes it one.
pub fn dry_run(deck: &Deck, comm: &dyn Communicator, progress: &Progress<'_>) -> Result<DryRun> {
    let chosen = device(deck, comm)?;
    let threads = || deck.run.threads.unwrap_or_else(|| default_threads(comm));
    match chosen {
        #[cfg(feature = "cuda")]
        chosen if matches!(deck.run.device, super::Device::Cuda(_)) && failing(comm, chosen.is_err()).is_some() => {
            let why = chosen.err().map_or("another rank cannot use its GPU".into(), |error| error.to_string());
            progress(Event::Notice(&format!("free memory is unknown: {why}")))?;
            of_ranks::<crate::space::Cuda>(deck, comm, "a GPU".into(), 1, None)
        }
        chosen => match agree(comm, chosen)? {
            #[cfg(feature = "cuda")]
            Chosen::Cuda(ordinal) => {
                let space = agree(comm, crate::space::Cuda::new(ordinal))?;
                let free = agree(comm, space.free_bytes(comm))?;
                of_ranks::<crate::space::Cuda>(deck, comm, Job::device(&space), 1, Some(free))
            }
            Chosen::Cpu { notice } => {
                notice.iter().try_for_each(|text| progress(Event::Notice(text)))?;
                // Memory is free beside the threads, as it is in the run.
                let space = agree(comm, pool(threads()))?;
                let free = agree(comm, space.free_bytes(comm))?;
                of_ranks::<Threads>(deck, comm, space.device(), threads(), Some(free))
            }
        },
    }
}

/// The forecasts of all ranks on a kind of space, of whose memory `free` bytes are left to this rank.
fn of_ranks<S: Job>(
    deck: &Deck,
    comm: &dyn Communicator,
    device: String,
    threads: usize,
    free: Option<u64>,
) -> Result<DryRun> {
    let deck = &deck.resolved();
    let part = share(deck, comm)?;
    let deck = &agree(comm, preconditioned::<S>(deck, part.spec(), comm.size()))?;
    let (spec, case) = (part.spec(), Case::new(deck, part.spec()));
    let (sizes, choices, own) = forecast::<S>([comm.rank(), comm.size()], &part, &case, deck, threads);
    let on_host = FreeMemory::now().share(comm.ranks_on_node() as u64);
    let own = RankForecast { rank: comm.rank(), sizes, forecast: own, free: free.map(|free| [free, on_host]) };
    let is_unknown = failing(comm, own.free.is_none()).is_some();
    let fits = failing(comm, own.check(comm).is_err()).is_none();
    // The rank that needs the most memory at its peak, the lowest of them, with its threads and its free memory, which the others do not
    // know. Numbers below 2^53 are exact in f64.
    let [free, on_host] = own.free.unwrap_or_default();
    let all = comm.all_gather(&[own.forecast.peak(), threads as u64, free, on_host].map(|number| number as f64))?;
    let all = all.as_chunks::<4>().0;
    let most = all.iter().map(|rank| rank[0]).fold(0.0, f64::max);
    let rank = all.iter().position(|rank| rank[0] == most).unwrap_or(0);
    let [_, of_rank, free, on_host] = all[rank].map(|number| number as u64);
    let part = agree(comm, BoxPart::new(spec, rank, comm.size()))?;
    let (sizes, _, of_rank) = forecast::<S>([rank, comm.size()], &part, &case, deck, of_rank as usize);
    let largest = RankForecast { rank, sizes, forecast: of_rank, free: own.free.map(|_| [free, on_host]) };
    let [nodes, elements] = Sizes::whole(spec, deck.mesh.element);
    Ok(DryRun {
        points: spec.nodes(),
        nodes,
        elements,
        problem: (!deck.has_fused_kernel()).then(|| deck.described()),
        ranks: comm.size(),
        threads,
        device,
        solver: deck.solver().described(&choices.variant, deck.preconditioning()),
        choices,
        largest,
        fits: (!is_unknown).then_some(fits),
        own,
    })
}

impl RankForecast {
    /// Rejects a rank that does not fit; one whose free memory is unknown passes.
    ///
    /// # Errors
    /// As [`Forecast::check`].
    pub fn check(&self, comm: &dyn Communicator) -> Result<()> {
        self.free.map_or(Ok(()), |[free, on_host]| self.forecast.check(comm, free, on_host))
    }
}

impl DryRun {
    /// Rejects a run that does not fit, with the error of the run itself. Collective.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] on the lowest rank that does not fit,
    /// [`Error::Elsewhere`] on all others.
    pub fn check(&self, comm: &dyn Communicator) -> Result<()> {
        agree(comm, self.own.check(comm))
    }
}
