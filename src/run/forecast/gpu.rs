//! The forecast for a GPU.

use super::{Choices, Forecast, Graph, Sizes};
use crate::fill::{Kernel, Strategy};
use crate::run::deck::Operator;

/// Returns the forecast for a GPU.
pub fn on_gpu(sizes: &Sizes, choices: &Choices) -> Forecast {
    let &Sizes { owned, ghosts, elems, nnz, corners, sent, dofs, nodes, longest, .. } = sizes;
    let (rows, columns, local, mesh) = (sizes.rows(), sizes.columns(), sizes.local(), sizes.mesh());
    let vectors = choices.variant.bytes(rows, columns) + 12 * dofs * sent;
    let newton = 8 * columns + 16 * rows;
    // Lists of values to send, and the messages; or the mesh that the host makes.
    let staging = match sizes.is_generated() {
        true => dofs * (12 * sent + 8 * ghosts),
        false => sizes.listed_mesh()[0].max(sizes.listed_mesh()[1] + 16 * columns),
    };
    let of_strategy = |lists: u64, meanwhile: u64, columns: u64| match choices.fill {
        Strategy::Gather => (lists, meanwhile),
        Strategy::Scatter | Strategy::Seam => (0, 0),
        Strategy::Colour => (4 * elems, 4 * elems + 16 * columns),
    };
    if choices.operator == Operator::MatrixFree {
        let lists = 8 * owned + 4 * corners + 8 * sizes.per_elem() * elems;
        let (kept, meanwhile) = of_strategy(lists, 4 * owned + 4 * corners, local);
        let tables = mesh + columns + sizes.kept_unknowns() + kept;
        let setup = tables + meanwhile.max(vectors + 8 * columns);
        return Forecast::new(owned, [mesh, mesh, setup, tables + vectors + newton], staging);
    }
    let positions = sizes.positions();
    let (entries, built) = match choices.graph {
        // Rows of at most 32 entries of hexahedra in one pass, others from lists. The number of entries is known only at the end: 32 per
        // row, or those of all elements.
        Graph::Gather if nodes == 8 && longest <= 32 => {
            let entries = (128 * owned).min(256 * elems);
            (entries, 44 * owned + entries + positions)
        }
        Graph::Gather => {
            let lists = 12 * owned + 8 * corners;
            (4 * nnz, lists.max(20 * owned + 4 * corners + 4 * nnz + positions))
        }
        Graph::Map => {
            let slots = nodes * (nodes - 1) * elems;
            (4 * nnz, (4 * slots + 20 * owned + 4 * nnz).max(12 * owned + 4 * nnz + positions))
        }
        Graph::Sort | Graph::DashMap => {
            let pairs = nodes * nodes * elems;
            (4 * nnz, (pairs * 67 / 4).max(8 * pairs + 20 * owned + 4 * nnz + positions))
        }
    };
    let [_, graph] = sizes.graphs(built, entries);
    let pattern = 8 * rows + if dofs == 1 { entries } else { 4 * sizes.entries() };
    let [values, kept_pattern] = sizes.matrix_on_gpu(choices);
    let (lists, meanwhile) = of_strategy(8 * rows + 4 * dofs * corners, 4 * rows + 4 * dofs * corners, columns);
    let stored = sizes.element_matrix(choices.kernel)
        * match (choices.fill, choices.kernel) {
            (Strategy::Gather, _) => sizes.window_on_gpu(choices.kernel),
            (_, Kernel::Fused) => 0,
            (_, Kernel::Intrepid | Kernel::Table) => elems,
        };
    let tables = mesh + sizes.places() + sizes.conditions();
    // While the conditions are listed; while slices are laid out; while the assembly is prepared; at the end.
    let conditions = pattern + columns + rows;
    let is_exact = sizes.is_direct(choices) || dofs > 1 || entries == 4 * nnz;
    let exact = if is_exact { 0 } else { pattern + 4 * nnz };
    let from = if sizes.is_direct(choices) { pattern } else { kept_pattern };
    let layout = exact.max(from + values + rows / 2);
    let assembly = kept_pattern + values + lists;
    let setup = conditions.max(layout).max(assembly + meanwhile.max(vectors));
    let solve = tables + assembly + stored + sizes.coefficients(choices) + vectors + newton;
    Forecast::new(owned, [mesh, mesh + graph, tables + setup, solve], staging)
}
