//! A distributed matrix with the rows that other ranks own of its ghosts, as a product of distributed matrices reads them.
//!
//! ```text
//! plan      owners send the columns of their rows, by global id; a rank numbers those that are new to it
//! refresh   owners send the values: an exchange of entries in place of unknowns
//! ```

use super::numbering::{Columns, Numbering};
use crate::comm::{Communicator, Halo, Map, Message, Neighbour, agree};
use crate::space::{Threads, try_push, try_reserve, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};
use std::sync::Arc;

/// Own rows, then those of ghosts.
#[derive(Debug)]
pub(super) struct GhostRows {
    pub matrix: CrsMatrix,
    /// Entries of own rows.
    own: usize,
    /// Of each entry of a ghost's row, its place among those that came.
    order: Vec<u32>,
    came: Vec<f64>,
    halo: Option<Halo<Threads>>,
}

impl GhostRows {
    /// Plans the rows of the ghosts of `rows` for a matrix of a graph, whose columns are groups of `width` unknowns: of these, `columns`
    /// numbers those of `graph`. Returns the numbers of all columns, which keep the order of entries in own rows. Collective.
    pub fn new(
        space: &Threads,
        comm: &dyn Communicator,
        rows: &Map,
        graph: &Arc<CrsGraph>,
        (columns, numbering, width): (&Columns, &Numbering, usize),
    ) -> Result<(Self, Columns)> {
        let own = graph.nnz();
        if comm.size() == 1 {
            let matrix = CrsMatrix::zeros_on(space, graph.clone())?;
            return Ok((GhostRows { matrix, own, order: vec![], came: vec![], halo: None }, columns.clone()));
        }
        let sent = agree(comm, letters(rows, graph, columns, width))?;
        let came = comm.send_all(sent)?;
        let mut used = agree(comm, columns.ghosts())?;
        let found = ids_of_rows(rows, &came).and_then(|found| {
            try_reserve("ids of columns", &mut used, found.iter().map(|ids| ids.len()).sum())?;
            found.iter().for_each(|ids| used.extend_from_slice(ids));
            Ok(found)
        });
        let found = agree(comm, found)?;
        let all = numbering.columns(comm, used)?;
        let joined = agree(comm, joined(graph, &found, [columns, &all], width))?;
        let (extended, order) = joined;
        let entries = agree(comm, map_of_entries(rows, graph, &extended))?;
        let halo = agree(comm, Halo::new(space, comm, &entries))?;
        let made = CrsMatrix::zeros_on(space, Arc::new(extended))
            .and_then(|matrix| Ok((matrix, try_zeroed("entries of ghosts", order.len())?)));
        let (matrix, came) = agree(comm, made)?;
        Ok((GhostRows { matrix, own, order, came, halo: Some(halo) }, all))
    }

    /// Returns the values of own rows, to be written before [`refresh`](Self::refresh).
    pub fn own_values(&mut self) -> &mut [f64] {
        &mut self.matrix.parts_mut().1[..self.own]
    }

    /// Gives the rows of ghosts the values of their owners. Collective.
    pub fn refresh(&mut self, space: &Threads) -> Result<()> {
        let GhostRows { matrix, own, order, came, halo } = self;
        let Some(halo) = halo else { return Ok(()) };
        halo.update(space, matrix.parts_mut().1)?;
        let ghosts = &mut matrix.parts_mut().1[*own..];
        came.copy_from_slice(ghosts);
        ghosts.iter_mut().zip(order).for_each(|(value, at)| *value = came[*at as usize]);
        Ok(())
    }
}

/// Rows for each neighbour: number of groups, then their ids.
fn letters(rows: &Map, graph: &CrsGraph, columns: &Columns, width: usize) -> Result<Vec<Message>> {
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
    let mut found = Vec::new();
    try_reserve("rows of ghosts", &mut found, rows.ghost_count())?;
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

/// Own rows and those of ghosts with the new numbers of columns, and where each entry of the latter came.
fn joined(
    graph: &CrsGraph,
    ghosts: &[&[GlobalOrdinal]],
    [before, after]: [&Columns; 2],
    width: usize,
) -> Result<(CrsGraph, Vec<u32>)> {
    let more = width * ghosts.iter().map(|ids| ids.len()).sum::<usize>();
    let (mut row_map, mut entries, mut order) = (Vec::new(), Vec::new(), Vec::new());
    try_reserve("row offsets", &mut row_map, graph.rows() + ghosts.len() + 1)?;
    try_reserve("columns", &mut entries, graph.nnz() + more)?;
    try_reserve("order of entries", &mut order, more)?;
    row_map.extend_from_slice(graph.row_map());
    let (owned, wide) = (before.map.owned_count(), width as LocalOrdinal);
    let renumbered = |&column: &LocalOrdinal| match column / wide {
        group if (group as usize) < owned => column,
        group => after.local(before.id(group)) * wide + column % wide,
    };
    entries.extend(graph.entries().iter().map(renumbered));
    let mut groups: Vec<(LocalOrdinal, u32)> = Vec::new();
    let mut came = 0;
    for ids in ghosts {
        groups.clear();
        groups.extend(ids.iter().enumerate().map(|(at, &id)| (after.local(id), came + at as u32 * wide)));
        groups.sort_unstable();
        for &(group, at) in &groups {
            entries.extend(group * wide..(group + 1) * wide);
            order.extend(at..at + wide);
        }
        came += ids.len() as u32 * wide;
        row_map.push(entries.len() as u64);
    }
    Ok((CrsGraph::trusted(row_map, entries, after.map.local_count() * width), order))
}

/// The exchange of rows as one of entries: those of own rows are owned.
fn map_of_entries(rows: &Map, graph: &CrsGraph, extended: &CrsGraph) -> Result<Map> {
    let mut neighbours = Vec::new();
    for Neighbour { rank, send, receive } in rows.neighbours() {
        let places = send.iter().flat_map(|&row| graph.row_range(row as usize)).map(|at| at as LocalOrdinal);
        let count = send.iter().map(|&row| graph.row_range(row as usize).len()).sum();
        let mut list = Vec::new();
        try_reserve("entries to send", &mut list, count)?;
        list.extend(places);
        let [start, end] = [receive.start, receive.end].map(|row| extended.row_map()[row as usize] as LocalOrdinal);
        neighbours.push(Neighbour { rank: *rank, send: list, receive: start..end });
    }
    Map::new(GlobalOrdinal::MAX, graph.nnz(), neighbours)
}
