//! Bytes and flops of each phase on a rank: the formulas of [`cost`] with the sizes and choices of a problem.

use super::linear::Linear;
use super::{Problem, ProblemInput};
use crate::element::MOMENTS_FLOPS;
use crate::fill::{Kernel, Strategy};
use crate::run::cost::{self, Cost};
use crate::run::deck::Solver;
use crate::run::{Job, cost::Sizes};
use crate::solve::CgVariant;
use crate::sparse::Precision;

impl<S: Job> Problem<'_, S> {
    /// Sets what a call of each phase moves and computes on this rank.
    pub fn book_costs(&self) {
        let ProblemInput { deck, mesh, phases, .. } = &self.system.input;
        let dofs = self.system.case.model.dofs() as u64;
        let [owned, ghosts, elems, nodes, points] = [
            mesh.map.owned_count(),
            mesh.map.ghost_count(),
            mesh.elem_count(),
            mesh.element.nodes(),
            mesh.element.rule().points.len(),
        ]
        .map(|count| count as u64);
        let sizes = |dofs: u64, nnz: u64| Sizes { owned: dofs * owned, ghosts: dofs * ghosts, elems, nnz };
        // `written`: values that an assembly writes, without padding, and of symmetric halves each pair once; `moved`: bytes of element
        // matrices that it writes to memory and reads back.
        let ([nnz, position], written, moved, conditions) = match &self.system.linear {
            Linear::Matrix(stored) => {
                let written = stored.numbers[0].min(S::assembled_len(&stored.system.matrix) as u64);
                let conditions = stored.system.conditions.len() as u64;
                (stored.numbers, written, S::stored_bytes(&stored.assembly), conditions)
            }
            Linear::Elements(..) => ([0; 2], 0, 0, 0),
        };
        let (of_unknowns, product) = (sizes(dofs, nnz), self.system.product());
        let shape = cost::Shape { nodes, points, dofs, position };
        let element_flops = match deck.element_kernel() {
            Kernel::Fused => MOMENTS_FLOPS as u64,
            Kernel::Intrepid | Kernel::Table => cost::element_flops(shape),
        };
        let sum = if deck.fill.strategy.or(S::STRATEGY) == Strategy::Gather { 8 } else { 24 };
        let of_nodes = |nnz: u64| sizes(1, nnz / (dofs * dofs));
        let halo = cost::halo(self.halo.bytes_sent() as u64 / 8, of_unknowns);
        let item = match deck.matrix.values {
            Precision::F64 => 8,
            Precision::F32 => 4,
        };
        let mut step = product;
        if let Some(cycle) = self.preconditioner.as_ref().map(|preconditioner| preconditioner.cost(&self.system)) {
            step = Cost { bytes: step.bytes + cycle.bytes, flops: step.flops + cycle.flops };
        }
        let iteration = match deck.solver() {
            Solver::Cg => cost::cg_iteration_of(deck.cg.variant.or(CgVariant::default()), step, of_unknowns),
            solver => cost::general_iteration(solver.method(), step, of_unknowns),
        };
        for (name, cost) in [
            ("graph", cost::graph(of_nodes(nnz), shape)),
            ("graph/scan", cost::graph_scan(of_nodes(nnz))),
            // Without a matrix the residual reads and writes what a product does. Its operations are not counted.
            (
                "fill",
                match deck.has_matrix() {
                    true => cost::fill(of_nodes(written), shape, sum, element_flops, moved),
                    false => Cost { flops: 0, ..product },
                },
            ),
            ("boundary", cost::boundary(conditions)),
            (self.system.phase(), product),
            ("halo", halo),
            ("ghosts", halo),
            ("cg", iteration),
            ("format", cost::format(written, item)),
        ] {
            phases.set_cost(name, cost);
        }
    }
}
