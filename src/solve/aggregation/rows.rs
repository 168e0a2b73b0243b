//! Rows sent and rows received by a rank: copies of rows of a graph, and a graph extended by the rows of other ranks, in the memory of its
//! space. Twin of the kernels `pick_*` and `extend_*`.

use crate::space::{Threads, try_collect, try_with_capacity, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result, RowOffset};
use std::sync::Arc;

/// What a graph gains: row i of the new graph is row i of the old one, with the new numbers of its columns, and row i of `more` behind it.
/// Rows of the old graph beyond those of `more` are left out.
#[derive(Debug)]
pub struct Extension {
    /// Entries of the old graph that stay.
    pub(super) kept: usize,
    /// Columns of the new graph.
    pub(super) columns: usize,
    /// Columns that keep their numbers, a multiple of `width`.
    pub(super) owned: usize,
    /// Unknowns of a group of columns, and the new numbers of the groups behind the owned ones.
    pub(super) width: usize,
    pub(super) ghosts: Vec<LocalOrdinal>,
    pub(super) more: CrsGraph,
}

impl Extension {
    /// Returns the new number of a column.
    fn renumbered(&self, column: LocalOrdinal) -> LocalOrdinal {
        let width = self.width as LocalOrdinal;
        match (column as usize).checked_sub(self.owned) {
            None => column,
            Some(behind) => self.ghosts[behind / self.width] * width + column % width,
        }
    }
}

/// Host's part of [`Aggregate::picked`](super::Aggregate::picked).
pub(super) fn picked(graph: &CrsGraph, list: &[LocalOrdinal]) -> Result<(Vec<RowOffset>, CrsGraph)> {
    let ranges = || list.iter().map(|&row| graph.row_range(row as usize));
    let starts = try_collect("rows to send", ranges().map(|range| range.start as RowOffset))?;
    let mut entries = try_with_capacity("columns of rows", ranges().map(|range| range.len()).sum())?;
    let mut row_map = try_with_capacity("row offsets", list.len() + 1)?;
    row_map.push(0);
    for range in ranges() {
        entries.extend_from_slice(&graph.entries()[range]);
        row_map.push(entries.len() as RowOffset);
    }
    Ok((starts, CrsGraph::trusted(row_map, entries, graph.columns())))
}

/// Host's part of [`Aggregate::extended`](super::Aggregate::extended).
pub(super) fn extended(
    space: &Threads,
    graph: &CrsGraph,
    values: Option<&[f64]>,
    extension: Extension,
) -> Result<CrsMatrix> {
    let more = &extension.more;
    let own = graph.row_map();
    let of_row = |row: usize| if row < graph.rows() { graph.row_range(row) } else { 0..0 };
    let row_map = space.map(more.rows() + 1, |row| own[row.min(graph.rows())] + more.row_map()[row])?;
    let (tasks, count) = (8 * space.concurrency(), extension.kept + more.nnz());
    let mut entries = try_zeroed("columns", count)?;
    space.for_rows(tasks, &row_map, &mut entries, |row, new| {
        let old = &graph.entries()[of_row(row)];
        let (head, tail) = new.split_at_mut(old.len());
        head.iter_mut().zip(old).for_each(|(new, &old)| *new = extension.renumbered(old));
        tail.copy_from_slice(more.row(row));
    });
    let mut all = try_zeroed("values", count)?;
    if let Some(values) = values {
        space.for_rows(tasks, &row_map, &mut all, |row, new| {
            let old = &values[of_row(row)];
            // Those of `more` stay 0.
            new[..old.len()].copy_from_slice(old);
        });
    }
    CrsMatrix::new(Arc::new(CrsGraph::trusted(row_map, entries, extension.columns)), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two owned groups and two ghost groups of two columns each. The second ghost group is numbered before the first.
    #[test]
    fn rows_are_picked_and_extended_as_by_hand() {
        let graph = CrsGraph::new(vec![0, 2, 4, 6], vec![0, 1, 4, 5, 6, 7], 8).unwrap();
        let values: Vec<f64> = (0..6).map(f64::from).collect();
        let (starts, rows) = picked(&graph, &[2, 0]).unwrap();
        assert_eq!((starts, rows.row_map(), rows.entries()), (vec![4, 0], &vec![0, 2, 4], &vec![6, 7, 0, 1]));
        let extension = |row_map: Vec<u64>, kept| {
            let entries = (10..10 + row_map[row_map.len() - 1] as u32).collect();
            let more = CrsGraph::trusted(row_map, entries, 20);
            Extension { kept, columns: 20, owned: 4, width: 2, ghosts: vec![4, 2], more }
        };
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let parts =
                |a: CrsMatrix| (a.graph().row_map().to_vec(), a.graph().entries().to_vec(), a.values().to_vec());
            let behind = extended(&space, &graph, None, extension(vec![0, 0, 0, 0, 2], 6)).unwrap();
            assert_eq!(behind.graph().columns(), 20);
            assert_eq!(parts(behind), (vec![0, 2, 4, 6, 8], vec![0, 1, 8, 9, 4, 5, 10, 11], vec![0.0; 8]));
            let behind = extended(&space, &graph, Some(&values), extension(vec![0, 0, 0, 0, 2], 6)).unwrap();
            assert_eq!(behind.values(), &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0]);
            let within = extended(&space, &graph, Some(&values), extension(vec![0, 1, 1], 4)).unwrap();
            assert_eq!(parts(within), (vec![0, 3, 5], vec![0, 1, 10, 8, 9], vec![0.0, 1.0, 0.0, 2.0, 3.0]));
        }
    }
}
