//! Pieces of the rows with about equally many values, and the parts of an array that belong to them.
//!
//! Bounds depend on the rows only, so results do not depend on the number of threads. Cutting an array allocates nothing.

use crate::space::{try_push, try_reserve};
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use std::ops::Range;

/// Returns the bounds of pieces of about `size` items, given the offsets of the rows' items.
pub(super) fn bounds_of(offsets: &[RowOffset], size: usize) -> Result<Vec<LocalOrdinal>> {
    let rows = offsets.len() - 1;
    let mut bounds = Vec::new();
    try_reserve("bounds of pieces", &mut bounds, 1)?;
    bounds.push(0);
    let mut start = 0;
    while start < rows {
        let full = offsets[start] + size as RowOffset;
        // The first row after which the piece is full; empty rows count as items, too, since each costs a little.
        let end = (start + size).min(rows);
        let end = start + 1 + offsets[start + 1..end].partition_point(|&offset| offset < full);
        try_push("bounds of pieces", &mut bounds, end as LocalOrdinal)?;
        start = end;
    }
    Ok(bounds)
}

/// Cuts `items` into the parts of the pieces; row `i` has the items `offsets[i]..offsets[i + 1]`. Yields the rows of a piece with
/// their items.
pub(super) struct Pieces<'a, T> {
    /// Bounds of the pieces, one more than pieces.
    pub bounds: &'a [LocalOrdinal],
    pub offsets: &'a [RowOffset],
    /// Items of these pieces.
    pub items: &'a mut [T],
}

impl<'a, T: Send> Pieces<'a, T> {
    fn rows(&self, piece: usize) -> Range<usize> {
        self.bounds[piece] as usize..self.bounds[piece + 1] as usize
    }

    fn take_front(&mut self) -> Option<(Range<usize>, &'a mut [T])> {
        (self.len() > 0).then(|| {
            let rows = self.rows(0);
            let count = (self.offsets[rows.end] - self.offsets[rows.start]) as usize;
            self.bounds = &self.bounds[1..];
            (rows, self.items.split_off_mut(..count).expect("the items of a piece"))
        })
    }

    fn take_back(&mut self) -> Option<(Range<usize>, &'a mut [T])> {
        let last = self.len().checked_sub(1)?;
        let rows = self.rows(last);
        let count = (self.offsets[rows.end] - self.offsets[rows.start]) as usize;
        self.bounds = &self.bounds[..=last];
        let rest = self.items.len() - count;
        Some((rows, self.items.split_off_mut(rest..).expect("the items of a piece")))
    }
}

impl<'a, T: Send> ParallelIterator for Pieces<'a, T> {
    type Item = (Range<usize>, &'a mut [T]);

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<T: Send> IndexedParallelIterator for Pieces<'_, T> {
    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
        callback.callback(self)
    }
}

impl<'a, T: Send> Producer for Pieces<'a, T> {
    type Item = (Range<usize>, &'a mut [T]);
    type IntoIter = PiecesInOrder<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        PiecesInOrder(self)
    }

    fn split_at(self, piece: usize) -> (Self, Self) {
        let row = |piece: usize| self.offsets[self.bounds[piece] as usize];
        let (left, right) = self.items.split_at_mut((row(piece) - row(0)) as usize);
        let cut = |bounds, items| Pieces { bounds, offsets: self.offsets, items };
        (cut(&self.bounds[..=piece], left), cut(&self.bounds[piece..], right))
    }
}

/// The pieces, one after the other.
pub(super) struct PiecesInOrder<'a, T>(Pieces<'a, T>);

impl<'a, T: Send> Iterator for PiecesInOrder<'a, T> {
    type Item = (Range<usize>, &'a mut [T]);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take_front()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl<T: Send> DoubleEndedIterator for PiecesInOrder<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.take_back()
    }
}

impl<T: Send> ExactSizeIterator for PiecesInOrder<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{HostSpace, Serial, Threads};

    #[test]
    fn bounds_equal_those_by_hand() {
        assert_eq!(bounds_of(&[0], 3).unwrap(), [0]);
        assert_eq!(bounds_of(&[0, 1, 2, 3, 4, 5], 2).unwrap(), [0, 2, 4, 5]);
        // Rows of 0, 9, 0, 0, 0, 1 items: a long row ends its piece, and empty rows do not last for ever.
        assert_eq!(bounds_of(&[0, 0, 9, 9, 9, 9, 10], 3).unwrap(), [0, 2, 5, 6]);
    }

    #[test]
    fn every_item_belongs_to_one_piece_on_any_number_of_threads() {
        let offsets: Vec<u64> = (0..1000u64).scan(0, |sum, row| Some(std::mem::replace(sum, *sum + row % 7))).collect();
        let bounds = bounds_of(&offsets, 20).unwrap();
        let mut items = vec![usize::MAX; offsets[999] as usize];
        let mark = |(rows, items): (Range<usize>, &mut [usize])| {
            let mut items = items.iter_mut();
            for row in rows {
                items.by_ref().take((offsets[row + 1] - offsets[row]) as usize).for_each(|item| *item = row);
            }
            assert_eq!(items.len(), 0);
        };
        let expected: Vec<usize> = (0..999).flat_map(|row| vec![row; row % 7]).collect();
        for threads in [1, 2, 5] {
            items.fill(usize::MAX);
            Threads::new(threads)
                .unwrap()
                .for_each(Pieces { bounds: &bounds, offsets: &offsets, items: &mut items }, mark);
            assert_eq!(items, expected);
        }
        items.fill(usize::MAX);
        Serial.for_each(Pieces { bounds: &bounds, offsets: &offsets, items: &mut items }.rev(), mark);
        assert_eq!(items, expected);
    }
}
