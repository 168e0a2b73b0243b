//! A problem on any space: what Newton's steps assemble and solve. [`Discrete`] says what distinguishes one problem from another.
//!
//! ```text
//! assemble   u's ghosts -> residual F(u) and Jacobian J(u) -> Dirichlet conditions
//! solve      J's values in the storage format -> CG: J delta = F -> true residual
//! finish     symmetry of the last J
//! ```
//! All arrays stay in the memory of the space. Steps are timed by marks in the space's order of work, read when a solve is done.

mod auto_format;
mod brick;
mod case;
#[cfg(test)]
mod format_tests;
mod heat;
mod model;

pub use auto_format::ChosenFormat;
pub(super) use auto_format::expected;
pub(super) use case::Case;
pub use heat::{HeatProblem, ProblemInput};
pub(super) use model::{Elements, ModelProblem, OnElements, on_host};

use super::clock::Clock;
use super::deck::Choice;
use super::{Deck, Job, Phases, Progress};
use crate::comm::{Halo, Links, Map, agree};
use crate::fill::StoredSystem;
use crate::graph::Graph;
use crate::solve::{
    CgWorkspace, DistributedOperator, Identity, LinearSystem, NonlinearProblem, SolveInfo, Symmetry, cg, symmetry,
    true_residual,
};
use crate::space::{Array, MemorySpace, Slice};
use crate::sparse::{MatrixStorage, Product};
use crate::{Result, fill};

/// Number of products that are timed separately if a solve cannot time them, since its launches are asynchronous.
const TIMED_PRODUCTS: usize = 20;

/// Seeds of the two vectors of the test for symmetry.
const SEEDS: [u64; 2] = [0x6d69_6e69, 0x6665_6e6c];

/// The data that every problem is built from.
#[derive(Clone, Copy)]
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
    fn assembly(
        &self,
        space: &S,
        deck: &Deck,
        strategy: fill::Strategy,
        system: &StoredSystem<S>,
    ) -> Result<Self::Assembly>;

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

/// A problem with its matrix and working memory, reused by all Newton steps.
pub struct Problem<'a, S: Job, D: Discrete<S>> {
    space: &'a S,
    input: Setting<'a, S>,
    discrete: D,
    assembly: D::Assembly,
    system: StoredSystem<S>,
    rows: usize,
    halo: Halo<S>,
    workspace: CgWorkspace<S>,
    /// Work whose time is not read yet: a device passes its marks later.
    marks: Marks<S>,
    /// The linear solve that ended Newton's iteration.
    stopped: Option<SolveInfo>,
    chosen: ChosenFormat,
    /// Whether `chosen` is final.
    is_chosen: bool,
}

/// Phase, calls, begin and end of each piece of work.
type Marks<S> = Vec<(&'static str, u64, <S as Clock>::Mark, <S as Clock>::Mark)>;

/// Does `work` between two marks, without waiting.
fn step<S: Job, R>(
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

impl<S: Job, D: Discrete<S>> std::fmt::Debug for Problem<'_, S, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Problem").field("space", &self.space).finish_non_exhaustive()
    }
}

impl<'a, S: Job, D: Discrete<S>> Problem<'a, S, D> {
    /// Prepares halo, boundary conditions, matrix, assembly and solver. All ranks call it together. Takes the graph of this rank's
    /// rows, and frees what the matrix does not need of it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had; a failure of a device or of MPI.
    pub fn of(space: &'a S, input: Setting<'a, S>, discrete: D, graph: Graph<S::Memory>) -> Result<Self> {
        let Setting { deck, links, .. } = input;
        let columns = discrete.map().local_count();
        let strategy = deck.fill.strategy.or(S::STRATEGY);
        let (rows, entries) = (graph.crs.rows(), graph.crs.nnz());
        // Equations and settings are the same on all ranks, and so is a refusal.
        let chosen = auto_format::before::<S>(deck, discrete.is_symmetric(), [rows, entries], links.comm())?;
        let storage = MatrixStorage { format: chosen.format, ..deck.storage::<S>() };
        let mut marks = Vec::new();
        // First, and agreed upon, since all ranks make it together: a rank that fails alone leaves no other in the middle of it.
        let before = agree(links.comm(), space.mark())?;
        let halo = links.halo(space, discrete.map())?;
        marks.push(("setup/halo", 1, before, space.mark()?));
        let conditions = step(space, &mut marks, "setup/boundary", || {
            let fixed = discrete.fixed(space)?;
            space.dirichlet(&graph.crs, S::Memory::slice(&fixed))
        })?;
        let mut system =
            step(space, &mut marks, "setup/format", || space.stored_system(strategy, storage, graph, conditions))?;
        if let Some(lanes) = deck.matrix.lanes.given() {
            S::set_lanes(&mut system.matrix, lanes);
        }
        let mut problem = Problem {
            assembly: step(space, &mut marks, "setup/fill", || discrete.assembly(space, deck, strategy, &system))?,
            discrete,
            system,
            rows,
            halo,
            workspace: step(space, &mut marks, "setup/cg", || match deck.cg.variant {
                Choice::Auto => CgWorkspace::new(space, rows, columns),
                Choice::Given(variant) => CgWorkspace::of_variant(space, rows, columns, variant),
            })?,
            marks,
            stopped: None,
            chosen,
            is_chosen: false,
            space,
            input,
        };
        problem.book()?;
        Ok(problem)
    }

    /// The unknowns at the start of Newton's iteration: the boundary values, zero elsewhere; owned ones and ghosts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn start(&self) -> Result<Array<S, f64>> {
        self.discrete.start(self.space, self.input.deck)
    }

    /// Gives the ghosts of a vector the values of their owners. All ranks call it together.
    ///
    /// # Errors
    /// The failure of a device or of the transport.
    pub fn refresh(&mut self, vector: &mut Slice<S, f64>) -> Result<()> {
        self.halo.update(self.space, vector)
    }

    /// Returns the linear solve that ended Newton's iteration with an error, if one did. Its solution was not applied.
    pub fn stopped(&self) -> Option<SolveInfo> {
        self.stopped
    }

    /// Number of entries that the boundary conditions write.
    pub fn boundary_entries(&self) -> usize {
        self.system.conditions.len()
    }

    /// Bytes that a halo exchange sends.
    pub fn halo_bytes(&self) -> usize {
        self.halo.bytes_sent()
    }

    /// Returns the storage format of the matrix and why it was chosen.
    pub fn format(&self) -> &ChosenFormat {
        &self.chosen
    }

    /// Number of values that an assembly writes, of a matrix with so many entries.
    pub fn assembled_entries(&self, entries: u64) -> u64 {
        // Without padding, and of symmetric halves each pair once.
        entries.min(S::assembled_len(&self.system.matrix) as u64)
    }

    /// Bytes that a product with the matrix has to move.
    pub fn product_bytes(&self) -> u64 {
        S::operator(&self.system.matrix).bytes() as u64
    }

    /// Bytes of element matrices that an assembly writes to memory and reads back.
    pub fn stored_bytes(&self) -> u64 {
        D::stored_bytes(&self.assembly)
    }

    /// Measures the symmetry of the last Jacobian and records the remaining times. If the deck asks for bandwidths and a solve
    /// cannot time its products, times some of them here. All ranks call it together.
    ///
    /// # Errors
    /// A device's failure.
    pub fn finish(&mut self) -> Result<Symmetry> {
        if self.input.deck.run.triad == Some(true) && !S::SYNCHRONOUS {
            let (columns, rows) = (self.discrete.map().local_count(), self.rows);
            let (x, mut y): (Array<S, f64>, Array<S, f64>) = (self.space.zeros(columns)?, self.space.zeros(rows)?);
            let (x, y) = (S::Memory::slice(&x), S::Memory::slice_mut(&mut y));
            for _ in 0..TIMED_PRODUCTS {
                self.timed("spmv", |this| S::operator(&this.system.matrix).multiply(this.space, x, y))?;
            }
        }
        let symmetry = self.timed("verify", Self::symmetry)?;
        self.book()?;
        Ok(symmetry)
    }

    /// The symmetry of the matrix as CG sees it: in its storage format, with boundary conditions and halo.
    fn symmetry(&mut self) -> Result<Symmetry> {
        let (discrete, links, space) = (&self.discrete, self.input.links, self.space);
        space.update(&mut self.system.matrix)?;
        let matrix = S::operator(&self.system.matrix);
        let mut operator = DistributedOperator::new(matrix, &mut self.halo, links.apart(discrete.interior_rows()))?;
        symmetry(space, &mut operator, links, &mut self.workspace, |which, vector| {
            discrete.scatter_by_id(space, SEEDS[which], vector)
        })
    }

    /// Does `work` between two marks, without waiting.
    fn timed<R>(&mut self, phase: &'static str, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let (space, mut marks) = (self.space, std::mem::take(&mut self.marks));
        let result = step(space, &mut marks, phase, || work(self));
        self.marks = marks;
        result
    }

    /// Adds the times between the marks to their phases; waits for the marks.
    fn book(&mut self) -> Result<()> {
        for (phase, calls, before, after) in self.marks.drain(..) {
            let seconds = self.space.between(&before, &after)?;
            match calls {
                1 => self.input.phases.add_call(phase, seconds),
                calls => self.input.phases.add(phase, calls, seconds),
            }
        }
        Ok(())
    }
}

impl<S: Job, D: Discrete<S>> NonlinearProblem<S> for Problem<'_, S, D> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn assemble(&mut self, unknowns: &mut Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<()> {
        // A host records an empty exchange too, so that its reports always have this phase.
        if S::SYNCHRONOUS || !self.halo.is_empty() {
            self.timed("ghosts", |this| this.halo.update(this.space, unknowns))?;
        }
        self.timed("fill", |this| {
            this.discrete.assemble(this.space, &mut this.assembly, unknowns, &mut this.system, residual)
        })?;
        self.timed("boundary", |this| {
            let StoredSystem { matrix, conditions, .. } = &mut this.system;
            this.space.apply_dirichlet(conditions, S::Memory::slice_mut(S::values_mut(matrix)), residual)
        })
    }

    fn solve(&mut self, residual: &Slice<S, f64>, delta: &mut Slice<S, f64>) -> Result<SolveInfo> {
        let Setting { deck, links, phases, progress } = self.input;
        let interior = self.discrete.interior_rows();
        let (space, before) = (self.space, self.space.mark()?);
        if !self.is_chosen {
            let chosen = auto_format::choose(space, &mut self.system.matrix, self.rows, deck, links.comm())?;
            self.chosen = chosen.unwrap_or_else(|| self.chosen.clone());
            self.is_chosen = true;
        }
        if space.update(&mut self.system.matrix)? {
            self.marks.push(("format", 1, before, space.mark()?));
        }
        let before = space.mark()?;
        space.fill(self.rows(), 0.0, delta)?;
        let matrix = S::operator(&self.system.matrix);
        let operator = DistributedOperator::new(matrix, &mut self.halo, links.apart(interior))?;
        let mut system = LinearSystem { operator, preconditioner: Identity, comm: links, rhs: residual };
        let params = deck.cg_params();
        let observe = &mut |iteration, norm| progress.cg(iteration, norm);
        let solved = cg(space, &mut system, delta, params, &mut self.workspace, observe);
        // A solve that stopped early is measured as any other, and its numbers are kept for the report.
        let (mut info, error) = match (solved, self.workspace.stopped()) {
            (Ok(info), _) => (info, None),
            (Err(error), Some(info)) => (info, Some(error)),
            (Err(error), None) => return Err(error),
        };
        let (times, solved) = (system.operator.times(), space.mark()?);
        drop(system);
        // With the values that were assembled, whatever CG's products read.
        let matrix = S::assembled(&self.system.matrix);
        let operator = DistributedOperator::new(matrix, &mut self.halo, links.apart(interior))?;
        let mut system = LinearSystem { operator, preconditioner: Identity, comm: links, rhs: residual };
        info.recomputed = Some(true_residual(space, &mut system, delta, &mut self.workspace)?);
        drop(system);
        if let Some(times) = times {
            phases.add("spmv", times.calls, times.spmv.as_secs_f64());
            phases.add("halo", times.calls, times.halo.as_secs_f64());
            ["spmv", "halo"].iter().for_each(|part| phases.nest(part, "cg"));
        }
        // The true residual was read from the device, so the marks are passed and reading them waits for little.
        let end = space.mark()?;
        phases.add("cg", info.iterations as u64, space.between(&before, &solved)?);
        self.marks.push(("verify", 1, solved, end));
        self.book()?;
        self.stopped = error.as_ref().map(|_| info);
        error.map_or(Ok(info), Err)
    }
}
