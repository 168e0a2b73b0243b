//! Makes the columns of all rows of a plan and each value's position; [`RowUnion`] finds those of a row.

use super::lists::Lists;
use crate::graph::{Position, Positions, RowUnion, Slots};
use crate::space::{HostSpace, offsets, split_at, try_push, try_reserve, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;

/// Values per piece of the rows.
const PIECE: usize = 1 << 16;

/// The graph, the position of each value `[list item, b]` in its row (`NONE` for an ignored column), and bounds of pieces.
pub(super) fn unite<S: HostSpace>(
    space: &S,
    lists: &Lists,
    columns: usize,
    input: &impl Slots,
) -> Result<(CrsGraph, Positions, Vec<LocalOrdinal>)> {
    let (rows, width) = (lists.offsets.len() - 1, input.width());
    let longest = lists.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0);
    let bounds = bounds_of(&lists.offsets, PIECE.div_ceil(width))?;
    let mut united = Columns { lists, input, columns, bounds: &bounds, counts: Vec::new(), found: Vec::new() };
    united.counts = try_zeroed("row lengths", rows)?;
    // The number of values in a row bounds that of its columns and selects the type of positions.
    let positions = match (longest * width).min(columns) {
        0..=255 => Positions::U8(united.find(space)?),
        256..=65_535 => Positions::U16(united.find(space)?),
        _ => Positions::U32(united.find(space)?),
    };
    let Columns { counts, found, .. } = united;
    let row_map = offsets(space, &counts)?;
    let mut entries = try_zeroed::<LocalOrdinal>("columns", row_map[rows] as usize)?;
    let parts = split_at(&mut entries, bounds.iter().map(|&row| row_map[row as usize] as usize));
    space.for_each(parts.into_par_iter().zip(&found), |(entries, found)| entries.copy_from_slice(found));
    Ok((CrsGraph::trusted(row_map, entries, columns), positions, bounds))
}

struct Columns<'a, I> {
    lists: &'a Lists,
    input: &'a I,
    columns: usize,
    bounds: &'a [LocalOrdinal],
    /// Columns per row.
    counts: Vec<u32>,
    /// Columns of the rows of each piece.
    found: Vec<Vec<LocalOrdinal>>,
}

impl<I: Slots> Columns<'_, I> {
    fn find<S: HostSpace, P: Position>(&mut self, space: &S) -> Result<Vec<P>> {
        let Columns { lists, input, bounds, counts, found, .. } = self;
        let (columns, width) = (self.columns, input.width());
        try_reserve("columns of pieces", found, bounds.len() - 1)?;
        found.resize_with(bounds.len() - 1, Vec::new);
        let mut positions = try_zeroed::<P>("positions", lists.slots.len() * width)?;
        let parts = split_at(&mut positions, bounds.iter().map(|&row| lists.offsets[row as usize] as usize * width));
        let counts = split_at(counts, bounds.iter().map(|&row| row as usize));
        let pieces = bounds.par_windows(2).zip(parts).zip(counts).zip(found.par_iter_mut());
        space.try_for_each(pieces, |(((bounds, mut positions), counts), found)| {
            let (first, mut row) = (bounds[0] as usize, RowUnion::default());
            for (at, count) in counts.iter_mut().enumerate() {
                let list = lists.offsets[first + at] as usize..lists.offsets[first + at + 1] as usize;
                let own = positions.split_off_mut(..list.len() * width).expect("the positions of a row");
                row.unite(*input, &lists.slots[list.start..], list.len(), columns, own)?;
                *count = row.columns().len() as u32;
                try_reserve("columns of a piece", found, row.columns().len())?;
                found.extend_from_slice(row.columns());
            }
            Ok(())
        })?;
        Ok(positions)
    }
}

/// Returns the bounds of pieces of about `size` items, given the offsets of the rows' items. They depend on the rows only, so results
/// do not depend on the number of threads.
fn bounds_of(offsets: &[RowOffset], size: usize) -> Result<Vec<LocalOrdinal>> {
    let rows = offsets.len() - 1;
    let mut bounds = Vec::new();
    try_push("bounds of pieces", &mut bounds, 0)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_equal_those_by_hand() {
        assert_eq!(bounds_of(&[0], 3).unwrap(), [0]);
        assert_eq!(bounds_of(&[0, 1, 2, 3, 4, 5], 2).unwrap(), [0, 2, 4, 5]);
        // Rows of 0, 9, 0, 0, 0, 1 items: a long row ends its piece, and empty rows do not last for ever.
        assert_eq!(bounds_of(&[0, 0, 9, 9, 9, 9, 10], 3).unwrap(), [0, 2, 5, 6]);
    }
}
