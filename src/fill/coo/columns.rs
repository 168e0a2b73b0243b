//! Makes the columns of all rows of a plan and each value's position; [`RowUnion`] finds those of a row.

use crate::graph::{CooIndex, NodeElem, Position, Positions, RowUnion, Slots, with_position_type};
use crate::space::{Threads, offsets, split_at, try_collect, try_push, try_reserve, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;

/// Values per piece of the rows.
const PIECE: usize = 1 << 16;

/// The graph, the position of each value `[list item, b]` in its row (`NONE` for an ignored column), and bounds of pieces.
pub(super) fn unite(
    space: &Threads,
    lists: &NodeElem,
    columns: usize,
    input: &Slots<'_, impl CooIndex, impl CooIndex>,
) -> Result<(CrsGraph, Positions, Vec<LocalOrdinal>)> {
    let (starts, width) = (lists.row_map(), input.width());
    let longest = starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0);
    let bounds = bounds_of(starts, PIECE.div_ceil(width))?;
    let mut counts = try_zeroed::<u32>("row lengths", lists.rows())?;
    // Columns of the rows of each piece.
    let mut found = try_collect("columns of pieces", bounds.iter().skip(1).map(|_| Vec::new()))?;
    // The number of values in a row bounds that of its columns and selects the type of positions.
    let positions = with_position_type!((longest * width).min(columns), P => {
        let mut positions = try_zeroed::<P>("positions", lists.slots_array().len() * width)?;
        let parts = split_at(&mut positions, bounds.iter().map(|&row| starts[row as usize] as usize * width));
        let counts = split_at(&mut counts, bounds.iter().map(|&row| row as usize));
        let pieces = bounds.par_windows(2).zip(parts).zip(counts).zip(found.par_iter_mut());
        space.try_for_each(pieces, |(((bounds, positions), counts), found)| {
            find::<P>(lists, columns, input, bounds[0] as usize, positions, counts, found)
        })?;
        positions
    });
    let row_map = offsets(space, &counts)?;
    let mut entries = try_zeroed::<LocalOrdinal>("columns", row_map[lists.rows()] as usize)?;
    let parts = split_at(&mut entries, bounds.iter().map(|&row| row_map[row as usize] as usize));
    space.for_each(parts.into_par_iter().zip(&found), |(entries, found)| entries.copy_from_slice(found));
    Ok((CrsGraph::trusted(row_map, entries, columns), positions, bounds))
}

/// The rows of a piece from `first` on: positions of their values, numbers of their columns, and these.
fn find<P: Position>(
    lists: &NodeElem,
    columns: usize,
    input: &Slots<'_, impl CooIndex, impl CooIndex>,
    first: usize,
    mut positions: &mut [P],
    counts: &mut [u32],
    found: &mut Vec<LocalOrdinal>,
) -> Result<()> {
    let mut union = RowUnion::default();
    for (row, count) in (first..).zip(counts) {
        let values = lists.slots(row).len();
        let own = positions.split_off_mut(..values * input.width()).expect("the positions of a row");
        union.unite(input, lists.slots_from(row), values, columns, own)?;
        *count = union.columns().len() as u32;
        try_reserve("columns of a piece", found, union.columns().len())?;
        found.extend_from_slice(union.columns());
    }
    Ok(())
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
