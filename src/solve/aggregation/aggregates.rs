//! Aggregates: disjoint sets of strongly connected nodes, each a node of the next level.
//!
//! ```text
//! 1  a node none of whose neighbours is in an aggregate makes one with all of them
//! 2  any other node joins the aggregate of step 1 that has most of its neighbours
//! 3  a node that is left has no strong neighbour; if it is coupled to ghosts, it makes an aggregate of itself
//! ```
//! (Vanek, Mandel and Brezina 1996, algorithm 5.1.) One thread visits the nodes in their order: 4 bytes per connection are read twice.

use super::nodes::Nodes;
use crate::Result;
use crate::space::try_zeroed;
use crate::sparse::CrsGraph;

/// No aggregate.
pub(super) const NONE: u32 = u32::MAX;

/// Returns the aggregate of each node, [`NONE`] for nodes without a strong neighbour or ghost, and the number of aggregates.
///
/// `graph` is that of the matrix, with `dofs` unknowns per node.
pub(super) fn aggregates(nodes: &Nodes, graph: &CrsGraph, dofs: usize) -> Result<(Vec<u32>, usize)> {
    let (strong, mut count) = (&nodes.strong, 0u32);
    let mut of_node = try_zeroed::<u32>("aggregates", strong.rows())?;
    of_node.fill(NONE);
    for node in 0..strong.rows() {
        let neighbours = strong.row(node);
        let is_free = of_node[node] == NONE && !neighbours.is_empty();
        if is_free && neighbours.iter().all(|&other| of_node[other as usize] == NONE) {
            of_node[node] = count;
            neighbours.iter().for_each(|&other| of_node[other as usize] = count);
            count += 1;
        }
    }
    let mut joined = try_zeroed::<u32>("aggregates", strong.rows())?;
    let mut near = Vec::new();
    for (node, joined) in joined.iter_mut().enumerate() {
        *joined = of_node[node];
        if *joined == NONE {
            near.clear();
            near.extend(strong.row(node).iter().map(|&other| of_node[other as usize]).filter(|&other| other != NONE));
            near.sort_unstable();
            *joined = most_connected(&near, graph.row(node * dofs), &of_node, dofs);
        }
    }
    for (aggregate, _) in
        joined.iter_mut().zip(&nodes.is_coupled).filter(|(of, coupled)| **of == NONE && **coupled != 0)
    {
        *aggregate = count;
        count += 1;
    }
    Ok((joined, count as usize))
}

/// Of the aggregates of strong neighbours, `near`, in ascending order, returns that with most neighbours. Weak ones count too, strong ones
/// twice: on a grid of cubes, whose neighbours across a face are not connected, a node is strongly connected to two aggregates alike.
fn most_connected(near: &[u32], columns: &[u32], of_node: &[u32], dofs: usize) -> u32 {
    let neighbours = |aggregate: u32| {
        let nodes = columns.iter().step_by(dofs).filter_map(|&column| of_node.get(column as usize / dofs));
        nodes.filter(|&&other| other == aggregate).count()
    };
    let found = near.chunk_by(|a, b| a == b).map(|run| (run.len() + neighbours(run[0]), run[0]));
    // The first of those with most.
    found.rev().max_by_key(|&(count, _)| count).map_or(NONE, |(_, aggregate)| aggregate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};
    use crate::sparse::CrsMatrix;
    use std::sync::Arc;

    /// -1 between neighbours of a chain of nodes with `dofs` unknowns, 2 on the diagonal; `weak` between nodes 4 and 5.
    fn chain(nodes: usize, dofs: usize, weak: f64) -> CrsMatrix {
        let (mut row_map, mut entries, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..nodes * dofs {
            let (node, dof) = (row / dofs, row % dofs);
            for other in node.saturating_sub(1)..(node + 2).min(nodes) {
                entries.push((other * dofs + dof) as u32);
                let is_weak = node.min(other) == 4 && node != other;
                values.push(if node == other {
                    2.0
                } else if is_weak {
                    weak
                } else {
                    -1.0
                });
            }
            row_map.push(entries.len() as u64);
        }
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, nodes * dofs).unwrap()), values).unwrap()
    }

    #[test]
    fn chains_fall_into_threes_within_strong_connections() {
        for (dofs, threads) in [(1, 1), (1, 3), (3, 2)] {
            let space = Threads::new(threads).unwrap();
            let found = |weak| {
                let matrix = chain(10, dofs, weak);
                aggregates(&Nodes::new(&space, &matrix, dofs, 0.1).unwrap(), matrix.graph(), dofs).unwrap()
            };
            // 0 and 1 by the first node, then the neighbours of 3 and of 6; 9 is left over and joins those of 8.
            assert_eq!(found(-1.0), (vec![0, 0, 1, 1, 1, 2, 2, 2, 3, 3], 4));
            assert_eq!(found(-0.01), (vec![0, 0, 1, 1, 1, 2, 2, 3, 3, 3], 4));
        }
    }

    #[test]
    fn fixed_rows_are_seen_and_nodes_without_others_stay_alone() {
        let mut matrix = chain(4, 1, -1.0);
        // Node 1 is fixed, which leaves node 0 alone.
        let graph = matrix.graph().clone();
        let values = matrix.parts_mut().1;
        for row in 0..4usize {
            for at in graph.row_range(row) {
                let column = graph.entries()[at] as usize;
                if row != column && (row == 1 || column == 1) {
                    values[at] = 0.0;
                }
            }
        }
        let nodes = Nodes::new(&Serial, &matrix, 1, 0.1).unwrap();
        assert_eq!(nodes.is_fixed, [1, 1, 0, 0]);
        assert_eq!(aggregates(&nodes, &graph, 1).unwrap(), (vec![NONE, NONE, 0, 0], 1));
    }

    /// Nodes of cubes, whose entries across faces are zero, fall into cubes: of two nodes at the low end, of three behind them.
    #[test]
    fn grids_of_cubes_fall_into_cubes() {
        const EDGE: usize = 8;
        let point = |node: usize| [node % EDGE, node / EDGE % EDGE, node / EDGE / EDGE];
        let (mut row_map, mut entries, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..EDGE.pow(3) {
            for column in 0..EDGE.pow(3) {
                let apart = [0, 1, 2].map(|axis| point(row)[axis].abs_diff(point(column)[axis]));
                if apart.iter().all(|&steps| steps <= 1) {
                    entries.push(column as u32);
                    values.push([30.0, 0.0, -1.0, -1.0][apart.iter().sum::<usize>()]);
                }
            }
            row_map.push(entries.len() as u64);
        }
        let graph = Arc::new(CrsGraph::new(row_map, entries, EDGE.pow(3)).unwrap());
        let matrix = CrsMatrix::new(graph.clone(), values).unwrap();
        let (of_node, count) = aggregates(&Nodes::new(&Serial, &matrix, 1, 0.01).unwrap(), &graph, 1).unwrap();
        assert_eq!(count, 27);
        for (node, &aggregate) in of_node.iter().enumerate() {
            let [x, y, z] = point(node).map(|i| (i + 1) / 3);
            assert_eq!(aggregate as usize, x + 3 * (y + 3 * z), "node {:?}", point(node));
        }
    }

    /// Blocks of one unknown: |a_ij| has to exceed theta times the diagonal, here 2.
    #[test]
    fn a_connection_is_strong_above_its_threshold() {
        let strong = |weak: f64| Nodes::new(&Serial, &chain(10, 1, weak), 1, 0.125).unwrap().strong.row(4).to_vec();
        assert_eq!([strong(-0.25), strong(-0.2500001), strong(0.2500001)], [vec![3], vec![3, 5], vec![3, 5]]);
        // The norm of a diagonal block of three is sqrt(3) times as large, and so is that of a block beside it.
        let strong = |weak: f64| Nodes::new(&Serial, &chain(10, 3, weak), 3, 0.125).unwrap().strong.row(4).to_vec();
        assert_eq!([strong(-0.249), strong(-0.251)], [vec![3], vec![3, 5]]);
    }

    /// A node whose neighbours are ghosts of other ranks makes an aggregate; a fixed one is in none.
    #[test]
    fn a_node_beside_ghosts_stands_for_itself() {
        let graph = Arc::new(CrsGraph::new(vec![0, 2, 4], vec![0, 2, 1, 3], 4).unwrap());
        let matrix = CrsMatrix::new(graph.clone(), vec![2.0, -1.0, 2.0, 0.0]).unwrap();
        let nodes = Nodes::new(&Serial, &matrix, 1, 0.1).unwrap();
        assert_eq!((&nodes.is_coupled[..], &nodes.is_fixed[..]), (&[1, 0][..], &[0, 1][..]));
        assert_eq!(aggregates(&nodes, &graph, 1).unwrap(), (vec![0, NONE], 1));
    }

    /// The first of the aggregates with most neighbours; strong ones count twice.
    #[test]
    fn ties_between_aggregates_go_to_the_lowest() {
        let of_node = [4, 7, 7, 4, NONE];
        assert_eq!(most_connected(&[4, 7], &[0, 1, 4], &of_node, 1), 4);
        assert_eq!(most_connected(&[4, 7], &[0, 1, 2, 4], &of_node, 1), 7);
        assert_eq!(most_connected(&[4, 4, 7], &[0, 1, 2, 4], &of_node, 1), 4);
        assert_eq!(most_connected(&[], &[0, 1], &of_node, 1), NONE);
    }
}
