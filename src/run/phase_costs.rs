//! Bytes and flops of each phase on a rank: the formulas of [`cost`] with the sizes and choices of a run.

use super::problem::{Discrete, Problem};
use super::{Deck, HeatProblem, Job, Phases, cost};
use crate::graph::Graph;
use crate::mesh::Mesh;
use crate::solve::CgVariant;
use crate::space::MemorySpace;
use crate::sparse::Precision;
use crate::{element, fill};

/// Books the steps of the graph under their names.
pub(super) fn graph_phases<M: MemorySpace>(phases: &Phases, graph: &Graph<M>) {
    graph.step_times.iter().for_each(|(name, time)| phases.add(name, 1, time.as_secs_f64()));
}

/// Sets what a call of each phase moves and computes on this rank of the box of hexahedra.
pub(super) fn box_costs<S: Job>(
    phases: &Phases,
    mesh: &Mesh<S::Memory>,
    nnz: usize,
    problem: &HeatProblem<'_, S>,
    deck: &Deck,
) {
    let sizes = cost::Sizes {
        owned: mesh.map.owned_count() as u64,
        ghosts: mesh.map.ghost_count() as u64,
        elems: mesh.elem_count() as u64,
        nnz: nnz as u64,
    };
    let element_flops = match deck.element_kernel() {
        fill::Kernel::Fused => element::MOMENTS_FLOPS as u64,
        fill::Kernel::Contraction => fill::ContractionKernel::FLOPS as u64,
    };
    let written = cost::Sizes { nnz: problem.assembled_entries(sizes.nnz), ..sizes };
    let fill = match deck.fill.strategy.or(S::STRATEGY) {
        fill::Strategy::Gather => cost::fill_gather(written, element_flops, problem.stored_bytes()),
        fill::Strategy::Scatter | fill::Strategy::Colour => {
            cost::fill_scatter(written, element_flops, problem.stored_bytes())
        }
    };
    phases.set_cost("graph", cost::graph(sizes));
    phases.set_cost("graph/scan", cost::graph_scan(sizes));
    phases.set_cost("fill", fill);
    solver_costs(phases, sizes, problem, deck);
}

/// Sets bytes and flops of the graph and of the assembly of a model on this rank, whose nodes have these sizes.
pub(super) fn model_costs<S: Job, D: Discrete<S>>(
    phases: &Phases,
    nodes: cost::Sizes,
    shape: cost::Shape,
    problem: &Problem<'_, S, D>,
    deck: &Deck,
) {
    let sum = if deck.fill.strategy.or(S::STRATEGY) == fill::Strategy::Gather { 8 } else { 24 };
    phases.set_cost("graph", cost::graph_of(nodes, shape));
    phases.set_cost("graph/scan", cost::graph_scan(nodes));
    let cost::Shape { dofs, .. } = shape;
    let cost::Sizes { owned, ghosts, elems, nnz } = nodes;
    let written = cost::Sizes { nnz: problem.assembled_entries(dofs * dofs * nnz) / (dofs * dofs), ..nodes };
    phases.set_cost("fill", cost::fill_of(written, shape, sum, cost::element_flops(shape), problem.stored_bytes()));
    let unknowns = cost::Sizes { owned: dofs * owned, ghosts: dofs * ghosts, elems, nnz: dofs * dofs * nnz };
    solver_costs(phases, unknowns, problem, deck);
}

/// Sets what a call of each phase of the solver moves and computes: rows are unknowns.
pub(super) fn solver_costs<S: Job, D: Discrete<S>>(
    phases: &Phases,
    sizes: cost::Sizes,
    problem: &Problem<'_, S, D>,
    deck: &Deck,
) {
    let (product_name, product) = problem.product_cost(sizes);
    if !deck.has_matrix() {
        // The residual reads and writes what a product does. Its operations are not counted.
        phases.set_cost("fill", cost::Cost { flops: 0, ..product });
    }
    let halo = cost::halo(problem.halo_bytes() as u64 / 8, sizes);
    let item = match deck.matrix.values {
        Precision::F64 => 8,
        Precision::F32 => 4,
    };
    for (name, cost) in [
        ("boundary", cost::boundary(problem.boundary_entries() as u64)),
        (product_name, product),
        ("halo", halo),
        ("ghosts", halo),
        ("cg", cost::cg_iteration_of(deck.cg.variant.or(CgVariant::default()), product, sizes)),
        ("format", cost::format(problem.assembled_entries(sizes.nnz), item)),
    ] {
        phases.set_cost(name, cost);
    }
}
