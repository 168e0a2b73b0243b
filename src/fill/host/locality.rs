//! Detects consecutive elements with rows far apart, whose sums need prefetching.
//!
//! ```text
//! before a batch     the values and residuals that it adds to, and the offsets of the rows of the next batch
//! ```
//! Otherwise the caches hold these rows already, and prefetching them would cost a seventh of the sums.

use crate::LocalOrdinal;
use crate::graph::{ElemGraph, Position, with_positions};
use crate::mesh::ElemNode;
use crate::space::atomic::AtomicF64;
use crate::space::lanes::LANES;
use crate::space::prefetch;
use crate::sparse::CrsGraph;
use std::ops::Range;

/// Distance between two rows, in bytes of values, that caches do not hold.
const FAR: usize = 1 << 20;

/// Returns whether most nodes are far from the same node of the previous
/// element. One pass over the table.
pub(super) fn is_scattered(elem_node: &ElemNode, crs: &CrsGraph) -> bool {
    let row_bytes = size_of::<f64>() * crs.nnz() / crs.rows().max(1);
    let rows = (FAR / row_bytes.max(1)).min(LocalOrdinal::MAX as usize) as LocalOrdinal;
    let nodes = elem_node.as_slice();
    let after = nodes.get(elem_node.nodes_per_elem()..).unwrap_or_default();
    let far = nodes.iter().zip(after).filter(|&(&node, &after)| node.abs_diff(after) > rows).count();
    2 * far > nodes.len()
}

/// Prefetches the values that `elems` add to, and the next batch's row starts.
#[inline(never)]
pub(super) fn prefetch_sums(
    graph: &ElemGraph,
    elems: Range<usize>,
    row_map: &[u64],
    (values, residual): (&[AtomicF64], &[AtomicF64]),
) {
    let (table, nodes) = (graph.elem_node().as_slice(), graph.elem_node().nodes_per_elem());
    let (first, end) = (elems.start * nodes, elems.end * nodes);
    table[end..table.len().min(end + LANES * nodes)].iter().for_each(|&node| prefetch(row_map, node as usize));
    with_positions!(graph.positions(), positions => {
        let positions = positions[first * nodes..end * nodes].chunks_exact(nodes);
        for (&node, positions) in table[first..end].iter().zip(positions) {
            // Ghosts have no row.
            let Some(&start) = row_map.get(node as usize) else { continue };
            prefetch(residual, node as usize);
            positions.iter().for_each(|position| prefetch(values, start as usize + position.get()));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fill::{Fill, Strategy, element_fn};
    use crate::graph::{self, Graph};
    use crate::space::{Serial, Threads};
    use crate::sparse::CrsMatrix;

    const NODES: u32 = 200_000;

    /// Segments of a line whose node i has the number `number(i)`; nodes from `rows` on are ghosts.
    fn line(rows: u32, number: impl Fn(u32) -> u32) -> Graph {
        let nodes = (0..NODES - 1).flat_map(|i| [number(i), number(i + 1)]).collect();
        let table = ElemNode::new(nodes, 2, NODES as usize).unwrap();
        graph::build(&Serial, &table, rows as usize, graph::Strategy::Gather).unwrap()
    }

    /// A number 77,777 from that of the node before, modulo the number of nodes.
    fn scattered(i: u32) -> u32 {
        (u64::from(i) * 77_777 % u64::from(NODES)) as u32
    }

    #[test]
    fn far_nodes_are_those_whose_values_exceed_a_megabyte() {
        let of = |graph: &Graph| is_scattered(graph.elem.elem_node(), &graph.crs);
        assert!(of(&line(NODES, scattered)) && !of(&line(NODES, |i| i)) && !of(&line(NODES, |i| NODES - 1 - i)));
        // From one half of 20,000 nodes to the other: 24 bytes per row are 0.24 MB, 72 of each of 3 dofs are 2.2 MB.
        let halves = line(NODES, |i| i / 20_000 * 20_000 + i % 2 * 10_000 + i % 20_000 / 2);
        assert!(!of(&halves) && of(&halves.with_dofs(&Serial, 3).unwrap()));
        let empty = ElemNode::new(vec![], 2, 0).unwrap();
        assert!(!of(&graph::build(&Serial, &empty, 0, graph::Strategy::Gather).unwrap()));
    }

    /// -1, 2, -1 along the line, with ghosts, in every strategy that prefetches.
    #[test]
    fn sums_of_a_scattered_line_equal_those_by_hand() {
        const ROWS: u32 = NODES - 1234;
        let graph = line(ROWS, scattered);
        let ends = [0, scattered(NODES - 1)];
        let diagonal = |row: u32| if ends.contains(&row) { 1.0 } else { 2.0 };
        let ones = element_fn(|_| ([[1.0, -1.0], [-1.0, 1.0]], [0.5; 2]));
        for (strategy, threads) in [(Strategy::Scatter, 1), (Strategy::Scatter, 3), (Strategy::Colour, 2)] {
            let space = Threads::new(threads).unwrap();
            let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![f64::NAN; ROWS as usize]);
            let mut fill = Fill::<2>::new(&space, strategy, &graph).unwrap();
            fill.assemble(&space, &ones, &mut matrix, &mut residual).unwrap();
            for row in 0..ROWS {
                let d = diagonal(row);
                assert_eq!(residual[row as usize], 0.5 * d, "row {row}");
                for (&column, &value) in
                    graph.crs.row(row as usize).iter().zip(&matrix.values()[graph.crs.row_range(row as usize)])
                {
                    let expected = if column == row { d } else { -1.0 };
                    assert_eq!(value, expected, "row {row}, {strategy}");
                }
            }
        }
    }
}
