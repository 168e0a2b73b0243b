//! Strong connections between the nodes of a rank.
//!
//! ```text
//! node i is strongly connected to j    |A_ij|^2 > theta^2 |A_ii| |A_jj|        A_ij: block of the unknowns of both, Frobenius' norm
//! row i is fixed                       A[i, j] = 0 for all j other than i, as a Dirichlet condition leaves it
//! ```
//! (Vanek, Mandel and Brezina 1996, section 3.) Connections to nodes of other ranks do not count: aggregates stay on their rank.

use crate::space::{Threads, try_push, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix, graph_by_rows};
use crate::{LocalOrdinal, Result};

/// The nodes of a rank as aggregates are made of them.
#[derive(Debug)]
pub(super) struct Nodes {
    /// Strongly connected other nodes of each node.
    pub strong: CrsGraph,
    /// Whether a node has a strong neighbour or reads a ghost: 0 or 1, as below.
    pub is_coupled: Vec<u8>,
    /// Whether a row is fixed.
    pub is_fixed: Vec<u8>,
}

impl Nodes {
    /// Finds the strong connections of a matrix with `dofs` unknowns per node.
    pub fn new(space: &Threads, a: &CrsMatrix, dofs: usize, theta: f64) -> Result<Self> {
        let (graph, nodes, limit) = (a.graph(), a.graph().rows() / dofs, theta.powi(4));
        let diagonal = space.map(nodes, |node| norm_of_diagonal(a, dofs, node))?;
        // Entries of a row off the diagonal that are not 0.
        let others = |row: usize| {
            let entries = graph.row(row).iter().zip(&a.values()[graph.row_range(row)]);
            entries.filter(move |&(&column, &value)| value != 0.0 && column as usize != row)
        };
        // Index of each neighbour's sum, the node that set it, and the sums.
        let state = || {
            let of_nodes = || try_zeroed::<u32>("marks of nodes", nodes);
            Ok((of_nodes()?, of_nodes()?, Vec::<(LocalOrdinal, f64)>::new()))
        };
        let strong = graph_by_rows(space, [nodes, nodes], 1, state, |(seen, place, sums), node, found| {
            sums.clear();
            let stamp = node as u32 + 1;
            for row in node * dofs..(node + 1) * dofs {
                for (&column, &value) in others(row) {
                    let other = column as usize / dofs;
                    if other < nodes && other != node {
                        if seen[other] != stamp {
                            (seen[other], place[other]) = (stamp, sums.len() as u32);
                            try_push("connections", sums, (other as LocalOrdinal, 0.0))?;
                        }
                        sums[place[other] as usize].1 += value * value;
                    }
                }
            }
            let before = found.len();
            for &(other, square) in &*sums {
                // Fourth powers of the norms of blocks, since `diagonal` has squares.
                if square * square > limit * (diagonal[node] * diagonal[other as usize]) {
                    try_push("strong connections", found, other)?;
                }
            }
            found[before..].sort_unstable();
            Ok(())
        })?;
        let reaches_ghosts = |row: usize| others(row).any(|(&column, _)| column as usize >= nodes * dofs);
        let is_coupled = |node: usize| {
            u8::from(!strong.row(node).is_empty() || (node * dofs..(node + 1) * dofs).any(reaches_ghosts))
        };
        let is_coupled = space.map(nodes, is_coupled)?;
        let is_fixed = space.map(nodes * dofs, |row| u8::from(others(row).next().is_none()))?;
        Ok(Nodes { strong, is_coupled, is_fixed })
    }
}

/// |A_ii|^2 of a node.
fn norm_of_diagonal(a: &CrsMatrix, dofs: usize, node: usize) -> f64 {
    let own = (node * dofs) as LocalOrdinal..((node + 1) * dofs) as LocalOrdinal;
    let squares = (node * dofs..(node + 1) * dofs).flat_map(|row| {
        let (columns, range) = (a.graph().row(row), a.graph().row_range(row));
        let [low, high] = [own.start, own.end].map(|end| columns.partition_point(|&column| column < end));
        a.values()[range][low..high].iter().map(|value| value * value)
    });
    squares.sum()
}
