//! [`DistributedCoo`]: a plan whose pairs may lie in rows of any rank.
//!
//! ```text
//! plan         each rank tells the owners of foreign rows which pairs it has for them
//! set_values   each rank sends the values of these pairs, then sums its rows
//! ```
//! Each entry adds its values in the order of the ranks that have them and, for one rank, in the order of its input. Collective.
//! Cost of the plan besides that of [`Coo`]: each index is looked up in a hash table twice, and 8 bytes per index of a foreign pair
//! travel. Element tables have far fewer indices than pairs. A sum sends 8 bytes per foreign value.

use super::gathered::{Gathered, columns_used, foreign, pairs_of, rows_used};
use super::index::{CooIndex, check_sizes};
use super::plan::{Coo, ElementIndices, elements};
use super::slots::{Elements, Slots};
use super::sums::{Summand, Values};
use crate::comm::{Communicator, Exchange, GlobalMap, Map, Message, Neighbour, agree, same};
use crate::contraction::Sum;
use crate::error::check_length;
use crate::space::{HostSpace, Item, try_collect, try_reserve};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A number that travels between ranks as one or more `f64`.
pub trait Packed: Summand {
    /// Number of `f64` in a message.
    const WORDS: usize;

    /// Writes the number to `words`, which has [`WORDS`](Self::WORDS) items.
    fn pack(self, words: &mut [f64]);

    /// Reads what [`pack`](Self::pack) wrote.
    fn unpack(words: &[f64]) -> Self;
}

macro_rules! packed {
    ($($number:ty),*) => {$(
        impl Packed for $number {
            const WORDS: usize = 1;
            fn pack(self, words: &mut [f64]) {
                words[0] = self.into();
            }
            fn unpack(words: &[f64]) -> Self {
                words[0] as $number
            }
        }
    )*};
}
packed!(f32, f64);

/// A plan for sums into a distributed matrix. Rows are the ids that a rank owns, in their order; columns are these and the ids of
/// other ranks that the rows refer to, as [`columns`](Self::columns) numbers them.
#[derive(Debug)]
pub struct DistributedCoo {
    plan: Coo,
    columns: GlobalMap,
    /// Slots that came from lower ranks.
    first: usize,
    /// Slots of this rank, by the rank that owns their rows.
    sent: Vec<(usize, Vec<LocalOrdinal>)>,
    /// Number of slots by the rank from which they come.
    received: Vec<(usize, usize)>,
}

/// Messages of the values of type `V` that a [`DistributedCoo`] sends and receives; made once, used any number of times.
#[derive(Debug)]
pub struct CooMessages<V> {
    exchange: Box<dyn Exchange>,
    received: Vec<V>,
    /// Number of the graph of the plan.
    graph: u64,
}

impl DistributedCoo {
    /// Plans sums of values at the global ids `(i[k], j[k])`. Rows and columns are numbered by the same ids, of which this rank owns
    /// `owned`; `u64::MAX` is no id. Pairs with a negative id are ignored. Collective.
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
        let pairs = Elements { rows: i, rows_per_elem: 1, columns: j, columns_per_elem: 1 };
        Self::of(space, comm, owned, check_length("DistributedCoo::new", "j", j.len(), i.len()).map(|()| pairs))
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
        Self::of(space, comm, owned, elements("DistributedCoo::from_elements", rows_of, columns_of))
    }

    fn of<S: HostSpace, I: CooIndex>(
        space: &S,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        input: Result<Elements<'_, I>>,
    ) -> Result<Self> {
        let (used, input) = agree(comm, input.and_then(|input| Ok((rows_used(&input)?, input))))?;
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
            let slots = |(from, pairs): &Message| (*from, pairs.len() / (1 + width));
            let received: Vec<(usize, usize)> = came.iter().map(slots).collect();
            let lower = received.iter().take_while(|(from, _)| *from < comm.rank());
            let first = lower.map(|(_, count)| count).sum();
            Gathered::new(&input, &rows, &columns, &came, first).and_then(|gathered| {
                let (rows, columns_count) = (owned.len(), columns.map().local_count());
                check_sizes(rows, columns_count, gathered.count().saturating_mul(width))?;
                let plan = Coo::of(space, rows, columns_count, &gathered, input.count(), gathered.ignores)?;
                Ok(DistributedCoo { plan, columns, first, sent, received })
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

    /// Makes the messages for values of type `V`. Collective.
    ///
    /// # Errors
    /// As [`Communicator::exchange`], and [`Error::OutOfMemory`](crate::Error::OutOfMemory): on one rank, with
    /// [`Error::Elsewhere`](crate::Error::Elsewhere) on all others.
    pub fn messages<V: Packed>(&self, comm: &dyn Communicator) -> Result<CooMessages<V>> {
        let made = self.message_map(V::WORDS).and_then(|map| {
            let count = map.ghost_count() / V::WORDS;
            Ok((map, try_collect("received values", (0..count).map(|_| V::zero()))?))
        });
        let (map, received) = agree(comm, made)?;
        Ok(CooMessages { exchange: agree(comm, comm.exchange(&map))?, received, graph: self.graph().number() })
    }

    /// The values of this rank's slots as owned indices, those that it receives as ghosts, in `words` items each.
    fn message_map(&self, words: usize) -> Result<Map> {
        let width = self.plan.entries().width * words;
        let mut ranks: BTreeMap<usize, (&[LocalOrdinal], usize)> = BTreeMap::new();
        self.sent.iter().for_each(|(to, slots)| ranks.entry(*to).or_default().0 = slots);
        self.received.iter().for_each(|&(from, count)| ranks.entry(from).or_default().1 = count);
        let owned = self.value_count() * words;
        let (mut end, mut neighbours) = (owned, Vec::with_capacity(ranks.len()));
        for (rank, (slots, count)) in ranks {
            let mut send = Vec::new();
            try_reserve("values to send", &mut send, slots.len() * width)?;
            send.extend(slots.iter().flat_map(|&slot| slot * width as u32..(slot + 1) * width as u32));
            check_sizes(0, 0, end + count * width)?;
            let receive = end as LocalOrdinal..(end + count * width) as LocalOrdinal;
            end += count * width;
            neighbours.push(Neighbour { rank, send, receive });
        }
        Map::new(GlobalOrdinal::MAX, owned, neighbours)
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
        let plan = self.plan.entries();
        check_length("DistributedCoo::sum_entries", "values", values.len(), self.value_count())?;
        check_length("DistributedCoo::sum_entries", "entries", entries.len(), self.graph().nnz())?;
        if messages.graph != self.graph().number() {
            let expected = "expected those that this plan's `messages` made";
            return Err(Error::Invalid(format!("DistributedCoo::sum_entries: messages of another plan: {expected}")));
        }
        messages.exchange.begin(&mut |message| {
            let slots = self.sent.iter().flat_map(|(_, slots)| slots);
            let sent = slots.flat_map(|&slot| &values[slot as usize * plan.width..][..plan.width]);
            message.chunks_exact_mut(V::WORDS).zip(sent).for_each(|(words, value)| value.pack(words));
            Ok(())
        })?;
        let came = messages.exchange.end()?.chunks_exact(V::WORDS);
        messages.received.iter_mut().zip(came).for_each(|(value, words)| *value = V::unpack(words));
        plan.sum(space, Values { own: values, first: self.first, others: &messages.received }, sum, entries);
        Ok(())
    }
}
