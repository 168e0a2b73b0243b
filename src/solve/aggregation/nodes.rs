//! Strong connections between the nodes of a rank.
//!
//! ```text
//! node i is strongly connected to j    |A_ij|^2 > theta^2 |A_ii| |A_jj|        A_ij: block of the unknowns of both, Frobenius' norm
//! row i is fixed                       A[i, j] = 0 for all j other than i, as a Dirichlet condition leaves it
//! ```
//! (Vanek, Mandel and Brezina 1996, section 3.) Connections to nodes of other ranks do not count: aggregates stay on their rank.

use crate::space::{HostMemory, MemorySpace, Threads, even_bounds, offsets, try_push, try_with_capacity, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;

/// Tasks per thread.
const TASKS: usize = 4;

/// The nodes of a rank as aggregates are made of them.
#[derive(Debug)]
pub struct Nodes<M: MemorySpace = HostMemory> {
    /// Strongly connected other nodes of each node.
    pub(super) strong: CrsGraph<M>,
    /// Whether a node has an unknown that depends on another node: 0 or 1, as below.
    pub(super) is_coupled: M::Array<u8>,
    /// Whether a row is fixed.
    pub(super) is_fixed: M::Array<u8>,
}

/// Nodes of one task.
#[derive(Default)]
struct Found {
    lengths: Vec<u32>,
    entries: Vec<LocalOrdinal>,
    is_coupled: Vec<u8>,
    is_fixed: Vec<u8>,
}

impl Nodes {
    /// Finds the strong connections of a matrix with `dofs` unknowns per node.
    pub(super) fn new(space: &Threads, a: &CrsMatrix, dofs: usize, theta: f64) -> Result<Self> {
        let nodes = a.graph().rows() / dofs;
        let diagonal = space.map(nodes, |node| norm_of_diagonal(a, dofs, node))?;
        let bounds = even_bounds(nodes, TASKS * space.concurrency(), 1);
        let mut tasks: Vec<Found> = (1..bounds.len()).map(|_| Found::default()).collect();
        space.try_for_each(tasks.par_iter_mut().zip(bounds.par_windows(2)), |(task, ends)| {
            task.find(a, dofs, theta, ends[0]..ends[1], &diagonal)
        })?;
        let mut lengths = try_with_capacity("strong connections", nodes)?;
        let count = tasks.iter().map(|task| task.entries.len()).sum();
        let mut entries = try_with_capacity("strong connections", count)?;
        let mut is_coupled = try_with_capacity("coupled nodes", nodes)?;
        let mut is_fixed = try_with_capacity("fixed rows", nodes * dofs)?;
        for task in tasks {
            lengths.extend(task.lengths);
            entries.extend(task.entries);
            is_coupled.extend(task.is_coupled);
            is_fixed.extend(task.is_fixed);
        }
        let strong = CrsGraph::trusted(offsets(space, &lengths)?, entries, nodes);
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

impl Found {
    fn find(
        &mut self,
        a: &CrsMatrix,
        dofs: usize,
        theta: f64,
        nodes: std::ops::Range<usize>,
        diagonal: &[f64],
    ) -> Result<()> {
        let all = diagonal.len();
        // Where the sum of a neighbour is, for the last node that had it.
        let mut seen = try_zeroed::<u32>("marks of nodes", all)?;
        let mut place = try_zeroed::<u32>("places of nodes", all)?;
        let mut sums: Vec<(LocalOrdinal, f64)> = Vec::new();
        let limit = theta.powi(4);
        for node in nodes.clone() {
            let stamp = (node - nodes.start + 1) as u32;
            sums.clear();
            let mut reaches_ghosts = false;
            for row in node * dofs..(node + 1) * dofs {
                let mut is_fixed = true;
                let entries = a.graph().row(row).iter().zip(&a.values()[a.graph().row_range(row)]);
                for (&column, &value) in entries.filter(|(column, value)| **value != 0.0 && **column as usize != row) {
                    is_fixed = false;
                    let other = column as usize / dofs;
                    if other >= all {
                        reaches_ghosts = true;
                    } else if other != node {
                        if seen[other] != stamp {
                            (seen[other], place[other]) = (stamp, sums.len() as u32);
                            try_push("connections", &mut sums, (other as LocalOrdinal, 0.0))?;
                        }
                        sums[place[other] as usize].1 += value * value;
                    }
                }
                try_push("fixed rows", &mut self.is_fixed, u8::from(is_fixed))?;
            }
            let before = self.entries.len();
            for &(other, square) in &sums {
                // Fourth powers of the norms of blocks, since `diagonal` has squares.
                if square * square > limit * (diagonal[node] * diagonal[other as usize]) {
                    try_push("strong connections", &mut self.entries, other)?;
                }
            }
            self.entries[before..].sort_unstable();
            try_push("lengths of rows", &mut self.lengths, (self.entries.len() - before) as u32)?;
            try_push("coupled nodes", &mut self.is_coupled, u8::from(self.entries.len() > before || reaches_ghosts))?;
        }
        Ok(())
    }
}
