//! The main job as numbered steps: deck -> part -> mesh -> graph -> Newton (assemble, boundary, CG) -> report.

use super::bandwidth::bandwidth;
use super::choices::forecast;
use super::deck::{Choice, Chosen};
use super::judged::{Run, judged};
use super::meshes::{coarse_meshes, made, preconditioned};
use super::problem::Case;
use super::provenance::{Start, provenance};
use super::settings::same_settings;
use super::solution::Solution;
use super::steps::{alone, fix_order, here, newton, of_setting, share, wait_limit};
use super::{Deck, Event, Job, Phases, Problem, ProblemInput, Progress, Report, summary};
use crate::comm::{Communicator, Links, agree, default_threads};
use crate::space::{FreeMemory, MemorySpace, StepTimes, Threads};
use crate::{Result, graph};
use std::cell::RefCell;

/// Solves the problem of a deck on all ranks of `comm`. Each rank returns the same report. An iteration that does not
/// converge has a report too: it is not verified, and [`Report::stopped`] is the error.
///
/// # Errors
/// Ranks whose settings, version or build differ; bad input, lack of memory, a folded element: on one rank as itself, on all other ranks as
/// [`Error::Elsewhere`](crate::Error::Elsewhere). [`Error::Alone`](crate::Error::Alone) and a failure of MPI or of a device are this rank's
/// alone: the caller has to end the others, by [`Communicator::abort`]. So is an error that `progress` returns.
pub fn solve(deck: &Deck, comm: &dyn Communicator, progress: &Progress<'_>) -> Result<Report> {
    match chosen(deck, comm, progress)? {
        #[cfg(feature = "cuda")]
        Place::Gpu(space) => solve_on(&space, deck, comm, progress),
        Place::Host(space) => solve_on(&space, deck, comm, progress),
    }
}

/// Solves as [`solve`] does, and returns this rank's mesh and field, copied to the host.
///
/// # Errors
/// As [`solve`], and lack of memory for the copies.
pub fn solution(deck: &Deck, comm: &dyn Communicator, progress: &Progress<'_>) -> Result<Solution> {
    match chosen(deck, comm, progress)? {
        #[cfg(feature = "cuda")]
        Place::Gpu(space) => {
            let solution = solution_on(&space, deck, comm, progress)?;
            solution.download(&space).map_err(|error| alone(error, comm))
        }
        Place::Host(space) => solution_on(&space, deck, comm, progress),
    }
}

/// Where a run computes.
pub(super) enum Place {
    #[cfg(feature = "cuda")]
    Gpu(crate::space::Cuda),
    Host(Threads),
}

/// The device that the deck asks for.
pub(super) fn chosen(deck: &Deck, comm: &dyn Communicator, progress: &Progress<'_>) -> Result<Place> {
    match agree(comm, device(deck, comm)?)? {
        #[cfg(feature = "cuda")]
        Chosen::Cuda(ordinal) => return agree(comm, crate::space::Cuda::new(ordinal)).map(Place::Gpu),
        Chosen::Cpu { notice } => notice.iter().try_for_each(|text| progress(Event::Notice(text)))?,
    }
    let threads = deck.run.threads.unwrap_or_else(|| default_threads(comm));
    agree(comm, pool(threads)).map(|pool| Place::Host(pool.with_scan(deck.resolved().graph.scan)))
}

/// The device of this rank, once all ranks are known to do the same; a failure of the inner kind is this rank's.
///
/// # Errors
/// Ranks whose settings, version or build differ.
pub(super) fn device(deck: &Deck, comm: &dyn Communicator) -> Result<Result<Chosen>> {
    same_settings(deck, comm)?;
    // With the same settings, all ranks join what `auto` agrees on.
    Ok(deck.run.device.choose(comm, deck.run.share_gpu))
}

/// A pool that the calling thread belongs to. A thread can enter one such pool only, so it keeps the pool for later solves;
/// with another number of threads it waits beside a pool of its own.
pub(super) fn pool(threads: usize) -> Result<Threads> {
    thread_local!(static ENTERED: RefCell<Option<Threads>> = const { RefCell::new(None) });
    ENTERED.with_borrow_mut(|entered| match entered {
        Some(pool) if pool.concurrency() == threads => Ok(pool.clone()),
        Some(_) => Threads::new(threads),
        None => Ok(entered.insert(Threads::with_current(threads)?).clone()),
    })
}

/// [`solve`] on a given space.
///
/// # Errors
/// As [`solve`].
pub fn solve_on<S: Job>(space: &S, deck: &Deck, comm: &dyn Communicator, progress: &Progress<'_>) -> Result<Report> {
    solution_on(space, deck, comm, progress).map(|solution| solution.report)
}

/// Solves as [`solve_on`] does, and returns this rank's mesh and field. They stay in the memory of the space.
///
/// # Errors
/// As [`solve`].
pub fn solution_on<S: Job>(
    space: &S,
    deck: &Deck,
    comm: &dyn Communicator,
    progress: &Progress<'_>,
) -> Result<Solution<S::Memory>> {
    let (start, phases, here) = (Start::now(comm), Phases::default(), here(comm));
    let progress: &Progress<'_> = &|event| progress(event).map_err(|error| alone(error, comm));
    let (given, deck) = (deck, &deck.resolved());
    if deck.run.deterministic {
        fix_order(comm)?;
    }

    // 1. This rank's share of the box.
    comm.enter_phase("mesh");
    let part = share(deck, comm)?;
    let deck = &agree(comm, preconditioned::<S>(deck, part.spec(), comm.size()))?;
    let without_effect = given.without_effect(deck, S::SYNCHRONOUS, comm.size());
    without_effect.iter().try_for_each(|text| progress(Event::Notice(text)))?;
    let free = agree(comm, space.free_bytes(comm))?;
    let case = Case::new(deck, part.spec());
    let (.., needed) = forecast::<S>([comm.rank(), comm.size()], &part, &case, deck, space.threads());
    agree(comm, needed.check(comm, free, FreeMemory::now().share(comm.ranks_on_node() as u64)))?;
    comm.enter_phase("connections between ranks");
    let connect = || Links::connect(space, comm, deck.run.halo.given(), wait_limit(deck));
    let links = if S::SYNCHRONOUS || comm.size() == 1 { connect() } else { phases.time("connect", connect) };
    let links = links.map_err(|error| of_setting("run.halo", error))?;
    comm.enter_phase("mesh");
    if !S::SYNCHRONOUS {
        // Compilation and allocation are timed separately.
        progress(Event::Phase("kernels"))?;
        let load = || {
            space.load_kernels(deck)?;
            match deck.has_matrix() {
                true => space.load_assembly(deck.assembly::<S>(), &case.model, deck.mesh.element),
                false => space.load_operator(&case.model, deck.mesh.element),
            }
        };
        agree(comm, phases.time("kernels", load))?;
        // One large mapping costs less than many.
        agree(comm, phases.time("memory", || space.reserve(needed.peak())))?;
    }
    progress(Event::Phase("mesh"))?;
    let (mesh, coarse) = phases.time("mesh", || {
        let mesh = made(space, comm, deck.mesh.element, part)?;
        let coarse = coarse_meshes(space, deck, comm, &mesh)?;
        Ok((mesh, coarse))
    })?;

    // 2. The graph of the matrix, if there is one: that of the nodes, expanded to unknowns.
    let mut graph = None;
    let (mut map_stats, mut steps) = (None, StepTimes::default());
    if deck.has_matrix() {
        progress(Event::Phase("graph"))?;
        comm.enter_phase("graph");
        // Ranks start the graph together: its time should not include waiting for the slowest mesh.
        comm.barrier();
        let built = phases.time("graph", || {
            let strategy = deck.graph.strategy.or_default();
            let mut nodes = graph::build(space, &mesh.elem_node, mesh.map.owned_count(), strategy)?;
            (map_stats, steps) = (nodes.map_stats, std::mem::take(&mut nodes.step_times));
            let graph = space.dof_graph(nodes, case.model.dofs())?;
            // Launches return at once on a GPU; the phase ends when their work has.
            space.fence().map(|()| graph)
        });
        graph = Some(agree(comm, built.map_err(|error| error.in_stage("graph", here)))?);
        phases.add_steps(comm, &steps);
    }

    // 3. Assembly, boundary conditions, matrix and solver, which all Newton steps use.
    progress(Event::Phase("setup"))?;
    comm.enter_phase("set-up");
    let problem = phases.time("setup", || {
        let input = ProblemInput { deck, links: &links, mesh: &mesh, coarse: &coarse, phases: &phases, progress };
        let problem = Problem::new(space, input, graph)?;
        let field = problem.start()?;
        space.fence().map(|()| (problem, field))
    });
    let (mut problem, mut field) = agree(comm, problem.map_err(|error| error.in_stage("setup", here)))?;
    problem.book_costs();

    // 4. Newton; one step for a linear problem.
    comm.enter_phase("solution");
    let newton = newton(space, deck, &links, &mut problem, S::Memory::slice_mut(&mut field), progress)?;
    // The last step changed the owned unknowns only. A rank that fails here leaves the others in an exchange.
    problem.refresh(S::Memory::slice_mut(&mut field)).map_err(|error| alone(error, comm))?;
    // The format is final.
    problem.book_costs();
    let mut outcome = problem.outcome().map_err(|error| alone(error, comm))?;
    let is_of_preset = given.matrix.format == Choice::Auto && deck.matrix.format != Choice::Auto;
    if let Some(chosen) = outcome.format.as_mut().filter(|_| is_of_preset) {
        chosen.reason = format!("preset {}", deck.run.preset);
    }
    // Frees the matrix before errors and triad allocate their arrays.
    drop(problem);

    // 5. Error, bandwidth, report.
    comm.enter_phase("report");
    let run = Run {
        space,
        deck,
        comm,
        case: &case,
        mesh: &mesh,
        field: &field,
        newton: &newton,
        phases: &phases,
        map_stats,
        outcome: &outcome,
        transport: links.transport(),
        seconds: start.seconds(),
        peak: agree(comm, space.peak_bytes())?,
    };
    let judged = judged(&run)?;
    let triad = bandwidth(space, deck, comm, run.seconds, progress)?;
    let provenance = provenance(space, deck, comm, &start)?;
    let report = summary::report(&run, &judged, triad, &start, provenance);
    progress(Event::Done)?;
    Ok(Solution { mesh, field, report })
}

#[cfg(test)]
mod tests;
