//! Node -> element lists on the host.
//!
//! Cost: two passes over the table (count, fill), 4 bytes per slot and 8 per row written. Both passes skip blocks of
//! elements that touch none of a thread's nodes.

use crate::graph::NodeElem;
use crate::mesh::ElemNode;
use crate::space::{HostSpace, even_bounds, split_at, try_collect, try_zeroed};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Elements per block of the table. Each block's range of nodes is computed once, so that threads can skip blocks.
const BLOCK: usize = 1024;

impl NodeElem {
    /// Builds the lists of nodes `0..rows`: count, scan, fill.
    ///
    /// Each thread owns a range of nodes and visits only the blocks of elements that touch the range. Threads therefore
    /// share nothing, need no atomics and write ascending lists. With a local numbering each element is visited about
    /// once; with a scattered numbering every thread visits every element.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new<S: HostSpace>(space: &S, elem_node: &ElemNode, rows: usize) -> Result<Self> {
        let block_slots = BLOCK * elem_node.nodes_per_elem();
        let table = elem_node.as_slice();
        let mut spans = try_collect("spans of blocks", (0..table.len().div_ceil(block_slots)).map(|_| (0, 0)))?;
        space.for_each(spans.par_iter_mut().zip(table.par_chunks(block_slots)), |(span, nodes)| {
            *span = nodes.iter().fold((u32::MAX, 0), |(low, high), &n| (low.min(n), high.max(n)));
        });
        let bounds = even_bounds(rows, space.concurrency(), 1);
        // Both passes visit the same slots in the same order, so the lists need no sorting.
        let visit = |owned: Range<usize>, found: &mut dyn FnMut(usize, usize)| {
            let (first, count) = (owned.start as u32, owned.len() as u32);
            for (block, &(low, high)) in spans.iter().enumerate() {
                if (low as usize) < owned.end && high as usize >= owned.start {
                    let start = block * block_slots;
                    for (slot, &node) in (start..).zip(&table[start..table.len().min(start + block_slots)]) {
                        // One unsigned comparison tests both ends of the range.
                        let local = node.wrapping_sub(first);
                        if local < count {
                            found(local as usize, slot);
                        }
                    }
                }
            }
        };
        let mut row_map = try_zeroed::<u64>("node -> element offsets", rows + 1)?;
        let pieces = split_at(&mut row_map[..rows], bounds.iter().copied());
        space.for_each(pieces.into_par_iter().enumerate(), |(piece, counts)| {
            visit(bounds[piece]..bounds[piece + 1], &mut |local, _| counts[local] += 1);
        });
        row_map[rows] = crate::space::exclusive_scan(space, &mut row_map[..rows]);
        let mut slots = try_zeroed::<LocalOrdinal>("node -> element lists", row_map[rows] as usize)?;
        let pieces = split_at(&mut slots, bounds.iter().map(|&row| row_map[row] as usize));
        space.try_for_each(pieces.into_par_iter().enumerate(), |(piece, slots)| {
            let owned = bounds[piece]..bounds[piece + 1];
            let base = row_map[owned.start];
            let next = row_map[owned.clone()].iter().map(|&offset| (offset - base) as u32);
            let mut next = try_collect("next places of lists", next)?;
            visit(owned, &mut |local, slot| {
                slots[next[local] as usize] = slot as LocalOrdinal;
                next[local] += 1;
            });
            Ok(())
        })?;
        Ok(NodeElem::from_parts(rows, row_map, slots))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    #[test]
    fn lists_equal_those_by_hand() {
        let elem_node = ElemNode::new(vec![0, 1, 1, 2, 3, 0], 2, 4).unwrap();
        let lists = NodeElem::new(&Serial, &elem_node, 3).unwrap();
        assert_eq!((lists.slots(0), lists.slots(1), lists.slots(2)), (&[0, 5][..], &[1, 2][..], &[3][..]));
        assert_eq!(NodeElem::new(&Threads::new(3).unwrap(), &elem_node, 3).unwrap(), lists);
    }

    /// Every row's slots by a search of the whole table.
    fn check(elem_node: &ElemNode, rows: usize) {
        let mut expected = vec![vec![]; rows];
        for (slot, &node) in elem_node.as_slice().iter().enumerate() {
            if let Some(list) = expected.get_mut(node as usize) {
                list.push(slot as u32);
            }
        }
        for threads in [1, 2, 3, 5] {
            let lists = NodeElem::new(&Threads::new(threads).unwrap(), elem_node, rows).unwrap();
            assert_eq!(lists.row_map().len(), rows + 1);
            for (row, expected) in expected.iter().enumerate() {
                assert_eq!(lists.slots(row), expected, "row {row} of {rows}, {threads} threads");
            }
        }
    }

    /// With 2 threads and 2 blocks, the last node of one block is the first of a thread, and the first node of the other
    /// the last of a thread.
    #[test]
    fn no_block_of_elements_is_skipped() {
        let strip = |count: usize| ElemNode::new((0..2048).flat_map(|e| [e, e + 1]).collect(), 2, count).unwrap();
        for rows in [1024, 2047, 2048, 2049, 2050, 2051] {
            check(&strip(rows.max(2049)), rows);
        }
        let back = (0..2048u32).rev().flat_map(|e| [e + 1, e]).collect();
        check(&ElemNode::new(back, 2, 2049).unwrap(), 2049);
        let scattered = (1..6000u32).flat_map(|e| [e * 7 % 9001, e * 11 % 9001, 9001]).collect();
        check(&ElemNode::new(scattered, 3, 9002).unwrap(), 9002);
    }
}
