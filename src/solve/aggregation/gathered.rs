//! The matrix of a coarse level, brought together from the rows of all ranks on each of them.
//!
//! ```text
//! plan      every rank sends the columns of its rows to all, by global id; those of a row are sorted
//! refresh   every rank sends its values to all, through hosts
//! ```

use super::numbering::Columns;
use super::{Aggregate, NearNull};
use crate::comm::{Communicator, Message, agree};
use crate::space::{try_collect, try_push, try_reserve, try_with_capacity, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix, GraphOf, MatrixOf};
use crate::{GlobalOrdinal, LocalOrdinal, Result, RowOffset};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

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

/// This rank's rows of a matrix that every rank has.
#[derive(Debug)]
pub(super) struct Gathered<S: Aggregate> {
    pub own: MatrixOf<S>,
    /// Places of the entries of the whole matrix among the values of all ranks, of each rank `widest`.
    order: Vec<usize>,
    widest: usize,
}

impl<S: Aggregate> Gathered<S> {
    /// Plans the whole matrix of rows whose columns are groups of `width` unknowns; returns it without values. Collective.
    pub fn plan(
        space: &S,
        comm: &dyn Communicator,
        own: MatrixOf<S>,
        (columns, width): (&Columns, usize),
    ) -> Result<(Self, MatrixOf<S>)> {
        let letter = Lent::new(space, own.graph()).and_then(|graph| letter(&graph, own.graph().rows(), columns, width));
        let came = to_all(comm, agree(comm, letter)?)?;
        let mut widest = [own.graph().nnz() as f64];
        comm.all_max(&mut widest);
        let widest = widest[0] as usize;
        let whole = || {
            let (graph, order) = joined(&came, width, widest)?;
            Ok((CrsMatrix::zeros_on(space, Arc::new(graph.upload(space)?))?, order))
        };
        let (whole, order) = agree(comm, whole())?;
        Ok((Gathered { own, order, widest }, whole))
    }

    /// Gives the whole matrix the values of all ranks. Collective.
    pub fn refresh(&self, space: &S, comm: &dyn Communicator, whole: &mut MatrixOf<S>) -> Result<()> {
        let mine = || {
            let mut values = try_zeroed("values of a coarse matrix", self.widest)?;
            space.read(self.own.values(), &mut values[..self.own.graph().nnz()])?;
            Ok(values)
        };
        let all = comm.all_gather(&agree(comm, mine())?)?;
        let values = try_collect("values of a coarse matrix", self.order.iter().map(|&at| all[at]));
        agree(comm, values.and_then(|values| space.overwrite(&values, whole.values_mut())))
    }
}

/// Returns the near-null vectors of all ranks. Collective.
pub(super) fn gathered_vectors<S: Aggregate>(
    space: &S,
    comm: &dyn Communicator,
    own: &NearNull<S::Memory>,
) -> Result<NearNull<S::Memory>> {
    let mine = space.lend(own.values()).and_then(|values| {
        try_collect("near-null vectors", values[..own.rows() * own.count()].iter().map(|value| value.to_bits()))
    });
    let came = to_all(comm, agree(comm, mine)?)?;
    let all = || {
        let mut values = try_with_capacity("near-null vectors", came.iter().map(|(_, values)| values.len()).sum())?;
        came.iter().for_each(|(_, bits)| values.extend(bits.iter().map(|&bits| f64::from_bits(bits))));
        NearNull::new(own.dofs(), own.count(), values)?.taken(space, |values| space.take(values))
    };
    agree(comm, all())
}

/// Sends numbers to all ranks and returns those of all, rank 0 first.
fn to_all(comm: &dyn Communicator, mine: Vec<u64>) -> Result<Vec<Message>> {
    let copy = |rank| Ok((rank, try_collect("messages to all ranks", mine.iter().copied())?));
    let letters = (0..comm.size()).map(copy).collect::<Result<Vec<_>>>();
    comm.send_all(agree(comm, letters)?)
}

/// Rows of this rank: number of groups, then their ids.
fn letter(graph: &Lent<'_>, rows: usize, columns: &Columns, width: usize) -> Result<Vec<u64>> {
    let mut letter = Vec::new();
    for row in 0..rows {
        let groups = graph.row(row).iter().step_by(width);
        try_reserve("columns of rows", &mut letter, 1 + groups.len())?;
        letter.push(groups.len() as u64);
        letter.extend(groups.map(|&column| columns.id(column / width as LocalOrdinal)));
    }
    Ok(letter)
}

/// The graph of the rows of all ranks, and the places of its entries among the values of all, of each rank `widest`.
fn joined(came: &[Message], width: usize, widest: usize) -> Result<(CrsGraph, Vec<usize>)> {
    let (mut row_map, mut entries, mut order) = (vec![0], Vec::new(), Vec::new());
    let mut groups: Vec<(GlobalOrdinal, usize)> = Vec::new();
    for (rank, letter) in came {
        let (mut rest, mut first) = (&letter[..], rank * widest);
        while let [count, others @ ..] = rest {
            let (ids, others) = others.split_at((*count as usize).min(others.len()));
            groups.clear();
            groups.extend(ids.iter().zip((first..).step_by(width)).map(|(&id, at)| (id, at)));
            groups.sort_unstable();
            for (id, at) in
                groups.iter().flat_map(|&(id, at)| (0..width).map(move |dof| (id as usize * width + dof, at + dof)))
            {
                try_push("columns of a coarse matrix", &mut entries, id as LocalOrdinal)?;
                try_push("places of values", &mut order, at)?;
            }
            try_push("rows of a coarse matrix", &mut row_map, entries.len() as u64)?;
            (rest, first) = (others, first + ids.len() * width);
        }
    }
    let rows = row_map.len() - 1;
    Ok((CrsGraph::new(row_map, entries, rows)?, order))
}
