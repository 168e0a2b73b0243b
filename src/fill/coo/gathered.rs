//! Pairs on several ranks: which go to other ranks, and those of owned rows in local indices.

use super::indices::check_sizes;
use crate::comm::{GlobalMap, Message};
use crate::graph::{CooIndex, IGNORED, Slots};
use crate::space::{try_push, try_reserve, try_with_capacity};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};

/// An ignored id in a message.
const NO_ID: GlobalOrdinal = GlobalOrdinal::MAX;

/// The id of an index, or [`NO_ID`].
fn id<I: CooIndex>(index: I) -> GlobalOrdinal {
    index.get().unwrap_or(NO_ID)
}

/// Refuses [`NO_ID`] where an id is expected; `place` names an index.
pub(super) fn check_ids<I: CooIndex>(indices: &[I], place: impl Fn(usize) -> String) -> Result<()> {
    match indices.iter().position(|index| index.get() == Some(NO_ID)) {
        None => Ok(()),
        Some(at) => Err(Error::Invalid(format!(
            "{} is {NO_ID}, which is no global id; expected a smaller one, or a negative number to be ignored",
            place(at)
        ))),
    }
}

/// Slots of one rank with global ids.
pub(super) type Ids<'a, I> = Slots<'a, I, I>;

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
    pub(super) fn rows_used(&self) -> Result<Vec<GlobalOrdinal>> {
        check_sizes(0, 0, self.count().saturating_mul(self.width()))?;
        let mut used = try_with_capacity("ids of rows", self.count())?;
        used.extend((0..self.count()).map(|slot| self.row_id(slot)).filter(|&id| id != NO_ID));
        Ok(used)
    }

    /// Returns the slots of other ranks' rows, by owner, in the order of the input.
    pub(super) fn foreign(&self, rows: &GlobalMap) -> Result<Vec<(usize, Vec<LocalOrdinal>)>> {
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
    pub(super) fn message(&self, slots: &[LocalOrdinal]) -> Result<Vec<u64>> {
        let mut pairs = try_with_capacity("pairs to send", slots.len() * (1 + self.width()))?;
        for &slot in slots {
            pairs.push(id(self.rows[slot as usize]));
            pairs.extend(self.column_ids(slot as usize));
        }
        Ok(pairs)
    }
}

/// The slots in messages of `width` columns: row and columns.
fn slots(messages: &[Message], width: usize) -> impl Iterator<Item = &[u64]> {
    messages.iter().flat_map(move |(_, slots)| slots.chunks_exact(1 + width))
}

/// The slots of owned rows: those of lower ranks, of this rank, of higher ranks.
pub(super) struct Gathered<'a, I> {
    input: Ids<'a, I>,
    /// Messages of lower ranks, and of higher ones.
    came: [&'a [Message]; 2],
    /// Number of slots of lower ranks.
    pub first: usize,
    /// Local row of each slot, or [`IGNORED`].
    pub rows: Vec<LocalOrdinal>,
}

impl<'a, I: CooIndex> Gathered<'a, I> {
    pub(super) fn new(rank: usize, input: Ids<'a, I>, map: &GlobalMap, came: &'a [Message]) -> Result<Self> {
        let (owned, width) = (map.map().owned_count(), input.width());
        let local = |id| map.local(id).filter(|&row| (row as usize) < owned);
        let (lower, higher) = came.split_at(came.partition_point(|(from, _)| *from < rank));
        let first = slots(lower, width).count();
        let count = first + input.count() + slots(higher, width).count();
        check_sizes(0, 0, count.saturating_mul(width))?;
        let foreign = |id| Error::Mpi(format!("another rank sent row {id}, which this rank does not own"));
        let received = |slot: &[u64]| local(slot[0]).ok_or_else(|| foreign(slot[0]));
        let mut rows = try_with_capacity("local rows", count)?;
        for slot in slots(lower, width) {
            rows.push(received(slot)?);
        }
        rows.extend((0..input.count()).map(|slot| local(input.row_id(slot)).unwrap_or(IGNORED)));
        for slot in slots(higher, width) {
            rows.push(received(slot)?);
        }
        Ok(Gathered { input, came: [lower, higher], first, rows })
    }

    /// The first slot of each element of this rank.
    fn elements(&self) -> impl Iterator<Item = usize> {
        (0..self.input.count()).step_by(self.input.rows_per_elem)
    }

    /// The ids of the columns of owned rows.
    pub(super) fn columns_used(&self) -> Result<Vec<GlobalOrdinal>> {
        let mut used = Vec::new();
        for slot in self.elements() {
            let rows = &self.rows[self.first + slot..][..self.input.rows_per_elem];
            if rows.iter().any(|&row| row != IGNORED) {
                try_reserve("ids of columns", &mut used, self.input.width())?;
                used.extend(self.input.column_ids(slot).filter(|&id| id != NO_ID));
            }
        }
        for slot in self.came.into_iter().flat_map(|messages| slots(messages, self.input.width())) {
            try_reserve("ids of columns", &mut used, slot.len())?;
            used.extend(slot[1..].iter().filter(|&&id| id != NO_ID));
        }
        Ok(used)
    }

    /// Local columns, `[slot, b]`, and whether some of owned rows are ignored.
    pub(super) fn columns(&self, map: &GlobalMap) -> Result<(Vec<LocalOrdinal>, bool)> {
        let width = self.input.width();
        let mut columns = try_with_capacity("local columns", self.rows.len() * width)?;
        let local = |id: GlobalOrdinal| map.local(id).unwrap_or(IGNORED);
        columns.extend(slots(self.came[0], width).flat_map(|slot| &slot[1..]).map(|&id| local(id)));
        for slot in self.elements() {
            let start = columns.len();
            columns.extend(self.input.column_ids(slot).map(local));
            (1..self.input.rows_per_elem).for_each(|_| columns.extend_from_within(start..start + width));
        }
        columns.extend(slots(self.came[1], width).flat_map(|slot| &slot[1..]).map(|&id| local(id)));
        let mut both = self.rows.iter().zip(columns.chunks_exact(width));
        let ignores = both.any(|(&row, columns)| row != IGNORED && columns.contains(&IGNORED));
        Ok((columns, ignores))
    }
}
