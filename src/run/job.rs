//! What the driver asks of a space: the stages of the main job, each on data in the space's own memory.

use super::deck::ProblemDeck;
use super::{Analytic, Deck, Phases, Progress};
use crate::blas::Blas;
use crate::comm::Communicator;
use crate::graph::{BuildGraph, Graph};
use crate::mesh::{BoxPart, Mesh};
use crate::solve::NonlinearProblem;
use crate::space::Array;
use crate::{Result, fill};

/// A space on which the main job runs.
pub trait Job: BuildGraph + Blas {
    /// The nonlinear problem with its matrix and working memory.
    type Problem<'a>: Problem<Self>
    where
        Self: 'a;

    /// The fill that suits the space best.
    const FILL: fill::Strategy;

    /// What computes, for the report: "cpu" or the GPU's name.
    fn device(&self) -> String;

    /// Threads of the host that take part.
    fn threads(&self) -> usize;

    /// Bytes that this rank may use.
    ///
    /// # Errors
    /// A device's failure, here and below.
    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64>;

    /// Most bytes used at once so far.
    ///
    /// # Errors
    /// As [`free_bytes`](Self::free_bytes).
    fn peak_bytes(&self) -> Result<u64>;

    /// This rank's triad bandwidth in GB/s.
    ///
    /// # Errors
    /// As [`free_bytes`](Self::free_bytes).
    fn triad_bandwidth(&self, comm: &dyn Communicator) -> Result<f64>;

    /// The tables of a part of the box, no element of it folded.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) beyond `free` bytes, [`Error::Folded`](crate::Error::Folded).
    fn mesh(&self, part: BoxPart, free: u64) -> Result<Mesh<Self::Memory>>;

    /// Longest element edge of this rank.
    ///
    /// # Errors
    /// As [`free_bytes`](Self::free_bytes).
    fn mesh_longest_edge(&self, mesh: &Mesh<Self::Memory>) -> Result<f64>;

    /// The start of Newton's iteration: the boundary values, zero elsewhere; owned nodes and ghosts.
    ///
    /// # Errors
    /// As [`free_bytes`](Self::free_bytes).
    fn start(&self, mesh: &Mesh<Self::Memory>, problem: &ProblemDeck) -> Result<Array<Self, f64>>;

    /// The exact temperature at the owned nodes.
    ///
    /// # Errors
    /// As [`free_bytes`](Self::free_bytes).
    fn exact(&self, mesh: &Mesh<Self::Memory>, exact: &Analytic) -> Result<Array<Self, f64>>;

    /// Prepares fill, boundary conditions, matrix and solver.
    ///
    /// # Errors
    /// As [`free_bytes`](Self::free_bytes).
    fn problem<'a>(&'a self, given: Given<'a, Self>) -> Result<Self::Problem<'a>>;
}

/// What a problem is made of.
pub struct Given<'a, S: Job> {
    /// The settings.
    pub deck: &'a Deck,
    /// The ranks.
    pub comm: &'a dyn Communicator,
    /// This rank's tables.
    pub mesh: &'a Mesh<S::Memory>,
    /// Its graph.
    pub graph: &'a Graph<S::Memory>,
    /// K.
    pub conductivity: f64,
    /// Where times are booked.
    pub phases: &'a Phases,
    /// Who is told.
    pub progress: &'a dyn Progress,
}

impl<S: Job> std::fmt::Debug for Given<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Given").field("deck", self.deck).finish_non_exhaustive()
    }
}

/// The nonlinear problem, with what the report wants to know of it.
pub trait Problem<S: Job>: NonlinearProblem<S> {
    /// Entries that the boundary conditions write.
    fn boundary_entries(&self) -> usize;

    /// Bytes that a halo exchange sends.
    fn halo_bytes(&self) -> usize;

    /// Books the times that are not yet booked; the work is done.
    ///
    /// # Errors
    /// A device's failure.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}
