//! The slots of each row, in the order of the input: count, scan, fill.
//!
//! Each thread owns a range of rows and visits the blocks of slots that touch it, so threads share nothing and need no atomics.
//! With an ordered numbering each slot is visited about once; with a scattered one by every thread. Cost: two passes over the
//! rows of the input, 4 bytes per slot written and 8 bytes per row.

use crate::graph::Slots;
use crate::space::{HostSpace, even_bounds, exclusive_scan, split_at, try_collect, try_zeroed};
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;
use std::ops::Range;

/// Slots per block. Each block's range of rows is computed once, so that threads can skip blocks.
const BLOCK: usize = 4096;

/// Row `i` has the slots `slots[offsets[i]..offsets[i + 1]]`, ascending.
#[derive(Debug)]
pub(super) struct Lists {
    pub offsets: Vec<RowOffset>,
    pub slots: Vec<LocalOrdinal>,
}

impl Lists {
    pub(super) fn new<S: HostSpace>(space: &S, rows: usize, input: &impl Slots) -> Result<Self> {
        let spans = spans(space, input)?;
        let bounds = even_bounds(rows, space.concurrency(), 1);
        let mut offsets = try_zeroed::<RowOffset>("offsets of lists", rows + 1)?;
        let pieces = split_at(&mut offsets[..rows], bounds.iter().copied());
        space.for_each(pieces.into_par_iter().enumerate(), |(piece, counts)| {
            // Neighbours in the input often have one row: it is counted in a register.
            let (mut row, mut run) = (0, 0);
            visit(input, &spans, bounds[piece]..bounds[piece + 1], |local, _| {
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
            let mut next = try_collect(
                "next places of lists",
                offsets[owned.start..=owned.end].iter().map(|&offset| (offset - base) as u32),
            )?;
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
        Ok(Lists { offsets, slots })
    }
}

/// Lowest and highest row of each block of slots; the lowest is above the highest in a block without rows. One thread visits
/// all blocks and needs no spans.
fn spans<S: HostSpace>(space: &S, input: &impl Slots) -> Result<Vec<(LocalOrdinal, LocalOrdinal)>> {
    let (blocks, first) = (input.count().div_ceil(BLOCK), (0, LocalOrdinal::MAX));
    let mut spans = try_collect("spans of blocks", (0..blocks).map(|_| first))?;
    if space.concurrency() > 1 {
        space.for_each(spans.par_iter_mut().enumerate(), |(block, span)| {
            let rows = slots_of(block, input).map(|slot| input.row(slot));
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

fn slots_of(block: usize, input: &impl Slots) -> Range<usize> {
    block * BLOCK..input.count().min((block + 1) * BLOCK)
}

/// Calls `found(row - rows.start, slot)` for each slot of these rows, in the order of the input.
#[inline(always)]
fn visit(
    input: &impl Slots,
    spans: &[(LocalOrdinal, LocalOrdinal)],
    rows: Range<usize>,
    mut found: impl FnMut(usize, usize),
) {
    let (first, count) = (rows.start as LocalOrdinal, rows.len() as LocalOrdinal);
    for (block, &(low, high)) in spans.iter().enumerate() {
        if (low as usize) < rows.end && high as usize >= rows.start {
            for slot in slots_of(block, input) {
                // One unsigned comparison tests both ends of the range, and for ignored slots.
                let local = input.row(slot).wrapping_sub(first);
                if local < count {
                    found(local as usize, slot);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::*;
    use crate::space::{Serial, Threads};

    /// Every row's slots by a search of all pairs.
    fn check(i: &[i32], rows: usize) {
        let mut expected = vec![vec![]; rows];
        for (slot, &row) in i.iter().enumerate() {
            if row >= 0 {
                expected[row as usize].push(slot as u32);
            }
        }
        let j = vec![0; i.len()];
        let input = Table::runs(i, &j, 1);
        for threads in [1, 2, 3, 5] {
            let lists = Lists::new(&Threads::new(threads).unwrap(), rows, &input).unwrap();
            assert_eq!(lists.offsets.len(), rows + 1);
            for (row, expected) in expected.iter().enumerate() {
                let list = lists.offsets[row] as usize..lists.offsets[row + 1] as usize;
                assert_eq!(&lists.slots[list], expected, "row {row} of {rows}, {threads} threads");
            }
        }
    }

    #[test]
    fn lists_equal_those_by_hand() {
        let lists = Lists::new(&Serial, 3, &Table::runs(&[2, 0, -1, 2, 2], &[0; 5], 1)).unwrap();
        assert_eq!((lists.offsets, lists.slots), (vec![0, 1, 1, 4], vec![1, 0, 3, 4]));
        let empty = Lists::new(&Serial, 0, &Table::<i32, i32>::runs(&[], &[], 1)).unwrap();
        assert_eq!((empty.offsets, empty.slots), (vec![0], vec![]));
    }

    #[test]
    fn no_block_is_skipped_and_ignored_rows_belong_to_none() {
        for rows in [1, 2, BLOCK, BLOCK + 1, 2 * BLOCK - 1] {
            check(&(0..3 * BLOCK).map(|k| (k % rows) as i32).collect::<Vec<_>>(), rows);
            check(&(0..3 * BLOCK).map(|k| (k * rows / (3 * BLOCK)) as i32).collect::<Vec<_>>(), rows);
            check(&(0..2 * BLOCK).map(|k| (k * 7919 % (rows + 1)) as i32 - 1).collect::<Vec<_>>(), rows);
        }
        check(&[-1; 2 * BLOCK + 3], 5);
        check(&[vec![-1; BLOCK], vec![4; BLOCK], vec![-7; 5]].concat(), 5);
    }
}
