//! The restriction of ranks: the transpose of a prolongator whose columns are aggregates of several ranks.

use super::Aggregate;
use super::ghost_rows::Lent;
use super::numbering::{Columns, Numbering};
use crate::comm::{Communicator, Message, Neighbour, agree};
use crate::space::{try_push, try_reserve, try_with_capacity};
use crate::sparse::{CrsGraph, CrsMatrix, MatrixOf};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result, RowOffset};
use std::sync::Arc;

/// An entry that another rank sent: row of R here, id of the fine row, value.
type Entry = (usize, GlobalOrdinal, f64);

/// Returns this rank's rows of P^T and their columns, the rows of P; groups of `width` columns of P have the ids of `numbering`. Collective.
pub(super) fn restriction<S: Aggregate>(
    space: &S,
    comm: &dyn Communicator,
    p: &MatrixOf<S>,
    (columns, numbering, width): (&Columns, &Numbering, usize),
) -> Result<(MatrixOf<S>, Columns)> {
    let turned = agree(comm, space.transpose(p))?;
    let fine = Numbering::new(comm, p.graph().rows())?;
    if comm.size() == 1 {
        return Ok((turned, fine.columns(comm, Vec::new())?));
    }
    let lent = || Ok((Lent::new(space, turned.graph())?, space.lend(turned.values())?));
    let (graph, values) = agree(comm, lent())?;
    let sent = agree(comm, letters((&graph, &values), columns, fine.first(), width))?;
    let letters = comm.send_all(sent)?;
    let came = agree(comm, entries(&letters, numbering.first(), width))?;
    let used = came.iter().map(|&(_, id, _)| id).collect();
    let fine = fine.columns(comm, used)?;
    let rows = columns.map.owned_count() * width;
    let taken = || {
        let (row_map, entries, values) = joined((&graph, &values), rows, came, &fine)?;
        let nnz = entries.len();
        let (row_map, entries, values) = (space.take(row_map)?, space.take(entries)?, space.take(values)?);
        let graph = CrsGraph::from_parts(rows, fine.map.local_count(), nnz, row_map, entries);
        Ok(CrsMatrix::from_parts(Arc::new(graph), values))
    };
    Ok((agree(comm, taken())?, fine))
}

/// Rows of ghosts for their owners, unknown by unknown: id of the group, number of entries, then fine ids and values.
fn letters(
    (graph, values): (&Lent<'_>, &[f64]),
    columns: &Columns,
    first: GlobalOrdinal,
    width: usize,
) -> Result<Vec<Message>> {
    let mut letters = Vec::new();
    for Neighbour { rank, receive, .. } in columns.map.neighbours() {
        let mut letter = Vec::new();
        for (group, dof) in receive.clone().flat_map(|group| (0..width).map(move |dof| (group, dof))) {
            let row = group as usize * width + dof;
            let range = graph.row_range(row);
            try_reserve("rows of a restriction", &mut letter, 2 + 2 * range.len())?;
            letter.extend([columns.id(group), range.len() as u64]);
            let entries = graph.row(row).iter().zip(&values[range]);
            letter.extend(entries.flat_map(|(&column, value)| [first + u64::from(column), value.to_bits()]));
        }
        if !letter.is_empty() {
            letters.push((*rank, letter));
        }
    }
    Ok(letters)
}

/// The entries of letters, by row; those of a row ascend, since ranks and the rows of each do.
fn entries(letters: &[Message], first: GlobalOrdinal, width: usize) -> Result<Vec<Entry>> {
    let mut found: Vec<Entry> = Vec::new();
    for (rank, letter) in letters {
        let (mut rest, mut dof) = (&letter[..], 0);
        while let [group, count, others @ ..] = rest {
            let pairs = others.split_at_checked(2 * *count as usize);
            let (pairs, others) = pairs.ok_or_else(|| Error::Mpi(format!("rank {rank} sent too few entries")))?;
            let row = (group - first) as usize * width + dof % width;
            for pair in pairs.chunks_exact(2) {
                try_push("entries of a restriction", &mut found, (row, pair[0], f64::from_bits(pair[1])))?;
            }
            (rest, dof) = (others, dof + 1);
        }
    }
    found.sort_by_key(|&(row, id, _)| (row, id));
    Ok(found)
}

/// Row offsets, columns and values of own rows with the entries that came behind their own.
fn joined(
    (graph, own): (&Lent<'_>, &[f64]),
    rows: usize,
    came: Vec<Entry>,
    fine: &Columns,
) -> Result<(Vec<RowOffset>, Vec<LocalOrdinal>, Vec<f64>)> {
    let count = graph.row_map[rows] as usize + came.len();
    let mut row_map = try_with_capacity("rows of a restriction", rows + 1)?;
    let mut entries = try_with_capacity("columns of a restriction", count)?;
    let mut values = try_with_capacity("values of a restriction", count)?;
    row_map.push(0);
    let mut came = came.into_iter().peekable();
    for row in 0..rows {
        entries.extend_from_slice(graph.row(row));
        values.extend_from_slice(&own[graph.row_range(row)]);
        while let Some((_, id, value)) = came.next_if(|entry| entry.0 == row) {
            entries.push(fine.local(id) as LocalOrdinal);
            values.push(value);
        }
        row_map.push(entries.len() as RowOffset);
    }
    Ok((row_map, entries, values))
}
