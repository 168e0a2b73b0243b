//! Graphs whose rows are found one by one, on hosts.

use crate::space::{Threads, even_bounds, offsets, split_at, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;

/// Tasks per thread: rows differ in cost.
pub(super) const TASKS: usize = 8;

/// Makes a graph of so many rows and columns: `find(state, row, found)` adds the groups of `width` columns of a row, ascending. Tasks take
/// runs of rows, each with its own state, and `found` has all groups of the task so far.
pub(crate) fn graph_by_rows<T>(
    space: &Threads,
    [rows, columns]: [usize; 2],
    width: usize,
    state: impl Fn() -> Result<T> + Send + Sync,
    find: impl Fn(&mut T, usize, &mut Vec<LocalOrdinal>) -> Result<()> + Send + Sync,
) -> Result<CrsGraph> {
    let bounds = even_bounds(rows, TASKS * space.concurrency(), 1);
    let mut lengths = try_zeroed::<u32>("lengths of rows", rows)?;
    let mut tasks: Vec<Vec<LocalOrdinal>> = vec![Vec::new(); bounds.len() - 1];
    let pieces = tasks.par_iter_mut().zip(split_at(&mut lengths, bounds.iter().copied()));
    space.try_for_each(pieces.zip(bounds.par_windows(2)), |((found, lengths), ends)| {
        let mut state = state()?;
        for (row, length) in (ends[0]..).zip(lengths) {
            let before = found.len();
            find(&mut state, row, found)?;
            *length = ((found.len() - before) * width) as u32;
        }
        Ok(())
    })?;
    let row_map = offsets(space, &lengths)?;
    let mut entries = try_zeroed::<LocalOrdinal>("columns of rows", row_map[rows] as usize)?;
    let pieces = split_at(&mut entries, bounds.iter().map(|&row| row_map[row] as usize));
    space.for_each(pieces.into_par_iter().zip(&tasks), |(piece, found)| {
        for (out, &group) in piece.chunks_exact_mut(width).zip(found) {
            let first = group * width as LocalOrdinal;
            out.iter_mut().zip(first..).for_each(|(out, column)| *out = column);
        }
    });
    Ok(CrsGraph::trusted(row_map, entries, columns))
}
