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

use super::indices::{ElementIndices, check_sizes, slots};
use super::plan::Coo;
use super::sums::Values;
use crate::comm::{Communicator, Exchange, GlobalMap, Map, Message, Neighbour, agree, same};
use crate::contraction::Sum;
use crate::error::check_length;
use crate::graph::{CooIndex, IGNORED, Slots};
use crate::space::{Threads, try_push, try_reserve, try_with_capacity};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};
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

/// An ignored id in a message.
const NO_ID: GlobalOrdinal = GlobalOrdinal::MAX;

/// The id of an index, or [`NO_ID`].
fn id<I: CooIndex>(index: I) -> GlobalOrdinal {
    index.get().unwrap_or(NO_ID)
}

/// Refuses [`NO_ID`] where an id is expected; `place` names an index.
fn check_ids<I: CooIndex>(indices: &[I], place: impl Fn(usize) -> String) -> Result<()> {
    match indices.iter().position(|index| index.get() == Some(NO_ID)) {
        None => Ok(()),
        Some(at) => Err(Error::Invalid(format!(
            "{} is {NO_ID}, which is no global id; expected a smaller one, or a negative number to be ignored",
            place(at)
        ))),
    }
}

/// Slots of one rank with global ids.
type Ids<'a, I> = Slots<'a, I, I>;

impl<I: CooIndex> Ids<'_, I> {
    /// The id of a slot's row, or [`NO_ID`].
    fn row_id(&self, slot: usize) -> GlobalOrdinal {
        let is_ignored = self.skips && self.columns[slot].get().is_none();
        if is_ignored { NO_ID } else { id(self.rows[slot]) }
    }

    fn column_ids(&self, slot: usize) -> impl Iterator<Item = GlobalOrdinal> {
        self.columns_of(slot).iter().map(|&column| id(column))
    }

    /// The ids of all rows.
    fn rows_used(&self) -> Result<Vec<GlobalOrdinal>> {
        check_sizes(0, 0, self.count().saturating_mul(self.width()))?;
        let mut used = try_with_capacity("ids of rows", self.count())?;
        used.extend((0..self.count()).map(|slot| self.row_id(slot)).filter(|&id| id != NO_ID));
        Ok(used)
    }

    /// Returns the slots of other ranks' rows, by owner, in the order of the input.
    fn foreign(&self, rows: &GlobalMap) -> Result<Vec<(usize, Vec<LocalOrdinal>)>> {
        let neighbours = rows.map().neighbours();
        let mut sent: Vec<_> = neighbours.iter().map(|neighbour| (neighbour.rank, Vec::new())).collect();
        for slot in 0..self.count() {
            let row = rows.local(self.row_id(slot)).filter(|&row| row as usize >= rows.map().owned_count());
            if let Some(ghost) = row {
                let at = neighbours.partition_point(|neighbour| neighbour.receive.end <= ghost);
                try_push("slots to send", &mut sent[at].1, slot as LocalOrdinal)?;
            }
        }
        sent.retain(|(_, slots)| !slots.is_empty());
        Ok(sent)
    }

    /// A message of pairs: for each slot its row and its columns.
    fn message(&self, slots: &[LocalOrdinal]) -> Result<Vec<u64>> {
        let mut pairs = try_with_capacity("pairs to send", slots.len() * (1 + self.width()))?;
        for &slot in slots {
            pairs.push(id(self.rows[slot as usize]));
            pairs.extend(self.column_ids(slot as usize));
        }
        Ok(pairs)
    }
}

/// The slots in messages of `width` columns: row and columns.
fn slots_of(messages: &[Message], width: usize) -> impl Iterator<Item = &[u64]> {
    messages.iter().flat_map(move |(_, slots)| slots.chunks_exact(1 + width))
}

/// The slots of owned rows: those of lower ranks, of this rank, of higher ranks.
struct Gathered<'a, I> {
    input: Ids<'a, I>,
    /// Messages of lower ranks, and of higher ones.
    came: [&'a [Message]; 2],
    /// Number of slots of lower ranks.
    first: usize,
    /// Local row of each slot, or [`IGNORED`].
    rows: Vec<LocalOrdinal>,
}

impl<'a, I: CooIndex> Gathered<'a, I> {
    fn new(rank: usize, input: Ids<'a, I>, map: &GlobalMap, came: &'a [Message]) -> Result<Self> {
        let (owned, width) = (map.map().owned_count(), input.width());
        let local = |id| map.local(id).filter(|&row| (row as usize) < owned);
        let (lower, higher) = came.split_at(came.partition_point(|(from, _)| *from < rank));
        let first = slots_of(lower, width).count();
        let count = first + input.count() + slots_of(higher, width).count();
        check_sizes(0, 0, count.saturating_mul(width))?;
        let foreign = |id| Error::Mpi(format!("another rank sent row {id}, which this rank does not own"));
        let received = |slot: &[u64]| local(slot[0]).ok_or_else(|| foreign(slot[0]));
        let mut rows = try_with_capacity("local rows", count)?;
        for slot in slots_of(lower, width) {
            rows.push(received(slot)?);
        }
        rows.extend((0..input.count()).map(|slot| local(input.row_id(slot)).unwrap_or(IGNORED)));
        for slot in slots_of(higher, width) {
            rows.push(received(slot)?);
        }
        Ok(Gathered { input, came: [lower, higher], first, rows })
    }

    /// The first slot of each element of this rank.
    fn elements(&self) -> impl Iterator<Item = usize> {
        (0..self.input.count()).step_by(self.input.rows_per_elem)
    }

    /// The ids of the columns of owned rows.
    fn columns_used(&self) -> Result<Vec<GlobalOrdinal>> {
        let mut used = Vec::new();
        for slot in self.elements() {
            let rows = &self.rows[self.first + slot..][..self.input.rows_per_elem];
            if rows.iter().any(|&row| row != IGNORED) {
                try_reserve("ids of columns", &mut used, self.input.width())?;
                used.extend(self.input.column_ids(slot).filter(|&id| id != NO_ID));
            }
        }
        for slot in self.came.into_iter().flat_map(|messages| slots_of(messages, self.input.width())) {
            try_reserve("ids of columns", &mut used, slot.len())?;
            used.extend(slot[1..].iter().filter(|&&id| id != NO_ID));
        }
        Ok(used)
    }

    /// Local columns, `[slot, b]`, and whether some of owned rows are ignored.
    fn columns(&self, map: &GlobalMap) -> Result<(Vec<LocalOrdinal>, bool)> {
        let width = self.input.width();
        let mut columns = try_with_capacity("local columns", self.rows.len() * width)?;
        let local = |id: GlobalOrdinal| map.local(id).unwrap_or(IGNORED);
        columns.extend(slots_of(self.came[0], width).flat_map(|slot| &slot[1..]).map(|&id| local(id)));
        for slot in self.elements() {
            let start = columns.len();
            columns.extend(self.input.column_ids(slot).map(local));
            (1..self.input.rows_per_elem).for_each(|_| columns.extend_from_within(start..start + width));
        }
        columns.extend(slots_of(self.came[1], width).flat_map(|slot| &slot[1..]).map(|&id| local(id)));
        let mut both = self.rows.iter().zip(columns.chunks_exact(width));
        let ignores = both.any(|(&row, columns)| row != IGNORED && columns.contains(&IGNORED));
        Ok((columns, ignores))
    }
}
