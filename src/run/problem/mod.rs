//! A problem on any space: what Newton's steps assemble and solve. [`Case`] says what distinguishes one problem from another.
//!
//! ```text
//! assemble   u's ghosts -> residual F(u) and Jacobian J(u) -> Dirichlet conditions
//! solve      J's values in the storage format -> CG: J delta = F -> true residual
//! finish     symmetry of the last J
//! ```
//! Without a matrix (`linear.rs`) only the residual is assembled, and J is applied by elements.
//! All arrays stay in the memory of the space. Steps are timed by marks in the space's order of work, read when a solve is done.

mod aggregates;
#[cfg(test)]
mod aggregates_tests;
mod auto_format;
mod brick;
mod case;
mod costs;
mod discrete;
#[cfg(test)]
mod format_tests;
mod input;
mod linear;
#[cfg(test)]
mod matrix_free_tests;
mod multigrid;
#[cfg(test)]
mod multigrid_tests;
mod nested;
mod preconditioner;
mod probed;
mod sweeps;
#[cfg(test)]
mod sweeps_tests;
#[cfg(test)]
mod tests;

pub(super) use auto_format::expected;
pub(super) use case::Case;
pub use input::ProblemInput;
pub use linear::Outcome;

use super::deck::{Choice, Preconditioning, Solver, with_flag};
use super::{Event, Job};
use crate::Result;
use crate::blas::Collective;
use crate::comm::{Halo, agree};
use crate::error::count;
use crate::graph::Graph;
use crate::solve::{
    CgParams, CgWorkspace, DistributedOperator, Identity, KrylovWorkspace, LinearSystem, Method, NonlinearProblem,
    Preconditioner, Reason, SolveInfo, Symmetry, cg, cg_single_launch, symmetry, true_residual,
};
use crate::space::{Array, MemorySpace, Slice};
use crate::sparse::Precision;
use discrete::{Discrete, Marks, step};
use linear::{Linear, System};
use preconditioner::Levels;

/// Number of products that are timed separately if a solve cannot time them, since its launches are asynchronous.
const TIMED_PRODUCTS: usize = 20;

/// Seeds of the two vectors of the test for symmetry.
const SEEDS: [u64; 2] = [0x6d69_6e69, 0x6665_6e6c];

/// A problem with its matrix and working memory, reused by all Newton steps.
pub struct Problem<'a, S: Job> {
    system: System<'a, S>,
    halo: Halo<S>,
    workspace: CgWorkspace<S>,
    /// The workspace of other methods than CG.
    general: KrylovWorkspace<S>,
    preconditioner: Option<Levels<'a, S>>,
    /// Work whose time is not read yet: a device passes its marks later.
    marks: Marks<S>,
    /// The linear solve that ended Newton's iteration.
    stopped: Option<SolveInfo>,
}

impl<S: Job> std::fmt::Debug for Problem<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Problem").field("input", &self.system.input).finish_non_exhaustive()
    }
}

impl<'a, S: Job> Problem<'a, S> {
    /// Prepares halo, boundary conditions, matrix, assembly and solver. All ranks call it together. Takes the graph of this rank's
    /// rows, and frees what the matrix does not need of it; without a graph the Jacobian is applied by elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had; [`Error::Invalid`](crate::Error::Invalid) for the format `symmetric`
    /// of a matrix that is not; a failure of a device or of MPI.
    pub fn new(space: &'a S, input: ProblemInput<'a, S>, graph: Option<Graph<S::Memory>>) -> Result<Self> {
        let (links, variant, method) = (input.links, input.deck.cg.variant, input.deck.solver().method());
        let comm = links.comm();
        let discrete = agree(comm, Discrete::new(space, input))?;
        if let Some(notice) = coarse_for_advection(&discrete) {
            (discrete.input.progress)(Event::Notice(&notice))?;
        }
        let (rows, columns) = (discrete.map().owned_count(), discrete.map().local_count());
        // Each step has collective calls: no rank may leave one alone, nor enter the next one.
        let before = agree(comm, space.mark())?;
        let halo = links.halo(space, discrete.map()).and_then(|halo| Ok((halo, space.mark()?)));
        let (halo, after) = agree(comm, halo)?;
        let mut marks = vec![("setup/halo", before, after)];
        let system = agree(comm, System::new(discrete, graph, &mut marks))?;
        let mut problem = Problem {
            preconditioner: Levels::new(&system, &mut marks)?,
            system,
            halo,
            workspace: step(space, &mut marks, "setup/cg", || {
                CgWorkspace::of_variant(space, rows, columns, variant.or_default())
            })?,
            general: KrylovWorkspace::new(space, method, rows, columns)?,
            marks,
            stopped: None,
        };
        problem.book()?;
        Ok(problem)
    }

    /// Returns the start of Newton's iteration: boundary values, zero elsewhere; owned unknowns and ghosts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn start(&self) -> Result<Array<S, f64>> {
        self.system.start()
    }

    /// Gives the ghosts of a vector the values of their owners. All ranks call it together.
    ///
    /// # Errors
    /// The failure of a device or of the transport.
    pub fn refresh(&mut self, vector: &mut Slice<S, f64>) -> Result<()> {
        self.halo.update(self.system.space, vector)
    }

    /// Returns the linear solve that ended Newton's iteration with an error, if one did. Its solution was not applied.
    pub fn stopped(&self) -> Option<SolveInfo> {
        self.stopped
    }

    /// Returns numbers for the report. Times each level of the preconditioner in one cycle. Collective.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); a failure of a device or of MPI.
    pub fn outcome(&mut self) -> Result<Outcome> {
        let Problem { preconditioner, system, .. } = self;
        let levels = preconditioner.as_mut().map(|preconditioner| preconditioner.levels(system));
        Ok(Outcome { levels: levels.transpose()?.unwrap_or_default(), ..system.outcome() })
    }

    /// Measures the symmetry of the last Jacobian and records the remaining times. If the deck asks for bandwidths and a solve
    /// cannot time its products, times some of them here. All ranks call it together.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); a failure of a device or of MPI.
    pub fn finish(&mut self) -> Result<Symmetry> {
        let Problem { system, halo, workspace, marks, .. } = self;
        let (space, links) = (system.space, system.input.links);
        if system.input.deck.run.triad == Some(true) && !S::SYNCHRONOUS {
            let map = system.map();
            let (mut x, mut y): (Array<S, f64>, Array<S, f64>) =
                (space.zeros(map.local_count())?, space.zeros(map.owned_count())?);
            let (x, y) = (S::Memory::slice_mut(&mut x), S::Memory::slice_mut(&mut y));
            for _ in 0..TIMED_PRODUCTS {
                step(space, marks, system.phase(), || system.operator(false).apply(space, x, y))?;
            }
        }
        // The Jacobian as CG sees it: in its storage format, with boundary conditions and halo.
        let symmetry = step(space, marks, "verify", || {
            if let Linear::Matrix(stored) = &mut system.linear {
                space.update(&mut stored.system.matrix)?;
            }
            let interior = links.apart(system.interior_rows());
            let operator = DistributedOperator::new(system.operator(false), halo, interior)?;
            symmetry(space, &operator, links, workspace, |which, vector| system.scatter_by_id(SEEDS[which], vector))
        })?;
        self.book()?;
        Ok(symmetry)
    }

    /// Refreshes ghosts as the phase `ghosts`.
    fn refresh_timed(&mut self, unknowns: &mut Slice<S, f64>) -> Result<()> {
        let Problem { system, halo, marks, .. } = self;
        // A host records an empty exchange too, so that its reports always have this phase.
        if S::SYNCHRONOUS || !halo.is_empty() {
            step(system.space, marks, "ghosts", || halo.update(system.space, unknowns))?;
        }
        Ok(())
    }

    /// Adds the times between the marks to their phases; waits for the marks.
    fn book(&mut self) -> Result<()> {
        let Discrete { space, input: ProblemInput { phases, .. }, .. } = &*self.system;
        for (phase, before, after) in self.marks.drain(..) {
            phases.add_call(phase, space.between(&before, &after)?);
        }
        Ok(())
    }
}

/// Warns of elements that are too large for the velocity, and of preconditioners that fail there.
fn coarse_for_advection<S: Job>(discrete: &Discrete<'_, S>) -> Option<String> {
    let deck = discrete.input.deck;
    let spec = discrete.input.mesh.spec();
    let ratio = discrete.case.advection_ratio(deck, spec);
    let [x, y, z] = discrete.case.nodes_for_advection(deck, spec);
    let more = match deck.preconditioning() {
        stalls @ (Preconditioning::GaussSeidel | Preconditioning::Multigrid) => {
            format!("; {stalls} may not converge there; if so, give {} jacobi", with_flag("cg.preconditioner"))
        }
        _ => String::new(),
    };
    (ratio > 2.0).then(|| {
        format!(
            "{}: h |v| / k is {ratio:.1} along an axis; above 2 the field may oscillate: give {} {x}x{y}x{z} or more{more}",
            with_flag("problem.advection"),
            with_flag("mesh.nodes"),
        )
    })
}

/// What to say of a given number of iterations whose result is worse than x = 0: long after convergence, rounding may drive CG away.
fn diverged(info: &SolveInfo) -> Option<String> {
    let residual = info.recomputed.map_or(f64::NAN, |found| found.residual);
    (info.reason == Reason::Iterations && residual > info.rhs).then(|| {
        format!(
            "cg.iterations (--cg-iterations): after {} CG's true residual is {:.1e} times its right-hand side; fewer iterations \
             end closer to the solution",
            count(info.iterations, "iteration"),
            residual / info.rhs
        )
    })
}

impl<S: Job> NonlinearProblem<S> for Problem<'_, S> {
    fn rows(&self) -> usize {
        self.system.map().owned_count()
    }

    fn assemble(&mut self, unknowns: &mut Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<()> {
        self.refresh_timed(unknowns)?;
        self.system.assemble(unknowns, residual, &mut self.marks)
    }

    fn residual(&mut self, unknowns: &mut Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<bool> {
        self.refresh_timed(unknowns)?;
        self.system.residual(unknowns, residual, &mut self.marks)
    }

    fn improves_start(&self) -> bool {
        // Coarse boxes are solved by CG.
        let starts = self.preconditioner.as_ref().is_some_and(Levels::starts);
        starts && self.system.input.deck.solver() == Solver::Cg
    }

    fn improve_start(&mut self, x: &mut Slice<S, f64>) -> Result<bool> {
        if !self.improves_start() {
            return Ok(false);
        }
        let Problem { system, preconditioner: Some(preconditioner), marks, .. } = self else { return Ok(false) };
        (system.input.progress)(Event::Phase("nested"))?;
        step(system.space, marks, "nested", || preconditioner.nested_start(system, x))
    }

    fn solve(
        &mut self,
        unknowns: &Slice<S, f64>,
        residual: &Slice<S, f64>,
        delta: &mut Slice<S, f64>,
        forcing: Option<f64>,
    ) -> Result<SolveInfo> {
        self.system.update(&mut self.marks)?;
        let system = &self.system;
        let &ProblemInput { deck, links, phases, progress, .. } = &system.input;
        let (space, apart) = (system.space, links.apart(system.interior_rows()));
        if let Some(preconditioner) = &mut self.preconditioner {
            step(space, &mut self.marks, "preconditioner", || preconditioner.prepare(system, unknowns))?;
        }
        let before = space.mark()?;
        space.fill(system.map().owned_count(), 0.0, delta)?;
        let params = deck.cg_params();
        let params = CgParams { tolerance: forcing.unwrap_or(params.tolerance), ..params };
        let method = deck.solver().method();
        let observe = &mut |iteration, norm| progress(Event::Cg(iteration, norm));
        // Chosen before the solve: all iterations in one launch, unless a variant was asked for.
        let launch = match deck.cg.variant {
            Choice::Auto if links.is_alone() && self.preconditioner.is_none() && method == Method::Cg => {
                system.single_launch()?
            }
            _ => None,
        };
        let workspace = &mut self.workspace;
        let (general, mut of_general) = (&mut self.general, None);
        // A cycle takes the rounded values where products read such, and the method those that were assembled.
        let in_f64 = self.preconditioner.is_some() && deck.matrix.values == Precision::F32;
        let operator = DistributedOperator::new(system.operator(in_f64), &mut self.halo, apart)?;
        let mut work = |preconditioner: &mut dyn Preconditioner<S>| {
            let mut system = LinearSystem { operator: &operator, preconditioner, comm: links, rhs: residual };
            match &launch {
                _ if method != Method::Cg => general.solve(space, &mut system, delta, params, observe, &mut of_general),
                Some(launch) => cg_single_launch(space, launch, &mut system, delta, params, workspace, observe),
                None => cg(space, &mut system, delta, params, workspace, observe),
            }
        };
        let solved = match &mut self.preconditioner {
            Some(preconditioner) => preconditioner.with_preconditioner(system, work),
            None => work(&mut Identity),
        };
        let times = operator.times();
        drop(launch);
        let marked = space.mark();
        // A solve that stopped early is measured as any other, and its numbers are kept for the report.
        let stopped = if method == Method::Cg { self.workspace.stopped() } else { of_general };
        let (mut info, error) = match solved {
            Ok(info) => (info, None),
            Err(error) => match stopped {
                Some(info) => (info, Some(error)),
                None => return Err(error),
            },
        };
        let solved = marked?;
        // With the values that were assembled, whatever CG's products read.
        let operator = &DistributedOperator::new(system.operator(true), &mut self.halo, apart)?;
        let assembled = LinearSystem { operator, preconditioner: &mut Identity, comm: links, rhs: residual };
        info.recomputed = Some(true_residual(space, &assembled, delta, &mut self.workspace)?);
        if let Some(preconditioner) = &mut self.preconditioner {
            preconditioner.note(&info);
        }
        if let Some(notice) = diverged(&info) {
            progress(Event::Notice(&notice))?;
        }
        if let Some(times) = times {
            let product = system.phase();
            phases.add(product, times.calls, times.spmv.as_secs_f64());
            phases.add("halo", times.calls, times.halo.as_secs_f64());
            [product, "halo"].iter().for_each(|part| phases.nest(part, "cg"));
        }
        // The true residual was read from the device, so the marks are passed and reading them waits for little.
        let end = space.mark()?;
        phases.add("cg", info.iterations as u64, space.between(&before, &solved)?);
        self.marks.push(("verify", solved, end));
        self.book()?;
        self.stopped = error.as_ref().map(|_| info);
        error.map_or(Ok(info), Err)
    }
}
