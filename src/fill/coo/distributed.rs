//! [`DistributedCoo`]: a plan whose pairs may lie in rows of any rank.
//!
//! ```text
//! plan         each rank tells the owners of foreign rows which pairs it has for them
//! set_values   each rank sends the values of these pairs, then sums its rows
//! sum_rows     the same for one value per row of an element
//! ```
//! Each entry adds its values in the order of the ranks that have them and, for one rank, in the order of its input. Collective.
//! Cost of the plan besides that of [`Coo`]: each index is looked up in a hash table twice, 4 bytes per value meanwhile, and 8 bytes
//! per index of a foreign pair travel. Element tables have far fewer indices than pairs. A sum sends 8 bytes per foreign value.

use super::gathered::{Gathered, Ids, check_ids};
use super::indices::{ElementIndices, check_sizes, slots};
use super::plan::Coo;
use super::sums::Values;
use crate::comm::{Communicator, Exchange, GlobalMap, Map, Message, Neighbour, agree, same};
use crate::contraction::Sum;
use crate::error::check_length;
use crate::graph::CooIndex;
use crate::graph::Slots;
use crate::space::{Threads, try_with_capacity};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{GlobalOrdinal, LocalOrdinal, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A plan for sums into a distributed matrix. Rows are the ids that a rank owns, in their order; columns are these and the ids of
/// other ranks that the rows refer to, as [`columns`](Self::columns) numbers them.
#[derive(Debug)]
pub struct DistributedCoo {
    plan: Coo,
    columns: GlobalMap,
    /// Slots that came from lower ranks.
    first: usize,
    /// Slots of this rank.
    own: usize,
    /// Slots of this rank, by the rank that owns their rows.
    sent: Vec<(usize, Vec<LocalOrdinal>)>,
    /// Messages of `width` values per slot, and of one.
    values: Box<dyn Exchange>,
    rows: Box<dyn Exchange>,
}

impl DistributedCoo {
    /// Plans sums of values at the global ids `(i[k], j[k])`. Rows and columns are numbered by the same ids; this rank owns
    /// `owned`; `u64::MAX` is no id and is refused. Pairs with a negative id are ignored. Collective.
    ///
    /// # Errors
    /// As [`Coo::new`] and [`GlobalMap::new`]: on one rank, with [`Error::Elsewhere`](crate::Error::Elsewhere) on all others.
    pub fn new<I: CooIndex>(
        space: &Threads,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        i: &[I],
        j: &[I],
    ) -> Result<Self> {
        let input = check_length("DistributedCoo::new", "j", j.len(), i.len()).and_then(|()| {
            check_ids(owned, |at| format!("owned[{at}]"))?;
            check_ids(i, |at| format!("i[{at}]"))?;
            check_ids(j, |at| format!("j[{at}]"))?;
            Ok(Slots { skips: true, ..Slots::runs(i, j, 1) })
        });
        Self::of(space, comm, owned, input)
    }

    /// Plans sums of element matrices `[elem, a, b]` as [`Coo::from_elements`], with tables of global ids. All ranks have the same
    /// number of columns per element. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_elements<I: CooIndex>(
        space: &Threads,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        rows_of: ElementIndices<'_, I>,
        columns_of: ElementIndices<'_, I>,
    ) -> Result<Self> {
        let input = slots("DistributedCoo::from_elements", rows_of, columns_of).and_then(|input| {
            let (rows, columns) = (rows_of.per_elem, columns_of.per_elem);
            check_ids(owned, |at| format!("owned[{at}]"))?;
            check_ids(input.rows, |at| format!("rows_of[{}, {}]", at / rows, at % rows))?;
            check_ids(input.columns, |at| format!("columns_of[{}, {}]", at / columns, at % columns))?;
            Ok(input)
        });
        Self::of(space, comm, owned, input)
    }

    fn of<I: CooIndex>(
        space: &Threads,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        input: Result<Ids<'_, I>>,
    ) -> Result<Self> {
        let (used, input) = agree(comm, input.and_then(|input| Ok((input.rows_used()?, input))))?;
        let width = input.width();
        same(comm, &[("columns per element".into(), width.to_string())])?;
        let row_map = GlobalMap::new(comm, owned, &used)?;
        drop(used);
        let sent = agree(comm, input.foreign(&row_map))?;
        let messages = agree(comm, sent.iter().map(|(to, slots)| Ok((*to, input.message(slots)?))).collect())?;
        let came: Vec<Message> = comm.send_all(messages)?;
        let gathered = Gathered::new(comm.rank(), input, &row_map, &came);
        let (used, gathered) = agree(comm, gathered.and_then(|gathered| Ok((gathered.columns_used()?, gathered))))?;
        let columns = GlobalMap::new(comm, owned, &used)?;
        drop(used);
        let (plan, maps) = agree(comm, {
            gathered.columns(&columns).and_then(|(local, ignores)| {
                let (rows, count) = (owned.len(), columns.map().local_count());
                check_sizes(rows, count, 0)?;
                let plan = Coo::of(space, rows, count, &Slots::runs(&gathered.rows, &local, width), ignores)?;
                let received = || came.iter().map(|(from, pairs)| (*from, pairs.len() / (1 + width)));
                let map = |width| map_of(input.count(), &sent, received(), width);
                Ok((plan, [map(width)?, map(1)?]))
            })
        })?;
        let [values, rows] = [agree(comm, comm.exchange(&maps[0]))?, agree(comm, comm.exchange(&maps[1]))?];
        Ok(DistributedCoo { plan, columns, first: gathered.first, own: input.count(), sent, values, rows })
    }

    /// Returns the sparsity pattern of the owned rows, with local columns.
    pub fn graph(&self) -> &Arc<CrsGraph> {
        self.plan.graph()
    }

    /// Returns the global ids of the columns, owned first, and the map for a [`Halo`](crate::comm::Halo).
    pub fn columns(&self) -> &GlobalMap {
        &self.columns
    }

    /// Returns the zero matrix on the plan's graph.
    ///
    /// # Errors
    /// As [`Coo::matrix`].
    pub fn matrix(&self) -> Result<CrsMatrix> {
        self.plan.matrix()
    }

    /// Sums `values`, one per pair of this rank's plan, into the rows of all ranks. Collective.
    ///
    /// # Errors
    /// As [`Coo::set_values`], on this rank alone and before anything is sent, so that other ranks wait: end all ranks then. Failures
    /// of the messages.
    pub fn set_values(&mut self, space: &Threads, values: &[f64], sum: Sum, matrix: &mut CrsMatrix) -> Result<()> {
        const NAME: &str = "DistributedCoo::set_values";
        let width = self.plan.width;
        check_length(NAME, "values", values.len(), self.own * width)?;
        self.plan.check_matrix(NAME, matrix)?;
        let others = exchanged(&mut *self.values, &self.sent, values, width)?;
        self.plan.add_values(space, Values { own: values, first: self.first, others }, sum, matrix.parts_mut().1);
        Ok(())
    }

    /// Sums element vectors `[elem, a]` of this rank into the rows of all ranks: the right-hand side that belongs to
    /// [`from_elements`](Self::from_elements). With pairs it sums one value per pair into the row of the pair. `rows` has one item per
    /// owned row. Collective.
    ///
    /// # Errors
    /// As [`set_values`](Self::set_values).
    pub fn sum_rows(&mut self, space: &Threads, values: &[f64], sum: Sum, rows: &mut [f64]) -> Result<()> {
        const NAME: &str = "DistributedCoo::sum_rows";
        check_length(NAME, "values", values.len(), self.own)?;
        check_length(NAME, "rows", rows.len(), self.graph().rows())?;
        let others = exchanged(&mut *self.rows, &self.sent, values, 1)?;
        self.plan.add_rows(space, Values { own: values, first: self.first, others }, 1, sum, rows);
        Ok(())
    }
}

/// The map of messages of `width` values per slot: those of this rank's `own` slots are owned, those that it receives are ghosts.
fn map_of(
    own: usize,
    sent: &[(usize, Vec<LocalOrdinal>)],
    received: impl Iterator<Item = (usize, usize)>,
    width: usize,
) -> Result<Map> {
    let mut ranks: BTreeMap<usize, (&[LocalOrdinal], usize)> = BTreeMap::new();
    sent.iter().for_each(|(to, slots)| ranks.entry(*to).or_default().0 = slots);
    received.for_each(|(from, count)| ranks.entry(from).or_default().1 = count);
    check_sizes(0, 0, (own + ranks.values().map(|(_, count)| count).sum::<usize>()).saturating_mul(width))?;
    let (mut end, mut neighbours) = (own * width, Vec::with_capacity(ranks.len()));
    for (rank, (slots, count)) in ranks {
        let mut send = try_with_capacity("values to send", slots.len() * width)?;
        send.extend(slots.iter().flat_map(|&slot| slot * width as u32..(slot + 1) * width as u32));
        let receive = end as LocalOrdinal..(end + count * width) as LocalOrdinal;
        end += count * width;
        neighbours.push(Neighbour { rank, send, receive });
    }
    Map::new(GlobalOrdinal::MAX, own * width, neighbours)
}

/// Sends the values of the slots `sent`, `width` each, and returns those that came, lowest rank first.
fn exchanged<'a>(
    exchange: &'a mut dyn Exchange,
    sent: &[(usize, Vec<LocalOrdinal>)],
    values: &[f64],
    width: usize,
) -> Result<&'a [f64]> {
    exchange.begin(&mut |message| {
        let slots = sent.iter().flat_map(|(_, slots)| slots);
        for (message, &slot) in message.chunks_exact_mut(width).zip(slots) {
            message.copy_from_slice(&values[slot as usize * width..][..width]);
        }
        Ok(())
    })?;
    exchange.end()
}
