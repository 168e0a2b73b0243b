//! A run of any problem on elements of any type, as numbered steps: part -> elements -> graph -> Newton -> report.

use super::bandwidth::bandwidth;
use super::cost::{Shape, Sizes};
use super::fits::fits_model;
use super::problem::Setting;
use super::problem::{Case, Elements, ModelProblem, OnElements, on_host};
use super::provenance::{Start, provenance};
use super::report::ProblemReport;
use super::steps::{Ended, alone, fix_order, here, newton, wait_limit};
use super::summary::{self, Judged, Tables};
use super::{Deck, Job, Phases, Progress, Report, phase_costs};
use crate::comm::{Communicator, Links, agree};
use crate::mesh::{BoxPart, ElementPart};
use crate::solve::Reason;
use crate::space::{Array, MemorySpace};
use crate::{Result, graph};
use std::time::Instant;

/// Factor by which the error may exceed the error of interpolating the exact solution, both at the cubature points.
const SAFETY: f64 = 3.0;

/// Elements, field and report of a run, on the host.
#[derive(Clone, Debug)]
pub struct ModelSolution {
    /// This rank's elements and nodes: owned nodes first, then ghosts.
    pub part: ElementPart,
    /// The field, `[node][component]`, owned and ghosts; at ghosts, that of their owners.
    pub field: Vec<f64>,
    /// The report, the same on each rank.
    pub report: Report,
}

/// As [`model_solution`](super::model_solution) on a given space.
///
/// # Errors
/// As [`solve`](super::solve).
pub fn model_solution_on<S: Job>(
    space: &S,
    deck: &Deck,
    comm: &dyn Communicator,
    progress: &dyn Progress,
) -> Result<ModelSolution> {
    let (start, phases, here) = (Start::now(comm), Phases::default(), here(comm));
    if deck.run.deterministic {
        fix_order(comm)?;
    }

    // 1. This rank's elements.
    progress.phase("mesh");
    comm.enter_phase("mesh");
    let nodes = agree(comm, deck.nodes(comm.size() as u64))?;
    let spec = agree(comm, deck.spec(nodes))?;
    let box_part = agree(comm, BoxPart::new(&spec, comm.rank(), comm.size()))?;
    agree(comm, deck.check_matrix::<S>())?;
    let free = agree(comm, space.free_bytes(comm))?;
    let case = Case::new(deck, &spec);
    let needed = agree(comm, fits_model::<S>(&box_part, &case, deck, comm, space.threads(), free))?;
    comm.enter_phase("connections between ranks");
    let links = Links::connect(space, comm, deck.run.halo.given(), wait_limit(deck))?;
    comm.enter_phase("mesh");
    if !S::SYNCHRONOUS {
        // Neither compilation nor what earlier runs left falls into the phases below.
        let load = || {
            space.load_kernels(deck)?;
            match deck.has_matrix() {
                true => space.load_model(&case.model, deck.mesh.element),
                false => space.load_operator(&case.model, deck.mesh.element),
            }
        };
        agree(comm, phases.time("kernels", load))?;
        agree(comm, phases.time("memory", || space.reserve(needed)))?;
    }
    // The host makes the elements, and a GPU copies them.
    let began = Instant::now();
    let part = ElementPart::new(comm, deck.mesh.element, &box_part)?;
    let elements = space.check_elements(on_host(&part)).and_then(|()| {
        let elements = Elements::new(space, &part)?;
        space.fence().map(|()| elements)
    });
    let elements = agree(comm, elements.map_err(|error| error.in_stage("mesh", here)))?;
    phases.add_call("mesh", began.elapsed().as_secs_f64());

    // 2. The graph of the matrix, if there is one: that of the nodes, expanded to unknowns.
    let owned = part.map.owned_count();
    let dofs = case.model.dofs();
    let (graph, map_stats) = if deck.has_matrix() {
        progress.phase("graph");
        comm.enter_phase("graph");
        comm.barrier();
        let graph = phases.time("graph", || {
            let nodes = graph::build(space, &elements.elem_node, owned, deck.graph.strategy)?;
            phase_costs::graph_phases(&phases, &nodes);
            let map_stats = nodes.map_stats;
            let graph = space.dof_graph(nodes, dofs)?;
            space.fence().map(|()| (graph, map_stats))
        });
        let (graph, map_stats) = agree(comm, graph.map_err(|error| error.in_stage("graph", here)))?;
        (Some(graph), map_stats)
    } else {
        (None, None)
    };
    let nnz = graph.as_ref().map_or(0, |graph| graph.crs.nnz());
    let position = graph.as_ref().map_or(0, |graph| graph.elem.position_bytes());

    // 3. Assembly, boundary conditions, matrix and solver.
    comm.enter_phase("set-up");
    let map = agree(comm, part.map.expand(dofs))?;
    let problem = phases.time("setup", || {
        let (setting, discrete) = (
            Setting { deck, links: &links, phases: &phases, progress },
            OnElements { elements: &elements, case: &case, map },
        );
        let problem = match graph {
            Some(graph) => ModelProblem::of(space, setting, discrete, graph)?,
            None => ModelProblem::matrix_free(space, setting, discrete)?,
        };
        space.fence().map(|()| problem)
    });
    let mut problem = agree(comm, problem.map_err(|error| error.in_stage("setup", here)))?;
    let mut field = agree(comm, problem.start().map_err(|error| error.in_stage("setup", here)))?;
    let (elems, nnz) = (part.elem_node.elem_count() as u64, (nnz / (dofs * dofs)) as u64);
    let sizes = Sizes { owned: owned as u64, ghosts: part.map.ghost_count() as u64, elems, nnz };
    let points = deck.mesh.element.rule().points.len() as u64;
    let shape = Shape { nodes: part.elem_node.nodes_per_elem() as u64, points, dofs: dofs as u64, position };
    phase_costs::model_costs(&phases, sizes, shape, &problem, deck);

    // 4. Newton; one step for a linear problem.
    comm.enter_phase("solution");
    let newton = newton(space, deck, &links, &mut problem, S::Memory::slice_mut(&mut field), progress)?;
    // The last step changed the owned unknowns only.
    agree(comm, problem.refresh(S::Memory::slice_mut(&mut field)))?;
    phase_costs::model_costs(&phases, sizes, shape, &problem, deck);
    let format = problem.format();
    drop(problem);

    // 5. Errors, bandwidth, report.
    comm.enter_phase("report");
    let judged = judged(space, comm, &case, &elements, &field, &newton)?;
    let seconds = start.seconds();
    let peak = agree(comm, space.peak_bytes())?;
    let tables = Tables {
        spec,
        elems: part.elem_node.elem_count() as u64,
        owned,
        ghosts: part.map.ghost_count(),
        neighbours: part.map.neighbours().len(),
        spacing: part.extent(2),
        nodes: part.map.global_count(),
        elements: part.global_elem_count(),
        problem: ProblemReport::new(deck, case.heat()),
        kernel: deck.element_kernel(),
    };
    let triad = bandwidth(space, deck, comm, seconds)?;
    let provenance = provenance(space, deck, comm, &start)?;
    let (transport, date) = (links.transport(), start.date());
    let run = summary::Run { space, deck, comm, transport, map_stats, tables, date, seconds, provenance, format };
    let report = summary::report(run, &newton, |_| Ok(judged), &phases, peak, triad);
    let report = report.map_err(|error| alone(error, comm))?;
    let field = agree(comm, space.download(&field))?;
    drop(elements);
    Ok(ModelSolution { part, field, report })
}

/// Compares a field with the exact solution, on all ranks.
fn judged<S: Job>(
    space: &S,
    comm: &dyn Communicator,
    case: &Case,
    elements: &Elements<'_, S>,
    field: &Array<S, f64>,
    newton: &Ended,
) -> Result<Judged> {
    let errors = agree(comm, elements.errors(space, comm, case, field))?;
    let mut largest = [errors.max, errors.interpolation, errors.scale];
    let mut sums = [errors.square, errors.scale_square];
    comm.all_max(&mut largest);
    comm.all_sum(&mut sums);
    let part = elements.part;
    let free = part.node_faces[..part.map.owned_count()].iter().filter(|&&faces| !case.fixes(faces)).count();
    let mut free = [(case.model.dofs() * free) as u64];
    comm.all_sum_u64(&mut free);
    let [max, interpolation, scale] = largest;
    Ok(Judged {
        error_max: max / scale,
        error_l2: (sums[0] / sums[1]).sqrt(),
        error_bound: SAFETY * interpolation / scale,
        algebraic_error: match newton.info.reason {
            Reason::Zero => 0.0,
            Reason::RelativeTolerance | Reason::Iterations => {
                case.algebraic_error(newton.info.residual, scale, part.map.global_count() as f64)
            }
        },
        free: free[0],
    })
}
