//! The nodes of a graph with several unknowns per node: how many unknowns each has, and the graph of the nodes.

use crate::space::{Threads, try_collect, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{Result, RowOffset};
use rayon::prelude::*;

/// Returns the number D of unknowns per node, 3 or 2, if rows are grouped so; else 1. Reads all columns if the first
/// group is one.
pub(super) fn dofs(space: &Threads, graph: &CrsGraph) -> usize {
    let is_blocked = |d: usize| {
        let fits = graph.nnz() > 0 && graph.rows().is_multiple_of(d) && graph.columns().is_multiple_of(d);
        fits && is_node(graph, d, 0) && {
            let nodes = graph.rows() / d;
            let mut pieces = vec![true; nodes.div_ceil(Threads::CHUNK)];
            space.for_each(pieces.par_iter_mut().enumerate(), |(piece, is_blocked)| {
                let first = piece * Threads::CHUNK;
                *is_blocked = (first..nodes.min(first + Threads::CHUNK)).all(|node| is_node(graph, d, node));
            });
            pieces.into_iter().all(|is_blocked| is_blocked)
        }
    };
    [3, 2].into_iter().find(|&d| is_blocked(d)).unwrap_or(1)
}

/// Whether the rows of a node have the same columns, and whether these form whole nodes.
fn is_node(graph: &CrsGraph, d: usize, node: usize) -> bool {
    let columns = graph.row(d * node);
    columns.len().is_multiple_of(d)
        && (1..d).all(|c| graph.row(d * node + c) == columns)
        && columns
            .chunks_exact(d)
            .all(|of| of[0].is_multiple_of(d as u32) && of.iter().zip(of[0]..).all(|(&column, next)| column == next))
}

/// Returns the graph of the nodes of a graph with `d` unknowns per node.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
pub(super) fn of_nodes(space: &Threads, graph: &CrsGraph, d: usize) -> Result<CrsGraph> {
    let nodes = graph.rows() / d;
    // The rows of a node are as long as each other.
    let begins = |node: usize| graph.row_map()[d * node] / (d * d) as RowOffset;
    let row_map = try_collect("rows of nodes", (0..nodes + 1).map(begins))?;
    let mut entries = try_zeroed("columns of nodes", graph.nnz() / (d * d))?;
    space.for_rows(space.concurrency(), &row_map, &mut entries, |node, columns| {
        let first = graph.row(d * node).iter().step_by(d);
        columns.iter_mut().zip(first).for_each(|(node, &column)| *node = column / d as u32);
    });
    Ok(CrsGraph::trusted(row_map, entries, graph.columns() / d))
}

#[cfg(test)]
mod tests {
    use super::super::host_tests::{box_columns, of_unknowns, on, whole};
    use super::*;
    use crate::space::Threads;

    #[test]
    fn unknowns_of_nodes_are_found_only_if_all_rows_are_in_groups() {
        let space = Threads::new(2).unwrap();
        let found = |columns, width| dofs(&space, on(columns, width, whole).graph());
        let nodes = box_columns([30, 20, 15], 0);
        assert_eq!(found(nodes.clone(), 9000), 1);
        for d in [2, 3] {
            let (all, width) = (of_unknowns(&nodes, d), 9000 * d as usize);
            assert_eq!(found(all.clone(), width), d as usize);
            assert_eq!(found(of_unknowns(&nodes, 2 * d), 2 * width), if d == 2 { 2 } else { 3 });
            // One row, or the columns of one node, differ; a column more or less than nodes have.
            let (mut one_row, mut one_node) = (all.clone(), all.clone());
            one_row[width - 1].pop_first();
            one_node[width - d as usize..].iter_mut().for_each(|columns| {
                columns.pop_first();
                columns.insert(0);
            });
            assert_eq!((found(one_row, width), found(one_node, width)), (1, 1));
            assert_eq!(found(all.clone(), width + 1), 1);
            assert_eq!(found(all[..width - 1].to_vec(), width), 1);
        }
        assert_eq!(found(vec![Default::default(); 6], 6), 1);
    }

    #[test]
    fn graphs_of_nodes_are_those_of_which_the_unknowns_were_made() {
        let (nodes, space) = (box_columns([30, 20, 15], 57), Threads::new(3).unwrap());
        for d in [2, 3] {
            let all = on(of_unknowns(&nodes, d), 9000 * d as usize, whole);
            let expected = on(nodes.clone(), 9000, whole);
            let found = of_nodes(&space, all.graph(), d as usize).unwrap();
            assert!(found.row_map() == expected.graph().row_map() && found.entries() == expected.graph().entries());
            assert_eq!(found.columns(), 9000);
        }
    }
}
