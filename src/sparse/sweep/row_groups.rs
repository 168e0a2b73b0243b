//! Groups of rows that no entry of a matrix joins: colours of its graph, or levels of the rows' own order.
//!
//! ```text
//! colours    each row takes the first colour that no earlier neighbour has: few large groups
//! levels     each row follows its latest earlier neighbour: many small groups, and the triangles are those of the rows' own order
//! ```

use crate::space::{try_collect, try_reserve, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};

/// How rows are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Colours of the graph, greedily in the order of the rows.
    Colours,
    /// Level sets of the rows' own order.
    Levels,
}

/// An order of rows in groups whose rows depend on rows of other groups only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowGroups {
    /// First place of each group, and the number of rows.
    pub starts: Vec<usize>,
    /// `[place]` -> row.
    pub rows: Vec<LocalOrdinal>,
    /// `[row]` -> place.
    pub places: Vec<LocalOrdinal>,
}

impl RowGroups {
    /// Groups the rows of a graph with symmetric pattern; columns beyond the rows, such as ghosts, take no part. One thread reads each entry
    /// once.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(graph: &CrsGraph, grouping: Grouping) -> Result<Self> {
        let mut groups = try_zeroed::<u32>("groups of rows", graph.rows())?;
        // `[colour]` -> 1 + the last row that saw it taken.
        let mut taken: Vec<usize> = Vec::new();
        for row in 0..graph.rows() {
            let earlier = graph.row(row).iter().take_while(|&&column| (column as usize) < row);
            groups[row] = match grouping {
                Grouping::Levels => earlier.map(|&column| groups[column as usize] + 1).max().unwrap_or(0),
                Grouping::Colours => {
                    earlier.for_each(|&column| taken[groups[column as usize] as usize] = row + 1);
                    let free = taken.iter().position(|&by| by != row + 1).unwrap_or(taken.len());
                    if free == taken.len() {
                        taken.push(0);
                    }
                    free as u32
                }
            };
        }
        Self::sorted(&groups)
    }

    /// Returns the first entry that joins two rows of a group.
    pub fn joined(&self, graph: &CrsGraph) -> Option<(usize, usize)> {
        self.starts.windows(2).find_map(|ends| {
            self.rows[ends[0]..ends[1]].iter().find_map(|&row| {
                let is_joined = |column: &&LocalOrdinal| {
                    let place = self.places.get(**column as usize);
                    **column != row && place.is_some_and(|&place| (ends[0]..ends[1]).contains(&(place as usize)))
                };
                Some((row as usize, *graph.row(row as usize).iter().find(is_joined)? as usize))
            })
        })
    }

    /// Sorts rows by their groups, and rows of a group by number.
    fn sorted(groups: &[u32]) -> Result<Self> {
        let count = groups.iter().max().map_or(0, |&last| last as usize + 1);
        let mut starts = Vec::new();
        try_reserve("starts of groups", &mut starts, count + 1)?;
        starts.resize(count + 1, 0);
        groups.iter().for_each(|&group| starts[group as usize + 1] += 1);
        (0..count).for_each(|group| starts[group + 1] += starts[group]);
        let mut next = try_collect("places in groups", starts.iter().copied())?;
        let mut rows = try_zeroed::<LocalOrdinal>("rows by groups", groups.len())?;
        let mut places = try_zeroed::<LocalOrdinal>("places of rows", groups.len())?;
        for (row, &group) in groups.iter().enumerate() {
            let place = &mut next[group as usize];
            (rows[*place], places[row]) = (row as LocalOrdinal, *place as LocalOrdinal);
            *place += 1;
        }
        Ok(RowGroups { starts, rows, places })
    }
}
