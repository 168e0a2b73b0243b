//! Renumbering of nodes, so that neighbouring nodes have close ids.
//!
//! A matrix-vector product reads x at the columns of each row. With a scattered numbering each entry touches its own
//! cache line: at 256^3 nodes a product on an H200 takes 4.5 times as long as with a local numbering, more than any
//! choice of kernel gains. Two orders restore locality: Morton's curve through the coordinates of the nodes (Morton
//! 1966), which needs no graph, and reverse Cuthill-McKee (Cuthill and McKee 1969; George 1971), which needs no
//! coordinates. Both are deterministic.

use super::ElemNode;
use crate::error::check_length;
use crate::space::{HostSpace, Item, try_collect, try_reserve, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;

/// A new id per node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbering {
    new_of_old: Vec<LocalOrdinal>,
}

/// Bits per coordinate on the curve: three times 21 fit into a 64-bit key.
const BITS: u32 = 21;

impl Numbering {
    /// Numbers nodes along Morton's curve, with 2^21 cells per axis. Nodes of one cell keep their order. Costs one
    /// sort of 16 bytes per node.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn morton<S: HostSpace>(space: &S, node_coord: &[[f64; 3]]) -> Result<Self> {
        let bound = |axis: usize, pick: fn(f64, f64) -> f64, start: f64| {
            node_coord.iter().map(|point| point[axis]).fold(start, pick)
        };
        let cells = f64::from(1u32 << BITS);
        let (low, scale) = ([0, 1, 2].map(|axis| bound(axis, f64::min, f64::INFINITY)), {
            let extent = [0, 1, 2].map(|axis| bound(axis, f64::max, f64::NEG_INFINITY));
            // A mesh without extent along an axis must not divide by zero.
            move |axis: usize, low: f64| (cells - 1.0) / (extent[axis] - low).max(f64::MIN_POSITIVE)
        });
        let mut keys = try_collect("keys on the curve", (0..node_coord.len()).map(|_| (0u64, 0u32)))?;
        let pieces = keys.par_chunks_mut(S::CHUNK).zip(node_coord.par_chunks(S::CHUNK)).enumerate();
        space.for_each(pieces, |(chunk, (keys, points))| {
            for (i, (key, point)) in keys.iter_mut().zip(points).enumerate() {
                let spread = |axis: usize| spread(((point[axis] - low[axis]) * scale(axis, low[axis])) as u64) << axis;
                *key = (spread(0) | spread(1) | spread(2), (chunk * S::CHUNK + i) as u32);
            }
        });
        // Keys are unique by their second part, so an unstable sort is deterministic.
        keys.sort_unstable();
        Self::from_order(keys.into_iter().map(|(_, node)| node))
    }

    /// Numbers nodes by reverse Cuthill-McKee on a symmetric graph: a breadth-first search from a node of least degree,
    /// with neighbours visited by increasing degree, and the order reversed at the end. Serial; reads each entry once
    /// and sorts each row by degree.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn reverse_cuthill_mckee(graph: &CrsGraph) -> Result<Self> {
        let degree = |node: u32| graph.row(node as usize).len();
        let mut starts = try_collect("nodes by degree", (0..graph.rows()).map(|row| row as u32))?;
        starts.sort_by_key(|&node| degree(node));
        let mut seen = try_zeroed::<u8>("nodes seen", graph.rows())?;
        let mut order: Vec<u32> = Vec::new();
        try_reserve("order of nodes", &mut order, graph.rows())?;
        for start in starts {
            let mut next = order.len();
            if std::mem::replace(&mut seen[start as usize], 1) == 0 {
                order.push(start);
            }
            while next < order.len() {
                let first = order.len();
                for &column in graph.row(order[next] as usize) {
                    // Columns of ghosts are skipped: they have no row here.
                    if (column as usize) < seen.len() && std::mem::replace(&mut seen[column as usize], 1) == 0 {
                        order.push(column);
                    }
                }
                order[first..].sort_by_key(|&node| degree(node));
                next += 1;
            }
        }
        Self::from_order(order.into_iter().rev())
    }

    /// Makes a numbering from the nodes in their new order.
    fn from_order(order: impl ExactSizeIterator<Item = u32>) -> Result<Self> {
        let mut new_of_old = try_zeroed::<LocalOrdinal>("numbering", order.len())?;
        for (new, old) in order.enumerate() {
            new_of_old[old as usize] = new as LocalOrdinal;
        }
        Ok(Numbering { new_of_old })
    }

    /// Returns the new id of each node, `[old id]`.
    pub fn new_of_old(&self) -> &[LocalOrdinal] {
        &self.new_of_old
    }

    /// Returns the table with the new ids. Elements keep their order.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the table has another number of nodes than the numbering.
    pub fn renumber(&self, elem_node: &ElemNode) -> Result<ElemNode> {
        check_length("Numbering::renumber", "elem_node", elem_node.node_count(), self.new_of_old.len())?;
        let nodes = elem_node.as_slice().iter().map(|&node| self.new_of_old[node as usize]);
        elem_node.with_ids(try_collect("elem_node", nodes)?, 1)
    }

    /// Returns nodal data in the new order.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is one item per node.
    pub fn permute<T: Item>(&self, data: &[T]) -> Result<Vec<T>> {
        check_length("Numbering::permute", "data", data.len(), self.new_of_old.len())?;
        let mut out = try_zeroed::<T>("permuted data", data.len())?;
        for (item, &new) in data.iter().zip(&self.new_of_old) {
            out[new as usize] = *item;
        }
        Ok(out)
    }
}

/// Inserts two zeros after each of the low 21 bits.
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
        let curve = Numbering::morton(&Threads::new(2).unwrap(), &points).unwrap();
        assert_eq!(curve.new_of_old(), [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
        let moved = curve.permute(&points).unwrap();
        assert_eq!((moved[4], moved[12]), ([2.0, 0.0, 0.0], [2.0, 2.0, 0.0]));
        assert!(curve.permute(&points[1..]).is_err());
    }

    /// Unlike that of the square, this order is not its own inverse. On the curve's grid the middle coordinate lies below the
    /// half, so the lowest octant holds 8 nodes, the octants beside it 4, those beyond 2, and the last one 1.
    #[test]
    fn a_cube_of_three_by_three_by_three_follows_the_curve() {
        let points: Vec<[f64; 3]> =
            (0..27).map(|n| [f64::from(n % 3), f64::from(n / 3 % 3), f64::from(n / 9)]).collect();
        let old_of_new: [u32; 27] = [
            0, 1, 3, 4, 9, 10, 12, 13, // x, y, z below 2
            2, 5, 11, 14, // x = 2
            6, 7, 15, 16, // y = 2
            8, 17, // x = y = 2
            18, 19, 21, 22, // z = 2
            20, 23, 24, 25, 26,
        ];
        for threads in [1, 2] {
            let curve = Numbering::morton(&Threads::new(threads).unwrap(), &points).unwrap();
            for (new, &old) in old_of_new.iter().enumerate() {
                assert_eq!(curve.new_of_old()[old as usize] as usize, new, "node {old}");
            }
            assert_ne!(curve.new_of_old(), old_of_new);
            let nodes: Vec<u32> = (0..27).collect();
            assert_eq!(curve.permute(&nodes).unwrap(), old_of_new, "data move to their new place");
            let table = ElemNode::new(nodes, 3, 27).unwrap();
            assert_eq!(curve.renumber(&table).unwrap().as_slice(), curve.new_of_old(), "ids become the new ones");
        }
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
        let numbering = Numbering::reverse_cuthill_mckee(&graph).unwrap();
        let renumbered = numbering.renumber(&table).unwrap();
        assert!(renumbered.iter().all(|pair| pair[0].abs_diff(pair[1]) == 1));
        let mut ids = numbering.new_of_old().to_vec();
        ids.sort_unstable();
        assert_eq!(ids, (0..n).collect::<Vec<_>>());
    }
}
