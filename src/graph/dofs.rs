//! Several degrees of freedom (dofs) per node: the graph of the nodes, expanded.
//!
//! ```text
//! dof (i, a) = d i + a                                  node i, component a of d: interleaved
//! row (i, a) = { d j + b : (i, j) in the graph, b < d }
//! position of ((i, a), (j, b)) = d position of (i, j) + b
//! ```
//! The search for pairs is that of the nodes, a d^2-th of the pairs of dofs. Dofs of owned nodes stay in front of those of
//! ghosts, so rows are owned dofs. Cost: reads the graph, writes 8 d bytes per row, 4 d^2 per entry, 4 d per element corner and
//! d^2 positions per pair of an element's nodes.

use super::elem_graph::{position_bytes, with_position_type, with_positions};
use super::{BuildGraph, ElemGraph, Graph, Position, Positions, Strategy, step};
use crate::mesh::{ElemNode, Sizes};
use crate::space::{StepTimes, Threads, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{Error, LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;

impl Graph {
    /// Returns the graph of `dofs` dofs per node, numbered `dofs * node + component`. Elements have `dofs` times as
    /// many nodes, each node's components side by side. It equals the graph of such a table, which takes several
    /// times as long to build. Graphs of [`build_groups`](super::build_groups) share their pattern of dofs, too.
    ///
    /// ```
    /// use minifenl::{graph, mesh::ElemNode, space::Threads};
    ///
    /// let space = Threads::new(2)?;
    /// let elem_node = ElemNode::new(vec![0, 1, 1, 2], 2, 3)?;
    /// let nodes = graph::build(&space, &elem_node, 3, graph::Strategy::default())?;
    /// let graph = nodes.with_dofs(&space, 2)?;
    /// assert_eq!(graph.elem.elem_node().elem(1), [2, 3, 4, 5]);
    /// assert_eq!((graph.crs.row(1), graph.crs.row(3)), (&[0, 1, 2, 3][..], &[0, 1, 2, 3, 4, 5][..]));
    /// # Ok::<(), minifenl::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for no dof per node, [`Error::TooLarge`] when dofs or corners of elements exceed 32 bits,
    /// [`Error::OutOfMemory`] when the memory is not available.
    pub fn with_dofs(&self, space: &Threads, dofs: usize) -> Result<Graph> {
        check_dofs(dofs, self.crs.columns(), self.elem.elem_node().as_slice().len())?;
        let mut step_times = StepTimes::default();
        let elem_node = table(space, self.elem.elem_node(), dofs)?;
        let crs = self.crs.of_dofs(dofs, || pattern(space, &self.crs, dofs))?;
        step_times.mark(step::COLUMNS);
        let positions = with_position_type!(self.crs.longest_row() * dofs, P => {
            with_positions!(self.elem.positions(), old => positions::<_, P>(space, self.elem.nodes_per_elem(), old, dofs)?)
        });
        let elem = ElemGraph::from_parts(elem_node, positions, &crs);
        step_times.mark(step::ELEM_GRAPH);
        Ok(Graph { crs, elem, step_times, map_stats: None })
    }
}

/// Returns the bytes in use while the graph of unknowns is built, those of its pattern, and those of its positions.
pub fn bytes<S: BuildGraph>(strategy: Strategy, sizes: &Sizes) -> [u64; 3] {
    let ([built, columns], positions) = (S::build_bytes(strategy, sizes), ElemGraph::bytes(sizes));
    let of_nodes = 8 * sizes.owned + columns;
    if sizes.dofs == 1 {
        return [built, of_nodes, positions];
    }
    let (per_elem, position) = (sizes.per_elem(), position_bytes(sizes.dofs * sizes.longest));
    let pattern = CrsGraph::bytes(sizes.rows(), sizes.entries());
    let places = (position * per_elem + 4) * per_elem * sizes.elems;
    [built.max(of_nodes + positions + pattern + places), pattern, places]
}

/// Refuses zero dofs per node, and counts beyond 32 bits, before allocating.
pub(super) fn check_dofs(dofs: usize, columns: usize, corners: usize) -> Result<()> {
    if dofs == 0 {
        return Err(Error::Invalid("Graph::with_dofs: 0 dofs per node: expected 1 or more".into()));
    }
    // What is larger could not be counted.
    let most = columns.max(corners).max(1).saturating_mul(dofs);
    if most >= LocalOrdinal::MAX as usize {
        let (needed, limit) = (format!("{most} ids"), format!("{} (32 bits)", LocalOrdinal::MAX - 1));
        return Err(Error::TooLarge { what: "dofs".into(), needed, limit });
    }
    Ok(())
}

/// Returns the pattern of the dofs.
fn pattern(space: &Threads, nodes: &CrsGraph, dofs: usize) -> Result<CrsGraph> {
    let (of_nodes, rows) = (nodes.row_map(), nodes.rows());
    let mut row_map = try_zeroed::<RowOffset>("row offsets of dofs", dofs * rows + 1)?;
    let ends = row_map[1..].chunks_exact_mut(dofs).zip(of_nodes.windows(2));
    let d = dofs as RowOffset;
    ends.for_each(|(ends, node)| {
        ends.iter_mut().zip(1..).for_each(|(end, a)| *end = d * (d * node[0] + a * (node[1] - node[0])));
    });
    let mut entries = try_zeroed::<LocalOrdinal>("columns of dofs", dofs * dofs * nodes.nnz())?;
    space.for_rows(rows.div_ceil(Threads::CHUNK), &row_map, &mut entries, |row, columns| {
        for (of_node, &node) in columns.chunks_exact_mut(dofs).zip(nodes.row(row / dofs)) {
            (dofs as LocalOrdinal * node..).zip(of_node).for_each(|(dof, column)| *column = dof);
        }
    });
    Ok(CrsGraph::trusted(row_map, entries, dofs * nodes.columns()))
}

/// Returns the dofs of each element.
fn table(space: &Threads, nodes: &ElemNode, dofs: usize) -> Result<ElemNode> {
    let mut all = try_zeroed::<LocalOrdinal>("dofs of elements", nodes.as_slice().len() * dofs)?;
    let pieces = all.par_chunks_mut(dofs * Threads::CHUNK).zip(nodes.as_slice().par_chunks(Threads::CHUNK));
    space.for_each(pieces, |(all, nodes)| {
        for (of_node, &node) in all.chunks_exact_mut(dofs).zip(nodes) {
            of_node.iter_mut().enumerate().for_each(|(a, dof)| *dof = node * dofs as u32 + a as u32);
        }
    });
    nodes.with_ids(all, dofs)
}

fn positions<A: Position, P: Position>(
    space: &Threads,
    nodes_per_elem: usize,
    old: &[A],
    dofs: usize,
) -> Result<Vec<P>> {
    // One row of a node becomes `dofs` rows, each `dofs` times as long.
    let row = nodes_per_elem * dofs;
    let mut positions = try_zeroed::<P>("positions of elements", old.len() * dofs * dofs)?;
    let pieces =
        positions.par_chunks_mut(row * dofs * Threads::CHUNK).zip(old.par_chunks(nodes_per_elem * Threads::CHUNK));
    space.for_each(pieces, |(positions, old)| {
        let rows = positions.chunks_exact_mut(row * dofs).zip(old.chunks_exact(nodes_per_elem));
        for (positions, old) in rows {
            let (first, others) = positions.split_at_mut(row);
            for (new, old) in first.chunks_exact_mut(dofs).zip(old) {
                for (b, new) in new.iter_mut().enumerate() {
                    *new = if *old == A::NONE { P::NONE } else { P::new(old.get() * dofs + b) };
                }
            }
            others.chunks_exact_mut(row).for_each(|others| others.copy_from_slice(first));
        }
    });
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{build, build_groups};
    use crate::space::{Serial, Threads};
    use std::sync::Arc;

    /// The graph of the table of dofs, built as any other.
    fn check(name: &str, nodes: &ElemNode, rows: usize) {
        for dofs in [1, 2, 3, 5] {
            let all = nodes.as_slice().iter().flat_map(|&node| (0..dofs).map(move |a| node * dofs + a)).collect();
            let d = dofs as usize;
            let dofs_of_elems = ElemNode::new(all, nodes.nodes_per_elem() * d, nodes.node_count() * d).unwrap();
            let expected = build(&Serial, &dofs_of_elems, rows * d, Strategy::Sort).unwrap();
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                let found = build(&space, nodes, rows, Strategy::Gather).unwrap().with_dofs(&space, d).unwrap();
                assert!(found.crs == expected.crs, "{name}, {dofs} dofs: another pattern");
                assert!(found.elem == expected.elem, "{name}, {dofs} dofs: other positions");
            }
        }
    }

    #[test]
    fn expanded_graphs_equal_those_of_all_dofs() {
        let strip = ElemNode::new((0..5000u32).flat_map(|e| [e, e + 1, e + 7]).collect(), 3, 5007).unwrap();
        check("strip", &strip, 5007);
        check("strip with ghosts", &strip, 4200);
        check("nothing", &ElemNode::new(vec![], 4, 3).unwrap(), 3);
        check("no rows", &ElemNode::new(vec![0, 1], 2, 2).unwrap(), 0);
        // Positions of nodes fit one byte, those of dofs need two.
        let star = ElemNode::new((1..=100u32).flat_map(|ray| [ray, 0]).collect(), 2, 101).unwrap();
        check("star", &star, 101);
    }

    #[test]
    fn groups_share_their_pattern_of_dofs() {
        let tables = [ElemNode::new(vec![0, 1, 2], 3, 4).unwrap(), ElemNode::new(vec![1, 2, 2, 3], 2, 4).unwrap()];
        let groups = build_groups(&Serial, &[&tables[0], &tables[1]], 4, Strategy::Sort).unwrap();
        let [of_cells, of_lines] = [0, 1].map(|group| groups[group].with_dofs(&Serial, 2).unwrap());
        assert!(Arc::ptr_eq(&of_cells.crs, &of_lines.crs) && of_lines.elem.is_in(&of_cells.crs));
        let single = groups[0].with_dofs(&Serial, 1).unwrap();
        assert!(*single.crs == *groups[0].crs && of_cells.crs.rows() == 8);
        // Patterns are not kept alive.
        let weak = Arc::downgrade(&single.crs);
        drop(single);
        assert!(weak.upgrade().is_none());
    }

    #[test]
    fn no_dof_and_too_many_dofs_are_refused() {
        let table = ElemNode::new(vec![0, 1], 2, 1 << 31).unwrap();
        let graph = build(&Serial, &table, 2, Strategy::Sort).unwrap();
        assert!(graph.with_dofs(&Serial, 0).unwrap_err().to_string().contains("expected 1 or more"));
        for dofs in [2, usize::MAX] {
            let refused = graph.with_dofs(&Serial, dofs).unwrap_err();
            assert!(matches!(refused, Error::TooLarge { .. }), "{refused}");
        }
    }
}
