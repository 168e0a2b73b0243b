//! What a problem is built from.

use crate::comm::Links;
use crate::mesh::Mesh;
use crate::run::{Deck, Job, Phases, Progress};

/// The data from which a problem is built.
pub struct ProblemInput<'a, S: Job> {
    /// The settings.
    pub deck: &'a Deck,
    /// The connections to the other ranks.
    pub links: &'a Links<'a, S>,
    /// The tables of this rank.
    pub mesh: &'a Mesh<S::Memory>,
    /// Meshes of coarser boxes, finest first, for a multigrid preconditioner.
    pub coarse: &'a [Mesh<S::Memory>],
    /// Receives the times.
    pub phases: &'a Phases,
    /// Receives progress.
    pub progress: &'a Progress<'a>,
}

impl<S: Job> std::fmt::Debug for ProblemInput<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProblemInput").field("deck", self.deck).finish_non_exhaustive()
    }
}
