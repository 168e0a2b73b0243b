//! The matrix of a coarse level, brought together from the rows of all ranks on each of them.
//!
//! ```text
//! plan      every rank sends the columns of its rows to all, by global id; those of a row are sorted
//! refresh   every rank sends its values to all, through hosts
//! ```

use super::{Aggregate, NearNull};
use crate::comm::{Communicator, Message, agree};
use crate::solve::numbering::{Columns, to_all};
use crate::space::{try_collect, try_push, try_reserve, try_with_capacity, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix, MatrixOf};
use crate::{GlobalOrdinal, LocalOrdinal, Result};
use std::sync::Arc;

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
        let letter = || {
            let list = try_collect("rows", 0..own.graph().rows() as LocalOrdinal)?;
            let (mut letter, (_, rows)) = (Vec::new(), space.picked(own.graph(), &list)?);
            for row in 0..rows.rows() {
                let groups = rows.row(row).iter().step_by(width);
                try_reserve("columns of rows", &mut letter, 1 + groups.len())?;
                letter.push(groups.len() as u64);
                letter.extend(groups.map(|&column| columns.id(column / width as LocalOrdinal)));
            }
            Ok(letter)
        };
        let came = to_all(comm, agree(comm, letter())?)?;
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
    let mine = space.download(&own.values).and_then(|values| {
        try_collect("near-null vectors", values[..own.rows * own.count].iter().map(|value| value.to_bits()))
    });
    let came = to_all(comm, agree(comm, mine)?)?;
    let all = || {
        let mut values = try_with_capacity("near-null vectors", came.iter().map(|(_, values)| values.len()).sum())?;
        came.iter().for_each(|(_, bits)| values.extend(bits.iter().map(|&bits| f64::from_bits(bits))));
        NearNull::new(own.dofs, own.count, values)?.taken(space)
    };
    agree(comm, all())
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
