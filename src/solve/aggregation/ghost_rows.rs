//! A distributed matrix with the rows that other ranks own of its ghosts, as a product of distributed matrices reads them.
//!
//! ```text
//! plan      owners send the columns of their rows, by global id; a rank numbers those that are new to it
//! refresh   owners send the values: an exchange of entries in place of unknowns
//! ```

use super::Aggregate;
use super::numbering::{Columns, Numbering};
use crate::comm::{Halo, Links, Map, Message, Neighbour, agree};
use crate::space::{MemorySpace, try_push, try_reserve, try_with_capacity};
use crate::sparse::{CrsGraph, CrsMatrix, GraphOf, MatrixOf};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result, RowOffset};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Own rows, then those of ghosts, whose columns are in the order of their owners.
#[derive(Debug)]
pub(super) struct GhostRows<S: Aggregate> {
    pub matrix: MatrixOf<S>,
    halo: Option<Halo<S>>,
}

/// A graph for the host to read.
pub(super) struct Lent<'a> {
    pub row_map: Cow<'a, [RowOffset]>,
    pub entries: Cow<'a, [LocalOrdinal]>,
}

impl<'a> Lent<'a> {
    pub fn new<S: Aggregate>(space: &S, graph: &'a GraphOf<S>) -> Result<Self> {
        Ok(Lent { row_map: space.lend(graph.row_map())?, entries: space.lend(graph.entries())? })
    }

    pub fn row_range(&self, row: usize) -> Range<usize> {
        self.row_map[row] as usize..self.row_map[row + 1] as usize
    }

    pub fn row(&self, row: usize) -> &[LocalOrdinal] {
        &self.entries[self.row_range(row)]
    }
}

impl<S: Aggregate> GhostRows<S> {
    /// Plans the rows of the ghosts of `rows` for a matrix of a graph, whose columns are groups of `width` unknowns: of these, `columns`
    /// numbers those of `graph`. Returns the numbers of all columns, which keep the order of entries in own rows. Collective.
    pub fn new(
        space: &S,
        links: &Links<'_, S>,
        rows: &Map,
        graph: &Arc<GraphOf<S>>,
        (columns, numbering, width): (&Columns, &Numbering, usize),
    ) -> Result<(Self, Columns)> {
        let comm = links.comm();
        if comm.size() == 1 {
            let matrix = CrsMatrix::zeros_on(space, graph.clone())?;
            return Ok((GhostRows { matrix, halo: None }, columns.clone()));
        }
        let own = agree(comm, Lent::new(space, graph))?;
        let sent = agree(comm, letters(rows, &own, columns, width))?;
        let came = comm.send_all(sent)?;
        let mut used = agree(comm, columns.ghosts())?;
        let found = ids_of_rows(rows, &came).and_then(|found| {
            try_reserve("ids of columns", &mut used, found.iter().map(|ids| ids.len()).sum())?;
            found.iter().for_each(|ids| used.extend_from_slice(ids));
            Ok(found)
        });
        let found = agree(comm, found)?;
        let all = numbering.columns(comm, used)?;
        let joined = joined(&own, &found, [columns, &all], width);
        let (row_map, entries) = agree(comm, joined)?;
        let map = agree(comm, map_of_entries(rows, &own, &row_map))?;
        let halo = agree(comm, links.halo(space, &map))?;
        let sizes = [row_map.len() - 1, all.map.local_count() * width, entries.len()];
        let taken = || {
            let (row_map, entries) = (space.take(row_map)?, space.take(entries)?);
            let graph = CrsGraph::from_parts(sizes[0], sizes[1], sizes[2], row_map, entries);
            CrsMatrix::zeros_on(space, Arc::new(graph))
        };
        Ok((GhostRows { matrix: agree(comm, taken())?, halo: Some(halo) }, all))
    }

    /// Plans the rows of ghosts as [`new`](Self::new) and gives all rows their values; one rank has no ghosts. Collective.
    pub fn of(
        space: &S,
        links: &Links<'_, S>,
        rows: &Map,
        own: &MatrixOf<S>,
        (columns, numbering, width): (&Columns, &Numbering, usize),
    ) -> Result<(Option<Self>, Columns)> {
        let comm = links.comm();
        if comm.size() == 1 {
            return Ok((None, columns.clone()));
        }
        let (mut made, columns) = Self::new(space, links, rows, own.graph(), (columns, numbering, width))?;
        let values = S::Memory::slice(own.values());
        agree(comm, space.copy(own.graph().nnz(), values, made.matrix.parts_mut().1))?;
        agree(comm, made.refresh(space))?;
        Ok((Some(made), columns))
    }

    /// Gives the rows of ghosts the values of their owners. Collective.
    pub fn refresh(&mut self, space: &S) -> Result<()> {
        let GhostRows { matrix, halo } = self;
        halo.as_mut().map_or(Ok(()), |halo| halo.update(space, matrix.parts_mut().1))
    }
}

/// Rows for each neighbour: number of groups, then their ids.
fn letters(rows: &Map, graph: &Lent<'_>, columns: &Columns, width: usize) -> Result<Vec<Message>> {
    let mut letters = Vec::new();
    for Neighbour { rank, send, .. } in rows.neighbours().iter().filter(|neighbour| !neighbour.send.is_empty()) {
        let mut letter = Vec::new();
        for &row in send {
            let groups = graph.row(row as usize).iter().step_by(width);
            try_push("columns of rows", &mut letter, groups.len() as u64)?;
            for &column in groups {
                try_push("columns of rows", &mut letter, columns.id(column / width as LocalOrdinal))?;
            }
        }
        letters.push((*rank, letter));
    }
    Ok(letters)
}

/// The ids of each ghost's row, in the order of the ghosts.
fn ids_of_rows<'a>(rows: &Map, came: &'a [Message]) -> Result<Vec<&'a [GlobalOrdinal]>> {
    let mut found = try_with_capacity("rows of ghosts", rows.ghost_count())?;
    for Neighbour { rank, receive, .. } in rows.neighbours().iter().filter(|neighbour| !neighbour.receive.is_empty()) {
        let letter = came.iter().find(|(from, _)| from == rank).map_or(&[][..], |(_, letter)| letter);
        let mut rest = letter;
        for _ in receive.clone() {
            let row = rest.split_first().and_then(|(&count, ids)| ids.split_at_checked(count as usize));
            let (ids, others) = row.ok_or_else(|| Error::Mpi(format!("rank {rank} sent too few rows of a matrix")))?;
            found.push(ids);
            rest = others;
        }
    }
    Ok(found)
}

/// Row offsets and columns of own rows and of those of ghosts, with the new numbers of columns.
fn joined(
    graph: &Lent<'_>,
    ghosts: &[&[GlobalOrdinal]],
    [before, after]: [&Columns; 2],
    width: usize,
) -> Result<(Vec<RowOffset>, Vec<LocalOrdinal>)> {
    let more = width * ghosts.iter().map(|ids| ids.len()).sum::<usize>();
    let mut row_map = try_with_capacity("row offsets", graph.row_map.len() + ghosts.len())?;
    let mut entries = try_with_capacity("columns", graph.entries.len() + more)?;
    row_map.extend_from_slice(&graph.row_map);
    let (owned, wide) = (before.map.owned_count(), width as LocalOrdinal);
    let renumbered = |&column: &LocalOrdinal| match column / wide {
        group if (group as usize) < owned => column,
        group => after.local(before.id(group)) * wide + column % wide,
    };
    entries.extend(graph.entries.iter().map(renumbered));
    for ids in ghosts {
        entries.extend(ids.iter().map(|&id| after.local(id) * wide).flat_map(|first| first..first + wide));
        row_map.push(entries.len() as RowOffset);
    }
    Ok((row_map, entries))
}

/// The exchange of rows as one of entries: those of own rows are owned.
fn map_of_entries(rows: &Map, graph: &Lent<'_>, row_map: &[RowOffset]) -> Result<Map> {
    let mut neighbours = Vec::new();
    for Neighbour { rank, send, receive } in rows.neighbours() {
        let ranges = || send.iter().map(|&row| graph.row_range(row as usize));
        let mut list = try_with_capacity("entries to send", ranges().map(|range| range.len()).sum())?;
        list.extend(ranges().flatten().map(|at| at as LocalOrdinal));
        let [start, end] = [receive.start, receive.end].map(|row| row_map[row as usize] as LocalOrdinal);
        neighbours.push(Neighbour { rank: *rank, send: list, receive: start..end });
    }
    Map::new(GlobalOrdinal::MAX, graph.entries.len(), neighbours)
}
