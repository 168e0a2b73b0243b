//! Rows sent and rows received by a rank: copies of rows of a graph, and a graph extended by the rows of other ranks, in the memory of its
//! space. Twin of the kernels `pick_*` and `extend_*`.

use crate::space::{Threads, try_collect, try_with_capacity};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result, RowOffset};

/// Plan of a graph: the first rows of an old one with renumbered columns, then the rows of `more`.
#[derive(Debug)]
pub struct Extension {
    /// Rows of the old graph that stay, and their entries.
    pub(super) rows: usize,
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
pub(super) fn extended(space: &Threads, graph: &CrsGraph, extension: &Extension) -> Result<CrsGraph> {
    let Extension { rows, kept, columns, ref more, .. } = *extension;
    let offset = |row| if row <= rows { graph.row_map()[row] } else { kept as RowOffset + more.row_map()[row - rows] };
    let entry = |at| if at < kept { extension.renumbered(graph.entries()[at]) } else { more.entries()[at - kept] };
    let (row_map, entries) = (space.map(rows + more.rows() + 1, offset)?, space.map(kept + more.nnz(), entry)?);
    Ok(CrsGraph::trusted(row_map, entries, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two owned groups and two ghost groups of two columns each. The second ghost group is numbered before the first.
    #[test]
    fn rows_are_picked_and_extended_as_by_hand() {
        let graph = CrsGraph::new(vec![0, 2, 4, 6], vec![0, 1, 4, 5, 6, 7], 8).unwrap();
        let (starts, rows) = picked(&graph, &[2, 0]).unwrap();
        assert_eq!((starts, rows.row_map(), rows.entries()), (vec![4, 0], &vec![0, 2, 4], &vec![6, 7, 0, 1]));
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let extended = |rows, kept, more| {
                let ghosts = vec![4, 2];
                let extension = Extension { rows, kept, columns: 20, owned: 4, width: 2, ghosts, more };
                let made = extended(&space, &graph, &extension).unwrap();
                assert_eq!(made.columns(), 20);
                (made.row_map().clone(), made.entries().clone())
            };
            let more = || CrsGraph::trusted(vec![0, 0, 2], vec![10, 11], 20);
            assert_eq!(extended(3, 6, more()), (vec![0, 2, 4, 6, 6, 8], vec![0, 1, 8, 9, 4, 5, 10, 11]));
            assert_eq!(extended(1, 2, more()), (vec![0, 2, 2, 4], vec![0, 1, 10, 11]));
            assert_eq!(extended(2, 4, CrsGraph::trusted(vec![0], vec![], 20)), (vec![0, 2, 4], vec![0, 1, 8, 9]));
        }
    }
}
