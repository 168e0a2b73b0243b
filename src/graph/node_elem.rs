//! Node -> element lists: the transpose of the element-node table.
//!
//! Cost: two passes over the table (count, fill), 4 bytes per slot and 8 per row written. Both passes skip blocks of
//! elements that touch none of a thread's nodes.

use crate::mesh::ElemNode;
use crate::space::{HostMemory, HostSpace, MemorySpace, even_bounds, split_at, zeroed};
use crate::{LocalOrdinal, RowOffset};
use rayon::prelude::*;
use std::ops::Range;

/// The *slots* of the element-node table that contain each row's node, in ascending order. Slot
/// `e * nodes_per_elem + i` is node `i` of element `e`. Uses 4 bytes per slot and 8 per row.
#[derive(Clone, Debug)]
pub struct NodeElem<M: MemorySpace = HostMemory> {
    rows: usize,
    row_map: M::Array<RowOffset>,
    slots: M::Array<LocalOrdinal>,
}

impl PartialEq for NodeElem {
    fn eq(&self, other: &Self) -> bool {
        (&self.row_map, &self.slots) == (&other.row_map, &other.slots)
    }
}

/// Elements per block of the table. Each block's range of nodes is computed once, so that threads can skip blocks.
const BLOCK: usize = 1024;

impl NodeElem {
    /// Builds the lists of nodes `0..rows`: count, scan, fill.
    ///
    /// Each thread owns a range of nodes and visits only the blocks of elements that touch the range. Threads therefore
    /// share nothing, need no atomics and write ascending lists. With a local numbering each element is visited about
    /// once; with a scattered numbering every thread visits every element.
    pub fn new<S: HostSpace>(space: &S, elem_node: &ElemNode, rows: usize) -> Self {
        let block_slots = BLOCK * elem_node.nodes_per_elem();
        let table = elem_node.as_slice();
        let mut spans = vec![(0, 0); table.len().div_ceil(block_slots)];
        space.for_each(spans.par_iter_mut().zip(table.par_chunks(block_slots)), |(span, nodes)| {
            *span = nodes.iter().fold((u32::MAX, 0), |(low, high), &n| (low.min(n), high.max(n)));
        });
        let bounds = even_bounds(rows, space.concurrency(), 1);
        let visit = |owned: Range<usize>, found: &mut dyn FnMut(usize, usize)| {
            let (first, count) = (owned.start as u32, owned.len() as u32);
            for (block, &(low, high)) in spans.iter().enumerate() {
                if (low as usize) < owned.end && high as usize >= owned.start {
                    let start = block * block_slots;
                    for (slot, &node) in (start..).zip(&table[start..table.len().min(start + block_slots)]) {
                        let local = node.wrapping_sub(first);
                        if local < count {
                            found(local as usize, slot);
                        }
                    }
                }
            }
        };
        let mut row_map = zeroed::<u64>(rows + 1);
        let pieces = split_at(&mut row_map[..rows], bounds.iter().copied());
        space.for_each(pieces.into_par_iter().enumerate(), |(piece, counts)| {
            visit(bounds[piece]..bounds[piece + 1], &mut |local, _| counts[local] += 1);
        });
        row_map[rows] = crate::space::exclusive_scan(space, &mut row_map[..rows]);
        let mut slots = zeroed::<LocalOrdinal>(row_map[rows] as usize);
        let pieces = split_at(&mut slots, bounds.iter().map(|&row| row_map[row] as usize));
        space.for_each(pieces.into_par_iter().enumerate(), |(piece, slots)| {
            let owned = bounds[piece]..bounds[piece + 1];
            let base = row_map[owned.start];
            let mut next: Vec<u32> = row_map[owned.clone()].iter().map(|&offset| (offset - base) as u32).collect();
            visit(owned, &mut |local, slot| {
                slots[next[local] as usize] = slot as LocalOrdinal;
                next[local] += 1;
            });
        });
        NodeElem { rows, row_map, slots }
    }

    /// Returns the slots of the element-node table that contain `node`, in ascending order.
    #[inline(always)]
    pub fn slots(&self, node: usize) -> &[LocalOrdinal] {
        &self.slots[self.row_map[node] as usize..self.row_map[node + 1] as usize]
    }
}

impl<M: MemorySpace> NodeElem<M> {
    /// Takes the lists of `rows` nodes. The caller guarantees that they are ascending.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) fn from_parts(rows: usize, row_map: M::Array<RowOffset>, slots: M::Array<LocalOrdinal>) -> Self {
        NodeElem { rows, row_map, slots }
    }

    /// Returns the number of nodes with a list.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the offsets of the lists in [`slots_array`](Self::slots_array), of length rows + 1.
    pub fn row_map(&self) -> &M::Array<RowOffset> {
        &self.row_map
    }

    /// Returns the lists, one after the other.
    pub fn slots_array(&self) -> &M::Array<LocalOrdinal> {
        &self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    #[test]
    fn lists_by_hand() {
        let elem_node = ElemNode::new(vec![0, 1, 1, 2, 3, 0], 2, 4).unwrap();
        let lists = NodeElem::new(&Serial, &elem_node, 3);
        assert_eq!((lists.slots(0), lists.slots(1), lists.slots(2)), (&[0, 5][..], &[1, 2][..], &[3][..]));
        assert_eq!(NodeElem::new(&Threads::new(3).unwrap(), &elem_node, 3), lists);
    }
}
