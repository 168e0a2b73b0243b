//! Renumbering of nodes, so that neighbours have near ids.
//!
//! A product with a matrix reads x at the columns of each row: where a numbering is scattered, every entry is a cache line
//! of its own, which costs a GPU 4.5 times the time of a local one (256^3 nodes), more than any choice of kernel. Two
//! orders that undo that: Morton's curve through the nodes' coordinates (Morton 1966), which needs nothing but them, and
//! reverse Cuthill-McKee (Cuthill and McKee 1969; George 1971) on the graph of the table, which needs no coordinates.
//! Both are deterministic.

use super::ElemNode;
use crate::error::check_length;
use crate::space::{HostSpace, Item, Serial};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;

/// A new id for each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbering {
    new_of_old: Vec<LocalOrdinal>,
}

/// Bits of a coordinate on the curve.
const BITS: u32 = 21;

impl Numbering {
    /// Along Morton's curve through the box that bounds the points, 2^21 cells an axis; nodes of one cell keep their order.
    /// One sort of 16 bytes a node.
    pub fn morton<S: HostSpace>(space: &S, node_coord: &[[f64; 3]]) -> Self {
        let bound = |axis: usize, pick: fn(f64, f64) -> f64, start: f64| {
            node_coord.iter().map(|point| point[axis]).fold(start, pick)
        };
        let cells = f64::from(1u32 << BITS);
        let (low, scale) = ([0, 1, 2].map(|axis| bound(axis, f64::min, f64::INFINITY)), {
            let extent = [0, 1, 2].map(|axis| bound(axis, f64::max, f64::NEG_INFINITY));
            move |axis: usize, low: f64| (cells - 1.0) / (extent[axis] - low).max(f64::MIN_POSITIVE)
        });
        let mut keys = vec![(0u64, 0u32); node_coord.len()];
        let pieces = keys.par_chunks_mut(S::CHUNK).zip(node_coord.par_chunks(S::CHUNK)).enumerate();
        space.for_each(pieces, |(chunk, (keys, points))| {
            for (i, (key, point)) in keys.iter_mut().zip(points).enumerate() {
                let spread = |axis: usize| spread(((point[axis] - low[axis]) * scale(axis, low[axis])) as u64) << axis;
                *key = (spread(0) | spread(1) | spread(2), (chunk * S::CHUNK + i) as u32);
            }
        });
        keys.sort_unstable();
        Self::from_order(keys.into_iter().map(|(_, node)| node))
    }

    /// Reverse Cuthill-McKee on a symmetric graph: breadth first from a node of least degree, neighbours by degree, all
    /// turned around. Serial; reads each entry once and sorts each row by degree.
    pub fn reverse_cuthill_mckee(graph: &CrsGraph) -> Self {
        let degree = |node: u32| graph.row(node as usize).len();
        let mut starts: Vec<u32> = (0..graph.rows() as u32).collect();
        starts.sort_by_key(|&node| degree(node));
        let mut seen = vec![false; graph.rows()];
        let mut order: Vec<u32> = Vec::with_capacity(graph.rows());
        for start in starts {
            let mut next = order.len();
            if !std::mem::replace(&mut seen[start as usize], true) {
                order.push(start);
            }
            while next < order.len() {
                let first = order.len();
                for &column in graph.row(order[next] as usize) {
                    if (column as usize) < seen.len() && !std::mem::replace(&mut seen[column as usize], true) {
                        order.push(column);
                    }
                }
                order[first..].sort_by_key(|&node| degree(node));
                next += 1;
            }
        }
        Self::from_order(order.into_iter().rev())
    }

    /// From the nodes in their new order.
    fn from_order(order: impl ExactSizeIterator<Item = u32>) -> Self {
        let mut new_of_old = vec![0; order.len()];
        for (new, old) in order.enumerate() {
            new_of_old[old as usize] = new as LocalOrdinal;
        }
        Numbering { new_of_old }
    }

    /// New id of each node, `[old id]`.
    pub fn new_of_old(&self) -> &[LocalOrdinal] {
        &self.new_of_old
    }

    /// The table with the new ids; the elements keep their order.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the table speaks of another number of nodes.
    pub fn renumber(&self, elem_node: &ElemNode) -> Result<ElemNode> {
        check_length("Numbering::renumber", "elem_node", elem_node.node_count(), self.new_of_old.len())?;
        let nodes = elem_node.as_slice().iter().map(|&node| self.new_of_old[node as usize]).collect();
        ElemNode::trusted(nodes, elem_node.nodes_per_elem(), elem_node.node_count())
    }

    /// Data of the nodes in their new order.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is one item a node.
    pub fn permute<T: Item>(&self, data: &[T]) -> Result<Vec<T>> {
        check_length("Numbering::permute", "data", data.len(), self.new_of_old.len())?;
        let mut out = Serial.map(data.len(), |_| T::default());
        for (item, &new) in data.iter().zip(&self.new_of_old) {
            out[new as usize] = *item;
        }
        Ok(out)
    }
}

/// The low 21 bits, two zeros after each.
fn spread(bits: u64) -> u64 {
    let steps = [
        (32, 0x001f_0000_0000_ffff),
        (16, 0x001f_0000_ff00_00ff),
        (8, 0x100f_00f0_0f00_f00f),
        (4, 0x10c3_0c30_c30c_30c3),
        (2, 0x1249_2492_4924_9249),
    ];
    steps.into_iter().fold(bits & 0x001f_ffff, |bits, (shift, mask)| (bits | bits << shift) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Threads;

    #[test]
    fn a_square_of_four_by_four_follows_the_curve() {
        let points: Vec<[f64; 3]> = (0..16).map(|n| [f64::from(n % 4), f64::from(n / 4), 0.0]).collect();
        let curve = Numbering::morton(&Threads::new(2).unwrap(), &points);
        assert_eq!(curve.new_of_old(), [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
        let moved = curve.permute(&points).unwrap();
        assert_eq!((moved[4], moved[12]), ([2.0, 0.0, 0.0], [2.0, 2.0, 0.0]));
        assert!(curve.permute(&points[1..]).is_err());
    }

    #[test]
    fn a_shuffled_path_becomes_a_path() {
        let n = 101u32;
        let shuffled = |i: u32| i * 37 % n;
        let table =
            ElemNode::new((0..n - 1).flat_map(|i| [shuffled(i), shuffled(i + 1)]).collect(), 2, n as usize).unwrap();
        let mut rows = vec![std::collections::BTreeSet::new(); n as usize];
        for pair in table.iter() {
            pair.iter().for_each(|&a| rows[a as usize].extend(pair));
        }
        let mut row_map = vec![0];
        let mut entries = vec![];
        for row in &rows {
            entries.extend(row.iter().map(|&&node| node));
            row_map.push(entries.len() as u64);
        }
        let graph = CrsGraph::new(row_map, entries, n as usize).unwrap();
        let numbering = Numbering::reverse_cuthill_mckee(&graph);
        let renumbered = numbering.renumber(&table).unwrap();
        assert!(renumbered.iter().all(|pair| pair[0].abs_diff(pair[1]) == 1));
        let mut ids = numbering.new_of_old().to_vec();
        ids.sort_unstable();
        assert_eq!(ids, (0..n).collect::<Vec<_>>());
    }
}
