//! [`DistributedCoo`]: a plan whose pairs may lie in rows of any rank.
//!
//! ```text
//! plan         each rank tells the owners of foreign rows which pairs it has for them
//! set_values   each rank sends the values of these pairs, then sums its rows
//! sum_rows     the same for one value per row of an element
//! ```
//! Each entry adds its values in the order of the ranks that have them and, for one rank, in the order of its input. Collective.
//! Cost of the plan besides that of [`Coo`]: each index is looked up in a hash table twice, and 8 bytes per index of a foreign pair
//! travel. Element tables have far fewer indices than pairs. A sum sends 8 bytes per foreign value.

use super::gathered::{Gathered, check_pairs, check_tables, columns_used, foreign, pairs_of, rows_used};
use super::index::{CooIndex, check_sizes};
use super::messages::{CooMessages, Packed, Traffic};
use super::plan::{Coo, ElementIndices, elements};
use super::slots::{Elements, Slots};
use super::sums::Values;
use crate::comm::{Communicator, GlobalMap, Message, agree, same};
use crate::contraction::Sum;
use crate::error::check_length;
use crate::space::{HostSpace, Item};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{GlobalOrdinal, LocalOrdinal, Result};
use std::sync::Arc;

/// A plan for sums into a distributed matrix. Rows are the ids that a rank owns, in their order; columns are these and the ids of
/// other ranks that the rows refer to, as [`columns`](Self::columns) numbers them.
#[derive(Debug)]
pub struct DistributedCoo {
    plan: Coo,
    columns: GlobalMap,
    /// Slots that came from lower ranks.
    first: usize,
    /// Slots of this rank: the caller's, and behind them those whose values are computed.
    own: usize,
    /// Slots of this rank, by the rank that owns their rows.
    sent: Vec<(usize, Vec<LocalOrdinal>)>,
    /// Number of slots by the rank from which they come.
    received: Vec<(usize, usize)>,
}

impl DistributedCoo {
    /// Plans sums of values at the global ids `(i[k], j[k])`. Rows and columns are numbered by the same ids; this rank owns
    /// `owned`; `u64::MAX` is no id and is refused. Pairs with a negative id are ignored. Collective.
    ///
    /// # Errors
    /// As [`Coo::new`] and [`GlobalMap::new`]: on one rank, with [`Error::Elsewhere`](crate::Error::Elsewhere) on all others.
    pub fn new<S: HostSpace, I: CooIndex>(
        space: &S,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        i: &[I],
        j: &[I],
    ) -> Result<Self> {
        let pairs = Elements::pairs(i, j);
        let input = check_pairs("DistributedCoo::new", owned, &pairs).map(|()| (pairs, i.len()));
        Self::of(space, comm, owned, input)
    }

    /// Plans sums of element matrices `[elem, a, b]` as [`Coo::from_elements`], with tables of global ids. All ranks have the same
    /// number of columns per element. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_elements<S: HostSpace, I: CooIndex>(
        space: &S,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        rows_of: ElementIndices<'_, I>,
        columns_of: ElementIndices<'_, I>,
    ) -> Result<Self> {
        let input = elements("DistributedCoo::from_elements", rows_of, columns_of);
        let input = input.and_then(|input| check_tables(owned, &input).map(|()| (input, rows_of.indices.len())));
        Self::of(space, comm, owned, input)
    }

    /// Plans sums of the slots of `input`; the caller passes the values of the first ones, whose number stands beside it.
    pub(super) fn of<S: HostSpace, I: CooIndex>(
        space: &S,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        input: Result<(Elements<'_, I>, usize)>,
    ) -> Result<Self> {
        let (used, (input, slots)) = agree(comm, input.and_then(|input| Ok((rows_used(&input.0)?, input))))?;
        let width = input.columns_per_elem;
        same(comm, &[("columns per element".into(), width.to_string())])?;
        let rows = GlobalMap::new(comm, owned, &used)?;
        drop(used);
        let sent = agree(comm, foreign(&input, &rows))?;
        let messages = agree(comm, sent.iter().map(|(to, slots)| Ok((*to, pairs_of(&input, slots)?))).collect())?;
        let came: Vec<Message> = comm.send_all(messages)?;
        let used = agree(comm, columns_used(&input, &rows, &came, width))?;
        let columns = GlobalMap::new(comm, owned, &used)?;
        drop(used);
        agree(comm, {
            let count = |(from, pairs): &Message| (*from, pairs.len() / (1 + width));
            let received: Vec<(usize, usize)> = came.iter().map(count).collect();
            let lower = received.iter().take_while(|(from, _)| *from < comm.rank());
            let first = lower.map(|(_, count)| count).sum();
            Gathered::new(&input, &rows, &columns, &came, first).and_then(|gathered| {
                let (rows, columns_count) = (owned.len(), columns.map().local_count());
                check_sizes(rows, columns_count, gathered.count().saturating_mul(width))?;
                let plan = Coo::of(space, rows, columns_count, &gathered, slots, gathered.ignores)?;
                Ok(DistributedCoo { plan, columns, first, own: input.count(), sent, received })
            })
        })
    }

    /// Returns the sparsity pattern of the owned rows, with local columns.
    pub fn graph(&self) -> &Arc<CrsGraph> {
        self.plan.graph()
    }

    /// Returns the global ids of the columns, owned ones first, and the map that a [`Halo`](crate::comm::Halo) needs.
    pub fn columns(&self) -> &GlobalMap {
        &self.columns
    }

    /// Returns the number of values of this rank that one sum takes, ignored ones included.
    pub fn value_count(&self) -> usize {
        self.plan.value_count()
    }

    /// Returns the zero matrix on the plan's graph.
    ///
    /// # Errors
    /// As [`Coo::matrix`].
    pub fn matrix<V: Item>(&self) -> Result<CrsMatrix<V>> {
        self.plan.matrix()
    }

    /// Makes the messages of [`set_values`](Self::set_values) for values of type `V`. Collective.
    ///
    /// # Errors
    /// As [`Communicator::exchange`], and [`Error::OutOfMemory`](crate::Error::OutOfMemory): on one rank, with
    /// [`Error::Elsewhere`](crate::Error::Elsewhere) on all others.
    pub fn messages<V: Packed>(&self, comm: &dyn Communicator) -> Result<CooMessages<V>> {
        self.traffic(self.plan.entries().width).messages(comm)
    }

    /// Makes the messages of [`sum_rows`](Self::sum_rows) for values of type `V`. Collective.
    ///
    /// # Errors
    /// As [`messages`](Self::messages).
    pub fn row_messages<V: Packed>(&self, comm: &dyn Communicator) -> Result<CooMessages<V>> {
        self.traffic(1).messages(comm)
    }

    /// What ranks exchange when each slot has `width` values.
    fn traffic(&self, width: usize) -> Traffic<'_> {
        Traffic {
            graph: self.graph().number(),
            slots: self.plan.slots(),
            own: self.own,
            first: self.first,
            sent: &self.sent,
            received: &self.received,
            width,
        }
    }

    /// Sums `values`, one per pair of this rank's plan, into the rows of all ranks. `messages` are those of this plan. Collective.
    ///
    /// # Errors
    /// As [`Coo::set_values`], on this rank alone and before anything is sent, so that other ranks wait: end all ranks then. Failures
    /// of the messages.
    pub fn set_values<S: HostSpace, V: Item + Packed>(
        &self,
        space: &S,
        messages: &mut CooMessages<V>,
        values: &[V],
        sum: Sum,
        matrix: &mut CrsMatrix<V>,
    ) -> Result<()> {
        self.plan.check_matrix("DistributedCoo::set_values", matrix)?;
        self.sum_entries(space, messages, values, sum, matrix.parts_mut().1)
    }

    /// As [`set_values`](Self::set_values) for numbers of any type: `entries` has one item per entry of the graph, in its order.
    ///
    /// # Errors
    /// As [`set_values`](Self::set_values).
    pub fn sum_entries<S: HostSpace, V: Packed>(
        &self,
        space: &S,
        messages: &mut CooMessages<V>,
        values: &[V],
        sum: Sum,
        entries: &mut [V],
    ) -> Result<()> {
        let operation = "DistributedCoo::sum_entries";
        check_length(operation, "values", values.len(), self.value_count())?;
        check_length(operation, "entries", entries.len(), self.graph().nnz())?;
        self.sum_products(operation, space, messages, values, |at| values[at], sum, entries)
    }

    /// As [`sum_entries`](Self::sum_entries), with lengths known to be right. `value` returns the caller's values and those of the
    /// slots behind them.
    pub(super) fn sum_products<S: HostSpace, V: Packed>(
        &self,
        operation: &'static str,
        space: &S,
        messages: &mut CooMessages<V>,
        values: &[V],
        value: impl Fn(usize) -> V,
        sum: Sum,
        entries: &mut [V],
    ) -> Result<()> {
        let plan = self.plan.entries();
        let others = self.traffic(plan.width).exchange(operation, messages, value)?;
        plan.sum(space, Values { own: values, first: self.first, others }, sum, entries);
        Ok(())
    }

    /// Sums element vectors `[elem, a]` of this rank into the rows of all ranks: the right-hand side that belongs to
    /// [`from_elements`](Self::from_elements). With pairs it sums one value per pair into the row of the pair. `rows` has one item per
    /// owned row; `messages` are the [`row_messages`](Self::row_messages) of this plan. Collective.
    ///
    /// # Errors
    /// As [`set_values`](Self::set_values).
    pub fn sum_rows<S: HostSpace, V: Packed>(
        &self,
        space: &S,
        messages: &mut CooMessages<V>,
        values: &[V],
        sum: Sum,
        rows: &mut [V],
    ) -> Result<()> {
        let operation = "DistributedCoo::sum_rows";
        check_length(operation, "values", values.len(), self.plan.slots())?;
        check_length(operation, "rows", rows.len(), self.graph().rows())?;
        let others = self.traffic(1).exchange(operation, messages, |at| values[at])?;
        self.plan.entries().sum_rows(space, Values { own: values, first: self.first, others }, 1, sum, rows);
        Ok(())
    }

    pub(super) fn check_matrix<V: Item>(&self, operation: &'static str, matrix: &CrsMatrix<V>) -> Result<()> {
        self.plan.check_matrix(operation, matrix)
    }
}
