//! Every strategy for the graph, the assembly and the product on the same mesh: `minifenl strategies`.
//!
//! ```text
//! graph     strategies                        row offsets, columns and positions are those of the first, bit for bit
//! fill      strategies x element kernels      values and residual agree with the first to 1e-12 of the largest, but for `unsafe`
//! product   formats, and threads per row      y agrees with sums by row on one thread of the host to 1e-12 of the largest
//! ```
//! The first of each step is that of the papers from which this program comes (`inputs/papers.toml`); ratios are relative to it. A time
//! is the median over the rounds of the slowest rank's time. Work of several ranks begins at a barrier. A product reads the ghosts
//! that are there, and exchanges none.

mod compared;
mod fills;
mod graphs;
mod products;
mod study;
mod table;
#[cfg(test)]
mod tests;

pub use compared::{Compared, Promise};
pub(super) use graphs::{numbers, unequal};
pub(super) use study::difference;

use super::choices::choices;
use super::driver::{Place, chosen};
use super::forecast::Sizes;
use super::meshes::made;
use super::provenance::{ProvenanceReport, Start, provenance};
use super::steps::share;
use super::{Deck, Event, Job, Progress};
use crate::comm::{Communicator, agree};
use crate::element::ElementType;
use crate::{Error, Result};
use serde::Serialize;
use study::Study;

/// All strategies on one mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrategyStudy {
    /// Version of this crate.
    pub version: &'static str,
    /// When it began, UTC.
    pub date: String,
    /// Machine, build, settings, and the place of each rank.
    pub provenance: ProvenanceReport,
    /// What computed: "cpu" or the GPU's name.
    pub device: String,
    /// Ranks.
    pub ranks: usize,
    /// Threads of each rank.
    pub threads: usize,
    /// Problem and element: heat on `hex8`.
    pub problem: String,
    /// Nodes along x, y, z.
    pub edges: [u64; 3],
    /// The coordinate map.
    pub map: String,
    /// Nodes of the whole box.
    pub nodes: u64,
    /// Elements of the whole box.
    pub elements: u64,
    /// Rounds of each strategy, after one to warm up.
    pub rounds: usize,
    /// Whether all results are right and all promises kept.
    pub verified: bool,
    /// The strategies, by step.
    pub strategies: Vec<Compared>,
}

/// Compares all strategies on the deck's mesh and device, on all ranks of `comm`. Each rank returns the same numbers.
///
/// # Errors
/// As [`solve`](super::solve), without those of iterations.
pub fn strategies(
    deck: &Deck,
    rounds: usize,
    comm: &dyn Communicator,
    progress: &Progress<'_>,
) -> Result<StrategyStudy> {
    match chosen(deck, comm, progress)? {
        #[cfg(feature = "cuda")]
        Place::Gpu(space) => strategies_on(&space, deck, rounds, comm, progress),
        Place::Host(space) => strategies_on(&space, deck, rounds, comm, progress),
    }
}

/// [`strategies`] on a given space.
///
/// # Errors
/// As [`strategies`].
pub fn strategies_on<S: Job>(
    space: &S,
    deck: &Deck,
    rounds: usize,
    comm: &dyn Communicator,
    progress: &Progress<'_>,
) -> Result<StrategyStudy> {
    let known = Deck { mesh: deck.mesh.clone(), run: deck.run.clone(), ..Deck::default() };
    let why = match (deck.has_fused_kernel(), *deck == known) {
        (true, true) => None,
        (false, _) => Some(format!("strategies: expected heat on hex8; this is {}", deck.described())),
        (true, false) => Some("strategies: expected heat on hex8 and no sections but [mesh] and [run]".to_string()),
    };
    if let Some(why) = why {
        return agree(comm, Err(Error::Invalid(why)));
    }
    let (rounds, start) = (rounds.max(1), Start::now(comm));
    progress(Event::Phase("mesh"))?;
    let part = share(deck, comm)?;
    let spec = *part.spec();
    let (sizes, free) = (Sizes::of_box(&part), agree(comm, space.free_bytes(comm))?);
    let mesh = made(space, comm, ElementType::Hex8, part)?;
    let papers = choices::<S>(&Deck::default().resolved(), space.threads(), &sizes);
    let study = Study { space, comm, mesh: &mesh, sizes, free, papers, rounds, nodes: spec.node_count() };
    study.fits()?;
    progress(Event::Phase("graph"))?;
    let mut strategies = graphs::measure(&study)?;
    progress(Event::Phase("fill"))?;
    strategies.extend(fills::measure(&study)?);
    progress(Event::Phase("product"))?;
    strategies.extend(products::measure(&study)?);
    progress(Event::Done)?;
    Ok(StrategyStudy {
        version: env!("CARGO_PKG_VERSION"),
        date: start.date(comm),
        provenance: provenance(space, deck, comm, &start)?,
        device: space.device(),
        ranks: comm.size(),
        threads: space.threads(),
        problem: deck.described(),
        edges: spec.nodes(),
        map: spec.map().to_string(),
        nodes: spec.node_count(),
        elements: spec.elem_count(),
        rounds,
        verified: strategies.iter().all(Compared::is_good),
        strategies,
    })
}
