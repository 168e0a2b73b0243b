//! The forecast for threads of a host.

use super::{Choices, Forecast, Graph, Sizes};
use crate::fill::Strategy;
use crate::run::deck::Operator;

/// Returns the forecast for threads of a host.
pub fn on_host(sizes: &Sizes, choices: &Choices) -> Forecast {
    let &Sizes { owned, ghosts, elems, nnz, corners, sent, dofs, nodes, .. } = sizes;
    let (rows, columns, local) = (sizes.rows(), sizes.columns(), sizes.local());
    let [making, mesh] = if sizes.is_generated() { [sizes.mesh() + 4 * sent; 2] } else { sizes.listed_mesh() };
    // Vectors of CG; messages and the owners of unknowns; unknowns, ||F|| and correction.
    let owners = if dofs == 1 { 0 } else { 4 };
    let vectors = choices.variant.bytes(rows, columns) + dofs * ((12 + owners) * sent + 8 * ghosts);
    let newton = 8 * columns + 16 * rows;
    let of_strategy = |gather: u64, nodes: u64, local: u64| match choices.fill {
        Strategy::Gather => (gather, 0),
        Strategy::Scatter => (0, 0),
        Strategy::Seam => (nodes, 4 * nodes),
        Strategy::Colour => (0, 8 * local),
    };
    if choices.operator == Operator::MatrixFree {
        let (kept, meanwhile) = of_strategy(8 * owned + 4 * corners + 8 * sizes.per_elem() * elems, owned, local);
        // Conditions; unknowns at the start, two lists of them.
        let tables = mesh + columns + kept;
        let setup = tables + meanwhile.max(vectors + 16 * columns);
        let solve = tables + sizes.kept_unknowns() + vectors + newton;
        return Forecast::new(owned, [making.max(mesh), making.max(mesh), setup, solve], 0);
    }
    let (pattern, positions) = (8 * owned + 4 * nnz, sizes.positions());
    let built = match choices.graph {
        Graph::Gather => {
            // The columns of a piece have room for half of those gathered, and for all where that is too little.
            let half = corners * nodes / 2;
            let room = 4 * if nnz > half { 2 * half } else { half };
            12 * owned + 4 * corners + room + pattern + positions
        }
        Graph::Map => {
            let slots = corners * (nodes - 1) + owned;
            (12 * owned + 4 * slots + pattern).max(pattern + positions)
        }
        Graph::DashMap => {
            // The keys are listed before the tables are dropped.
            let pairs = nnz.div_ceil(2) + owned.div_ceil(2);
            let expected = corners * (nodes - 1) / 2 + owned;
            let part = pairs.max(expected).div_ceil(1024).max(1);
            let table = 1024 * 9 * (part * 8).div_ceil(7).next_power_of_two().max(4);
            (4 * owned + 8 * pairs + table.max(pattern)).max(pattern + positions)
        }
        Graph::Sort => (4 * owned + 8 * nodes * nodes * elems + pattern).max(pattern + positions),
    };
    let [graphs, graph] = sizes.graphs(built, 4 * nnz);
    let tables = mesh + graphs;
    let (lists, meanwhile) = of_strategy(8 * rows + 4 * dofs * corners, rows, columns);
    let matrices = match choices.fill {
        Strategy::Gather => sizes.matrices_on_host(choices.threads),
        Strategy::Scatter | Strategy::Seam | Strategy::Colour => [0; 2],
    };
    // While the conditions are listed, in lists that grow; then the matrix, its assembly and the vectors.
    let fixed = if dofs == 1 { columns } else { 2 * columns };
    let worksets = choices.threads * sizes.workset(choices);
    let listing = fixed + 4 * dofs * sizes.fixed + 24 * sizes.cleared_entries();
    let system = sizes.conditions() + lists + worksets + 8 * sizes.entries() + sizes.copied_on_host(choices.storage);
    let setup = listing.max(system + matrices[0] + meanwhile.max(vectors + 8 * columns));
    let solve = system + matrices[1] + vectors + newton;
    Forecast::new(owned, [making.max(mesh), mesh + graph, tables + setup, tables + solve], 0)
}
