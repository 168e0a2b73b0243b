//! The nonlinear heat problem -K laplace(T) + T^2 = 0 on any space: what Newton's steps assemble and solve.
//!
//! ```text
//! assemble   T's ghosts -> residual F(T) and Jacobian J(T) -> Dirichlet conditions
//! solve      J's values in the storage format -> CG: J delta = F -> true residual
//! finish     symmetry of the last J
//! ```
//! All arrays stay in the memory of the space. Steps are timed by marks in the space's order of work, read when a solve is done.

use super::clock::Clock;
use super::deck::Choice;
use super::{Deck, Job, Phases, Progress};
use crate::Result;
use crate::comm::{Halo, Links, agree};
use crate::fill::{HeatInput, StoredSystem};
use crate::graph::Graph;
use crate::mesh::{Face, Mesh};
use crate::solve::{
    CgWorkspace, DistributedOperator, Identity, LinearSystem, NonlinearProblem, SolveInfo, Symmetry, cg, symmetry,
    true_residual,
};
use crate::space::{Array, MemorySpace, Slice};
use crate::sparse::{Format, Product};

/// Number of products that are timed separately if a solve cannot time them, since its launches are asynchronous.
const TIMED_PRODUCTS: usize = 20;

/// Seeds of the two vectors of the test for symmetry.
const SEEDS: [u64; 2] = [0x6d69_6e69, 0x6665_6e6c];

/// The data from which a problem is built.
#[derive(Clone, Copy)]
pub struct ProblemInput<'a, S: Job> {
    /// The settings.
    pub deck: &'a Deck,
    /// The connections to the other ranks.
    pub links: &'a Links<'a, S>,
    /// The tables of this rank.
    pub mesh: &'a Mesh<S::Memory>,
    /// K.
    pub conductivity: f64,
    /// Receives the times.
    pub phases: &'a Phases,
    /// Receives progress.
    pub progress: &'a dyn Progress,
}

impl<S: Job> std::fmt::Debug for ProblemInput<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProblemInput").field("deck", self.deck).finish_non_exhaustive()
    }
}

/// The problem with its matrix and working memory, reused by all Newton steps.
pub struct HeatProblem<'a, S: Job> {
    space: &'a S,
    input: ProblemInput<'a, S>,
    assembly: S::HeatAssembly,
    system: StoredSystem<S>,
    rows: usize,
    halo: Halo<S>,
    workspace: CgWorkspace<S>,
    /// Work whose time is not read yet: a device passes its marks later.
    marks: Marks<S>,
    /// The linear solve that ended Newton's iteration.
    stopped: Option<SolveInfo>,
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

impl<S: Job> std::fmt::Debug for HeatProblem<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeatProblem").field("space", &self.space).finish_non_exhaustive()
    }
}

impl<'a, S: Job> HeatProblem<'a, S> {
    /// Prepares halo, boundary conditions, matrix, assembly and solver. All ranks call it together. Takes the graph of this rank's
    /// rows, and frees what the matrix does not need of it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had; a failure of a device or of MPI.
    pub fn new(space: &'a S, input: ProblemInput<'a, S>, graph: Graph<S::Memory>) -> Result<Self> {
        let ProblemInput { deck, links, mesh, .. } = input;
        let strategy = deck.fill.strategy.or(S::STRATEGY);
        let (rows, format) = (graph.crs.rows(), deck.matrix.format.or(Format::default()));
        let mut marks = Vec::new();
        // First, and agreed upon, since all ranks make it together: a rank that fails alone leaves no other in the middle of it.
        let before = agree(links.comm(), space.mark())?;
        let halo = links.halo(space, &mesh.map)?;
        marks.push(("setup/halo", 1, before, space.mark()?));
        let conditions = step(space, &mut marks, "setup/boundary", || {
            let fixed = space.on_faces(mesh, [Face::ZMin, Face::ZMax])?;
            space.dirichlet(&graph.crs, S::Memory::slice(&fixed))
        })?;
        let mut system =
            step(space, &mut marks, "setup/format", || space.stored_system(strategy, format, graph, conditions))?;
        if let Some(lanes) = deck.matrix.lanes.given() {
            S::set_lanes(&mut system.matrix, lanes);
        }
        let mut problem = HeatProblem {
            assembly: step(space, &mut marks, "setup/fill", || {
                space.heat_assembly(strategy, deck.fill.kernel, &system)
            })?,
            system,
            rows,
            halo,
            workspace: step(space, &mut marks, "setup/cg", || match deck.cg.variant {
                Choice::Auto => CgWorkspace::new(space, rows, mesh.map.local_count()),
                Choice::Given(variant) => CgWorkspace::of_variant(space, rows, mesh.map.local_count(), variant),
            })?,
            marks,
            stopped: None,
            space,
            input,
        };
        problem.book()?;
        Ok(problem)
    }

    /// The temperature at the start of Newton's iteration: the boundary values, zero elsewhere; owned nodes and ghosts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn start(&self) -> Result<Array<S, f64>> {
        let ProblemInput { deck, mesh, .. } = self.input;
        let mut temperature = self.space.zeros(mesh.map.local_count())?;
        let nodes = S::Memory::slice_mut(&mut temperature);
        self.space.set_on_face(mesh, Face::ZMin, deck.problem.t_min, nodes)?;
        self.space.set_on_face(mesh, Face::ZMax, deck.problem.t_max, nodes)?;
        Ok(temperature)
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

    /// Bytes that a product with the matrix has to move.
    pub fn product_bytes(&self) -> u64 {
        S::operator(&self.system.matrix).bytes() as u64
    }

    /// Bytes of element matrices that an assembly writes to memory and reads back.
    pub fn stored_bytes(&self) -> u64 {
        S::stored_bytes(&self.assembly)
    }

    /// Measures the symmetry of the last Jacobian and records the remaining times. If the deck asks for bandwidths and a solve
    /// cannot time its products, times some of them here. All ranks call it together.
    ///
    /// # Errors
    /// A device's failure.
    pub fn finish(&mut self) -> Result<Symmetry> {
        if self.input.deck.run.triad == Some(true) && !S::SYNCHRONOUS {
            let (columns, rows) = (self.input.mesh.map.local_count(), self.rows);
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
        let (mesh, links, space) = (self.input.mesh, self.input.links, self.space);
        space.update(&mut self.system.matrix)?;
        let matrix = S::operator(&self.system.matrix);
        let mut operator = DistributedOperator::new(matrix, &mut self.halo, links.apart(mesh.interior_count()))?;
        symmetry(space, &mut operator, links, &mut self.workspace, |which, vector| {
            space.scatter_by_id(mesh, SEEDS[which], vector)
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

impl<S: Job> NonlinearProblem<S> for HeatProblem<'_, S> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn assemble(&mut self, temperature: &mut Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<()> {
        let ProblemInput { mesh, conductivity, .. } = self.input;
        // A host records an empty exchange too, so that its reports always have this phase.
        if S::SYNCHRONOUS || !self.halo.is_empty() {
            self.timed("ghosts", |this| this.halo.update(this.space, temperature))?;
        }
        self.timed("fill", |this| {
            let input = HeatInput { node_coord: S::Memory::slice(&mesh.node_coord), temperature, conductivity };
            this.space.assemble_heat(&mut this.assembly, input, &mut this.system, residual)
        })?;
        self.timed("boundary", |this| {
            let StoredSystem { matrix, conditions, .. } = &mut this.system;
            this.space.apply_dirichlet(conditions, S::Memory::slice_mut(S::values_mut(matrix)), residual)
        })
    }

    fn solve(&mut self, residual: &Slice<S, f64>, delta: &mut Slice<S, f64>) -> Result<SolveInfo> {
        let ProblemInput { deck, links, mesh, phases, progress, .. } = self.input;
        let (space, before) = (self.space, self.space.mark()?);
        if space.update(&mut self.system.matrix)? {
            self.marks.push(("format", 1, before, space.mark()?));
        }
        let before = space.mark()?;
        space.fill(self.rows(), 0.0, delta)?;
        let matrix = S::operator(&self.system.matrix);
        let operator = DistributedOperator::new(matrix, &mut self.halo, links.apart(mesh.interior_count()))?;
        let mut system = LinearSystem { operator, preconditioner: Identity, comm: links, rhs: residual };
        let params = deck.cg.params();
        let observe = &mut |iteration, norm| progress.cg(iteration, norm);
        let solved = cg(space, &mut system, delta, params, &mut self.workspace, observe);
        // A solve that stopped early is measured as any other, and its numbers are kept for the report.
        let (mut info, error) = match (solved, self.workspace.stopped()) {
            (Ok(info), _) => (info, None),
            (Err(error), Some(info)) => (info, Some(error)),
            (Err(error), None) => return Err(error),
        };
        let (times, solved) = (system.operator.times(), space.mark()?);
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

#[cfg(test)]
mod tests;
