//! The main job as numbered steps: deck -> part -> mesh -> graph -> Newton (fill, boundary, CG) -> report.

use super::heat::Heat;
use super::{Analytic, Deck, Phases, Progress, Report, summary};
use crate::blas::{self, Blas};
use crate::comm::{Communicator, Halo, agree, default_threads};
use crate::fill::{Dirichlet, Fill};
use crate::mesh::{BoxPart, BoxSpec, Face, Mesh, check_folding, longest_edge};
use crate::solve::{CgParams, CgWorkspace, NewtonParams, newton};
use crate::space::{HostSpace, Threads, available_bytes, peak_bytes};
use crate::sparse::CrsMatrix;
use crate::{Result, element, graph};

/// Solves the problem that the deck describes, on all ranks of `comm`; each rank returns the same report.
///
/// # Errors
/// Bad input, lack of memory, a folded element, an iteration that does not converge: on one rank as itself, on the others
/// as [`Error::Elsewhere`](crate::Error::Elsewhere). Any other error is this rank's alone: the caller has to end the
/// others, by [`Communicator::abort`].
pub fn solve(deck: &Deck, comm: &dyn Communicator, progress: &dyn Progress) -> Result<Report> {
    let threads = deck.run.threads.unwrap_or_else(|| default_threads(comm));
    let space = agree(comm, Threads::with_current(threads))?;
    solve_on(&space, deck, comm, progress)
}

/// [`solve`] on a given space.
///
/// # Errors
/// As [`solve`].
pub fn solve_on<S: HostSpace + Blas>(
    space: &S,
    deck: &Deck,
    comm: &dyn Communicator,
    progress: &dyn Progress,
) -> Result<Report> {
    let phases = Phases::default();

    // 1. This rank's share of the box.
    progress.phase("mesh");
    let nodes = agree(comm, deck.nodes(comm.size() as u64))?;
    let size = deck.size(nodes);
    let part =
        BoxSpec::new(nodes.edges(), size, deck.mesh.map).and_then(|spec| BoxPart::new(&spec, comm.rank(), comm.size()));
    let free = available_bytes() / comm.ranks_on_node() as u64;
    let mesh = phases.time("mesh", || {
        let mesh = Mesh::new(space, part?, free)?;
        check_folding(space, &mesh, element::determinants).map(|()| mesh)
    });
    let mesh = agree(comm, mesh)?;

    // 2. The graph of the matrix.
    progress.phase("graph");
    comm.barrier();
    let rows = mesh.map.owned_count();
    let graph = phases.time("graph", || graph::build(space, &mesh.elem_node, rows, deck.graph.strategy));
    let graph = agree(comm, graph)?;
    summary::graph_phases(&phases, &graph);

    // 3. What all Newton steps share.
    let exact = Analytic::new(deck.problem.t_min, deck.problem.t_max, 0.0, size[2]);
    let mut temperature = agree(comm, space.zeros(mesh.map.local_count()))?;
    mesh.set_on_face(Face::ZMin, deck.problem.t_min, &mut temperature);
    mesh.set_on_face(Face::ZMax, deck.problem.t_max, &mut temperature);
    let heat = phases.time("setup", || {
        Ok(Heat {
            space,
            comm,
            mesh: &mesh,
            graph: &graph,
            fill: Fill::new(space, deck.fill.strategy, &mesh.elem_node, &graph)?,
            kernel: deck.fill.kernel,
            conductivity: exact.conductivity(),
            boundary: Dirichlet::new(space, &graph.crs, &mesh.on_faces([Face::ZMin, Face::ZMax]))?,
            jacobian: CrsMatrix::zero(graph.crs.clone()),
            halo: Halo::new(comm, &mesh.map)?,
            cg: CgParams { tolerance: deck.cg.tolerance, max_iterations: deck.cg.max_iterations },
            work: CgWorkspace::new(space, rows, mesh.map.local_count())?,
            phases: &phases,
            progress,
        })
    });
    let mut heat = agree(comm, heat)?;
    summary::costs(&phases, &mesh, &graph, &heat.boundary, &heat.halo, deck);

    // 4. Newton.
    let params = NewtonParams { tolerance: deck.newton.tolerance, max_iterations: deck.newton.max_iterations };
    let observe = &mut |step, norm| progress.newton(step, norm);
    let info = newton(space, comm, &mut heat, &mut temperature, params, observe);
    progress.done();
    let info = if info.as_ref().is_err_and(|error| !error.is_collective()) { info } else { agree(comm, info) }?;
    drop(heat);

    // 5. Error, bandwidth, report.
    let peak = peak_bytes();
    let bound = summary::Bound { exact, longest_edge: longest_edge(space, &mesh)? };
    let triad = deck.run.triad.then(|| blas::triad(space, blas::triad_length(comm.ranks_on_node()))).transpose();
    let triad = agree(comm, triad)?.map(|triad| triad.median);
    summary::report(space, comm, deck, &mesh, &temperature, &info, &bound, &phases, peak, triad)
}
