//! The restriction of ranks: the transpose of a prolongator whose columns are aggregates of several ranks.

use super::Aggregate;
use super::numbering::{Columns, Numbering};
use super::rows::{Extension, RowCopies, RowLists};
use crate::comm::{Communicator, Message, Neighbour, agree};
use crate::space::{try_collect, try_push, try_reserve, try_with_capacity};
use crate::sparse::MatrixOf;
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};

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
    let rows = columns.map.owned_count() * width;
    let ghosts = try_collect("rows of a restriction", rows as LocalOrdinal..turned.graph().rows() as LocalOrdinal);
    let picked = ghosts.and_then(|ghosts| space.picked(turned.graph(), Some(turned.values()), &ghosts));
    let RowCopies { starts, rows: sent } = agree(comm, picked)?;
    let letters = comm.send_all(agree(comm, letters(&sent, columns, fine.first(), width))?)?;
    let came = agree(comm, entries(&letters, numbering.first(), width))?;
    let used = came.iter().map(|&(_, id, _)| id).collect();
    let fine = fine.columns(comm, used)?;
    let taken = || {
        // The rows of ghosts, which are the last ones, are left out.
        let kept = starts.first().map_or(turned.graph().nnz(), |&start| start as usize);
        let (columns, owned, more) = (fine.map.local_count(), turned.graph().columns(), by_rows(rows, came, &fine)?);
        let extension = Extension { kept, columns, owned, width: 1, ghosts: Vec::new(), more };
        space.extended(turned.graph(), Some(turned.values()), extension)
    };
    Ok((agree(comm, taken())?, fine))
}

/// Rows of ghosts for their owners, unknown by unknown: id of the group, number of entries, then fine ids and values.
fn letters(ghosts: &RowLists, columns: &Columns, first: GlobalOrdinal, width: usize) -> Result<Vec<Message>> {
    let mut letters = Vec::new();
    for Neighbour { rank, receive, .. } in columns.map.neighbours() {
        let mut letter = Vec::new();
        for (group, dof) in receive.clone().flat_map(|group| (0..width).map(move |dof| (group, dof))) {
            let row = (group as usize - columns.map.owned_count()) * width + dof;
            let entries = ghosts.row(row).iter().zip(&ghosts.values[ghosts.row_map[row] as usize..]);
            try_reserve("rows of a restriction", &mut letter, 2 + 2 * entries.len())?;
            letter.extend([columns.id(group), entries.len() as u64]);
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

/// Entries that came, as rows.
fn by_rows(count: usize, came: Vec<Entry>, fine: &Columns) -> Result<RowLists> {
    let mut rows = RowLists::with_capacity(count, came.len())?;
    rows.values = try_with_capacity("values of a restriction", came.len())?;
    let mut came = came.into_iter().peekable();
    for row in 0..count {
        while let Some((_, id, value)) = came.next_if(|entry| entry.0 == row) {
            rows.entries.push(fine.local(id));
            rows.values.push(value);
        }
        rows.end_row();
    }
    Ok(rows)
}
