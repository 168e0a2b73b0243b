//! The interface and the common parts of all problems.

use crate::Result;
use crate::comm::{Links, Map};
use crate::element::equations::Model;
use crate::fill::{FieldOn, StoredSystem, Strategy};
use crate::run::clock::Clock;
use crate::run::{Deck, Job, Phases, Progress};
use crate::space::{Array, Slice};

/// The data that every problem is built from.
pub struct Setting<'a, S: Job> {
    /// The settings.
    pub deck: &'a Deck,
    /// The connections to the other ranks.
    pub links: &'a Links<'a, S>,
    /// Receives the times.
    pub phases: &'a Phases,
    /// Receives progress.
    pub progress: &'a dyn Progress,
}

// Derived implementations would demand that spaces are `Copy`.
impl<S: Job> Clone for Setting<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Job> Copy for Setting<'_, S> {}

impl<S: Job> std::fmt::Debug for Setting<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting").field("deck", self.deck).finish_non_exhaustive()
    }
}

/// What distinguishes a problem on this rank's mesh: unknowns, conditions and assembly. Vectors hold owned unknowns, then ghosts.
pub trait Discrete<S: Job> {
    /// Tables of the assembly.
    type Assembly;

    /// Returns the owners of the unknowns.
    fn map(&self) -> &Map;

    /// Returns how many leading rows read no ghost.
    fn interior_rows(&self) -> usize;

    /// Returns whether the Jacobian is symmetric.
    fn is_symmetric(&self) -> bool;

    /// Returns the equation, for an operator without a matrix.
    fn model(&self) -> Model;

    /// Returns this rank's elements.
    fn on(&self) -> FieldOn<'_, S::Memory>;

    /// Returns 1 for each unknown that the boundary conditions fix, 0 for the others.
    ///
    /// # Errors
    /// Lack of memory, or a device's failure; here and below.
    fn fixed(&self, space: &S) -> Result<Array<S, u8>>;

    /// Returns the unknowns at the start: boundary values, zero elsewhere.
    ///
    /// # Errors
    /// As [`fixed`](Self::fixed).
    fn start(&self, space: &S, deck: &Deck) -> Result<Array<S, f64>>;

    /// Prepares the assembly for a system.
    ///
    /// # Errors
    /// As [`fixed`](Self::fixed).
    fn assembly(&self, space: &S, deck: &Deck, strategy: Strategy, system: &StoredSystem<S>) -> Result<Self::Assembly>;

    /// Overwrites the system's values with the Jacobian at `unknowns`, whose ghosts are fresh, and `residual` with the residual.
    ///
    /// # Errors
    /// As [`fixed`](Self::fixed).
    fn assemble(
        &self,
        space: &S,
        assembly: &mut Self::Assembly,
        unknowns: &Slice<S, f64>,
        system: &mut StoredSystem<S>,
        residual: &mut Slice<S, f64>,
    ) -> Result<()>;

    /// Returns the bytes of element matrices that an assembly writes to memory and reads back.
    fn stored_bytes(assembly: &Self::Assembly) -> u64;

    /// Writes pseudo-random numbers, functions of `seed` and the unknown's global id, to the owned items of a vector.
    ///
    /// # Errors
    /// As [`fixed`](Self::fixed).
    fn scatter_by_id(&self, space: &S, seed: u64, vector: &mut Slice<S, f64>) -> Result<()>;
}

/// Phase, calls, begin and end of each piece of work.
pub(super) type Marks<S> = Vec<(&'static str, u64, <S as Clock>::Mark, <S as Clock>::Mark)>;

/// Does `work` between two marks, without waiting.
pub(super) fn step<S: Job, R>(
    space: &S,
    marks: &mut Marks<S>,
    phase: &'static str,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let before = space.mark()?;
    let result = work()?;
    marks.push((phase, 1, before, space.mark()?));
    Ok(result)
}
