//! Bytes and flops of each phase on a rank: the formulas of [`cost`] with the sizes and choices of a run.

use super::{Deck, Job, Phases, Problem, cost};
use crate::element::MOMENTS_FLOPS;
use crate::fill::{ContractionKernel, Kernel, Strategy};
use crate::graph::Graph;
use crate::mesh::Mesh;
use crate::solve::CgVariant;
use crate::space::MemorySpace;
use crate::sparse::Precision;

/// Books the steps of the graph under their names.
pub(super) fn graph_phases<M: MemorySpace>(phases: &Phases, graph: &Graph<M>) {
    graph.step_times.iter().for_each(|(name, time)| phases.add(name, 1, time.as_secs_f64()));
}

/// Sets what a call of each phase moves and computes on this rank, whose matrix has `nnz` entries with positions of `position` bytes.
pub(super) fn costs<S: Job>(
    phases: &Phases,
    mesh: &Mesh<S::Memory>,
    [nnz, position]: [u64; 2],
    problem: &Problem<'_, S>,
    deck: &Deck,
) {
    let dofs = deck.problem.kind.dofs() as u64;
    let (owned, ghosts, elems) =
        (mesh.map.owned_count() as u64, mesh.map.ghost_count() as u64, mesh.elem_count() as u64);
    let of_nodes = cost::Sizes { owned, ghosts, elems, nnz: nnz / (dofs * dofs) };
    let points = mesh.element.rule().points.len() as u64;
    let shape = cost::Shape { nodes: mesh.element.nodes() as u64, points, dofs, position };
    let element_flops = match (deck.element_kernel(), deck.has_fused_kernel()) {
        (Kernel::Fused, _) => MOMENTS_FLOPS as u64,
        (Kernel::Contraction, true) => ContractionKernel::FLOPS as u64,
        (Kernel::Contraction, false) => cost::element_flops(shape),
    };
    let sum = if deck.fill.strategy.or(S::STRATEGY) == Strategy::Gather { 8 } else { 24 };
    let written = cost::Sizes { nnz: problem.assembled_entries(nnz) / (dofs * dofs), ..of_nodes };
    phases.set_cost("graph", cost::graph_of(of_nodes, shape));
    phases.set_cost("graph/scan", cost::graph_scan(of_nodes));
    phases.set_cost("fill", cost::fill_of(written, shape, sum, element_flops, problem.stored_bytes()));
    let sizes = cost::Sizes { owned: dofs * owned, ghosts: dofs * ghosts, elems, nnz };
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
