//! A distributed matrix with the rows that other ranks own of its ghosts, as a product of distributed matrices reads them.
//!
//! ```text
//! plan      owners send the columns of their rows, by global id; a rank numbers those that are new to it
//! refresh   owners send the values: an exchange of entries in place of unknowns
//! ```

use super::Aggregate;
use super::rows::Extension;
use crate::comm::{Halo, Links, Map, Message, Neighbour, agree, local};
use crate::solve::numbering::{Columns, Numbering};
use crate::space::{Array, MemorySpace, try_reserve, try_with_capacity};
use crate::sparse::{CrsGraph, CrsMatrix, GraphOf, MatrixOf};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result, RowOffset};
use std::sync::Arc;

/// Own rows, then those of ghosts; columns of each row ascend.
#[derive(Debug)]
pub(super) struct GhostRows<S: Aggregate> {
    pub matrix: MatrixOf<S>,
    halo: Option<Halo<S>>,
}

impl<S: Aggregate> GhostRows<S> {
    /// Plans the rows of the ghosts of `rows` for a matrix of a graph, whose columns are groups of `width` unknowns: of these, `columns`
    /// numbers those of `graph`. Returns the numbers of all columns, which keep the order of entries in own rows. Collective.
    pub fn new(
        space: &S,
        links: &Links<'_, S>,
        rows: &Map,
        (graph, values): (&Arc<GraphOf<S>>, Option<&Array<S, f64>>),
        (columns, numbering, width): (&Columns, &Numbering, usize),
    ) -> Result<(Self, Columns)> {
        let comm = links.comm();
        if comm.size() == 1 {
            let matrix = CrsMatrix::zeros_on(space, graph.clone())?;
            return Ok((GhostRows { matrix, halo: None }, columns.clone()));
        }
        let list = || {
            let sent = || rows.neighbours().iter().map(|neighbour| &neighbour.send);
            let mut list = try_with_capacity("rows to send", sent().map(Vec::len).sum())?;
            sent().for_each(|rows| list.extend_from_slice(rows));
            space.picked(graph, &list)
        };
        let sent = list().and_then(|(starts, picked)| sent(rows, (&starts, &picked), (columns, numbering, width)));
        let (ids, places): (Vec<_>, Vec<_>) = agree(comm, sent)?.into_iter().unzip();
        let letters = rows.neighbours().iter().map(|neighbour| neighbour.rank).zip(ids);
        let came = comm.send_all(letters.filter(|(_, ids)| !ids.is_empty()).collect())?;
        let mut used = agree(comm, columns.ghosts())?;
        let found = ids_of_rows(rows, &came).and_then(|found| {
            try_reserve("ids of columns", &mut used, found.iter().map(|ids| ids.len()).sum())?;
            found.iter().for_each(|ids| used.extend_from_slice(ids));
            Ok(found)
        });
        let found = agree(comm, found)?;
        let all = numbering.columns(comm, used)?;
        let more = agree(comm, rows_of_ghosts(&found, &all, width))?;
        let map = agree(comm, map_of_entries(rows, graph.nnz(), places, &more))?;
        let halo = agree(comm, links.halo(space, &map))?;
        let taken = || {
            let mut ghosts = try_with_capacity("ghosts", columns.map.ghost_count())?;
            ghosts.extend(columns.ghosts()?.iter().map(|&id| all.local(id)));
            let (owned, columns) = (columns.map.owned_count() * width, all.map.local_count() * width);
            let (rows, kept) = (graph.rows(), graph.nnz());
            extended(space, graph, values, Extension { rows, kept, columns, owned, width, ghosts, more })
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
        let with_values = (own.graph(), Some(own.values()));
        let (mut made, columns) = Self::new(space, links, rows, with_values, (columns, numbering, width))?;
        agree(comm, made.refresh(space))?;
        Ok((Some(made), columns))
    }

    /// Gives the rows of ghosts the values of their owners. Collective.
    pub fn refresh(&mut self, space: &S) -> Result<()> {
        let GhostRows { matrix, halo } = self;
        halo.as_mut().map_or(Ok(()), |halo| halo.update(space, matrix.parts_mut().1))
    }
}

/// Makes a matrix on the graph of a plan; the rows that stay have the given values or 0, the others 0.
pub(super) fn extended<S: Aggregate>(
    space: &S,
    graph: &GraphOf<S>,
    values: Option<&Array<S, f64>>,
    extension: Extension,
) -> Result<MatrixOf<S>> {
    let mut made = CrsMatrix::zeros_on(space, Arc::new(space.extended(graph, &extension)?))?;
    if let Some(values) = values {
        space.copy(extension.kept, S::Memory::slice(values), made.parts_mut().1)?;
    }
    Ok(made)
}

/// What each neighbour gets: number of groups and their ids, row by row, and the places of their entries. Groups are in the order in which the
/// neighbour numbers them, so that its rows ascend: its own ones come first.
fn sent(
    rows: &Map,
    (starts, picked): (&[RowOffset], &CrsGraph),
    (columns, numbering, width): (&Columns, &Numbering, usize),
) -> Result<Vec<(Vec<u64>, Vec<LocalOrdinal>)>> {
    let (mut next, mut groups, wide) = (0.., Vec::new(), width as LocalOrdinal);
    let of_neighbour = |Neighbour { rank, send, .. }: &Neighbour| {
        let (mut ids, mut places) = (Vec::new(), Vec::new());
        for row in next.by_ref().take(send.len()) {
            let of_row = picked.row(row).iter().zip(starts[row] as LocalOrdinal..).step_by(width);
            groups.clear();
            try_reserve("columns of rows", &mut groups, picked.row(row).len() / width)?;
            groups.extend(of_row.map(|(&column, at)| (columns.id(column / wide), at)));
            groups.sort_unstable_by_key(|&(id, _)| (numbering.owner(id) != *rank, id));
            try_reserve("columns of rows", &mut ids, 1 + groups.len())?;
            try_reserve("entries to send", &mut places, width * groups.len())?;
            ids.push(groups.len() as u64);
            ids.extend(groups.iter().map(|group| group.0));
            places.extend(groups.iter().flat_map(|&(_, at)| at..at + wide));
        }
        Ok((ids, places))
    };
    rows.neighbours().iter().map(of_neighbour).collect()
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

/// The rows of ghosts, with the numbers of their columns.
fn rows_of_ghosts(ghosts: &[&[GlobalOrdinal]], columns: &Columns, width: usize) -> Result<CrsGraph> {
    let (count, wide) = (ghosts.iter().map(|ids| ids.len()).sum::<usize>(), width as LocalOrdinal);
    let mut row_map = try_with_capacity("row offsets", ghosts.len() + 1)?;
    let mut entries = try_with_capacity("columns of rows", width * count)?;
    row_map.push(0);
    for ids in ghosts {
        entries.extend(ids.iter().map(|&id| columns.local(id) * wide).flat_map(|first| first..first + wide));
        row_map.push(entries.len() as RowOffset);
    }
    Ok(CrsGraph::trusted(row_map, entries, columns.map.local_count() * width))
}

/// The exchange of rows as one of entries: the `own` ones of own rows are owned.
fn map_of_entries(rows: &Map, own: usize, sent: Vec<Vec<LocalOrdinal>>, more: &CrsGraph) -> Result<Map> {
    let place = |row: LocalOrdinal| local(own + more.row_map()[row as usize - rows.owned_count()] as usize);
    let neighbour = |(Neighbour { rank, receive, .. }, send): (&Neighbour, _)| {
        Ok(Neighbour { rank: *rank, send, receive: place(receive.start)?..place(receive.end)? })
    };
    let neighbours = rows.neighbours().iter().zip(sent).map(neighbour);
    Map::new(GlobalOrdinal::MAX, own, neighbours.collect::<Result<_>>()?)
}
