//! The slots of each row, in the order of the input: count, scan, fill.
//!
//! Each thread owns a range of rows and visits the blocks of slots that touch it, so threads share nothing and need no atomics.
//! With an ordered numbering each slot is visited about once; with a scattered one by every thread. Cost: two passes over the
//! rows of the input, 4 bytes per slot written and 8 bytes per row.

use crate::graph::NodeElem;
use crate::graph::slots::{CooIndex, IGNORED, Slots};
use crate::mesh::ElemNode;
use crate::space::{Threads, even_bounds, exclusive_scan, split_at, try_collect, try_zeroed};
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;
use std::ops::Range;

/// Slots per block. Each block's range of rows is computed once, so that threads can skip blocks.
const BLOCK: usize = 4096;

impl NodeElem {
    /// Builds the lists of nodes `0..rows`. Lists are ascending.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new(space: &Threads, elem_node: &ElemNode, rows: usize) -> Result<Self> {
        Self::of_slots(space, rows, &Slots::of_table(elem_node))
    }

    /// Builds the lists of slots of the rows `0..rows`.
    pub(crate) fn of_slots(
        space: &Threads,
        rows: usize,
        input: &Slots<'_, impl CooIndex, impl CooIndex>,
    ) -> Result<Self> {
        let spans = spans(space, input)?;
        // Neighbours among pairs often have one row: its count and its place are kept in registers.
        let is_pairs = input.rows_per_elem == 1;
        let bounds = even_bounds(rows, space.concurrency(), 1);
        let mut offsets = try_zeroed::<RowOffset>("offsets of lists", rows + 1)?;
        let pieces = split_at(&mut offsets[..rows], bounds.iter().copied());
        space.for_each(pieces.into_par_iter().enumerate(), |(piece, counts)| {
            let owned = bounds[piece]..bounds[piece + 1];
            if !is_pairs {
                return visit(input, &spans, owned, |local, _| counts[local] += 1);
            }
            let (mut row, mut run) = (0, 0);
            visit(input, &spans, owned, |local, _| {
                if local != row {
                    counts[row] += run;
                    (row, run) = (local, 0);
                }
                run += 1;
            });
            if let Some(count) = counts.get_mut(row) {
                *count += run;
            }
        });
        offsets[rows] = exclusive_scan(space, &mut offsets[..rows]);
        let mut slots = try_zeroed::<LocalOrdinal>("lists of slots", offsets[rows] as usize)?;
        let pieces = split_at(&mut slots, bounds.iter().map(|&row| offsets[row] as usize));
        space.try_for_each(pieces.into_par_iter().enumerate(), |(piece, slots)| {
            let owned = bounds[piece]..bounds[piece + 1];
            let base = offsets[owned.start];
            let next = offsets[owned.start..=owned.end].iter().map(|&offset| (offset - base) as u32);
            let mut next = try_collect("next places of lists", next)?;
            if !is_pairs {
                visit(input, &spans, owned, |local, slot| {
                    slots[next[local] as usize] = slot as LocalOrdinal;
                    next[local] += 1;
                });
                return Ok(());
            }
            let (mut row, mut at) = (0, next[0]);
            visit(input, &spans, owned, |local, slot| {
                if local != row {
                    next[row] = at;
                    (row, at) = (local, next[local]);
                }
                slots[at as usize] = slot as LocalOrdinal;
                at += 1;
            });
            Ok(())
        })?;
        Ok(NodeElem::from_parts(rows, offsets, slots))
    }
}

/// Lowest and highest row of each block of slots; the lowest is above the highest in a block without rows. One thread visits
/// all blocks and needs no spans.
fn spans(
    space: &Threads,
    input: &Slots<'_, impl CooIndex, impl CooIndex>,
) -> Result<Vec<(LocalOrdinal, LocalOrdinal)>> {
    let (blocks, first) = (input.count().div_ceil(BLOCK), (0, LocalOrdinal::MAX));
    let mut spans = try_collect("spans of blocks", (0..blocks).map(|_| first))?;
    if space.concurrency() > 1 {
        space.for_each(spans.par_iter_mut().enumerate(), |(block, span)| {
            let rows = input.rows[slots_of(block, input.count())].iter().map(|row| row.local());
            // The mark of ignored slots is the largest number; plus 1 it wraps to 0.
            *span = rows.fold((LocalOrdinal::MAX, 0), |(low, high), row| (low.min(row), high.max(row.wrapping_add(1))));
            span.1 = span.1.wrapping_sub(1);
            if span.1 == LocalOrdinal::MAX {
                *span = (LocalOrdinal::MAX, 0);
            }
        });
    }
    Ok(spans)
}

fn slots_of(block: usize, count: usize) -> Range<usize> {
    block * BLOCK..count.min((block + 1) * BLOCK)
}

/// Calls `found(row - rows.start, slot)` for each slot of these rows, in the order of the input.
#[inline(always)]
fn visit(
    input: &Slots<'_, impl CooIndex, impl CooIndex>,
    spans: &[(LocalOrdinal, LocalOrdinal)],
    rows: Range<usize>,
    mut found: impl FnMut(usize, usize),
) {
    let (first, count) = (rows.start as LocalOrdinal, rows.len() as LocalOrdinal);
    for (block, &(low, high)) in spans.iter().enumerate() {
        if (low as usize) < rows.end && high as usize >= rows.start {
            let slots = slots_of(block, input.count());
            for (slot, row) in slots.clone().zip(&input.rows[slots]) {
                // One unsigned comparison tests both ends of the range, and for ignored rows.
                let local = row.local().wrapping_sub(first);
                if local < count && !(input.skips && input.columns[slot].local() == IGNORED) {
                    found(local as usize, slot);
                }
            }
        }
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

    /// As pairs of one column, with negative rows ignored: every row's slots by a search of all pairs.
    fn check_pairs(i: &[i32], rows: usize) {
        let mut expected = vec![vec![]; rows];
        for (slot, &row) in i.iter().enumerate().filter(|(_, row)| **row >= 0) {
            expected[row as usize].push(slot as u32);
        }
        let j = vec![0; i.len()];
        for threads in [1, 2, 3, 5] {
            let lists = NodeElem::of_slots(&Threads::new(threads).unwrap(), rows, &Slots::runs(i, &j, 1)).unwrap();
            for (row, expected) in expected.iter().enumerate() {
                assert_eq!(lists.slots(row), expected, "row {row} of {rows}, {threads} threads");
            }
        }
    }

    #[test]
    fn no_block_is_skipped_and_ignored_rows_belong_to_none() {
        for rows in [1, 2, BLOCK, BLOCK + 1, 2 * BLOCK - 1] {
            check_pairs(&(0..3 * BLOCK).map(|k| (k % rows) as i32).collect::<Vec<_>>(), rows);
            check_pairs(&(0..3 * BLOCK).map(|k| (k * rows / (3 * BLOCK)) as i32).collect::<Vec<_>>(), rows);
            check_pairs(&(0..2 * BLOCK).map(|k| (k * 7919 % (rows + 1)) as i32 - 1).collect::<Vec<_>>(), rows);
        }
        check_pairs(&[-1; 2 * BLOCK + 3], 5);
        check_pairs(&[vec![-1; BLOCK], vec![4; BLOCK], vec![-7; 5]].concat(), 5);
        check_pairs(&[], 0);
    }
}
