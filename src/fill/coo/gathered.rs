//! Pairs on several ranks: which go to other ranks, and those of owned rows in local indices.

use super::index::{CooIndex, IGNORED, check_sizes};
use super::slots::{Elements, Slots};
use crate::comm::{GlobalMap, Message};
use crate::error::check_length;
use crate::space::{try_collect, try_push, try_reserve};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};

/// Mark of an ignored id in a message.
pub(super) const NO_ID: GlobalOrdinal = GlobalOrdinal::MAX;

/// The id of an index, or [`NO_ID`].
pub(super) fn id<I: CooIndex>(index: I) -> GlobalOrdinal {
    index.get().unwrap_or(NO_ID)
}

/// Refuses pairs of unequal arrays, and the mark where an id is expected.
pub(super) fn check_pairs<I: CooIndex>(
    operation: &'static str,
    owned: &[GlobalOrdinal],
    pairs: &Elements<'_, I>,
) -> Result<()> {
    check_length(operation, "j", pairs.columns.len(), pairs.rows.len())?;
    check_ids(owned, |at| format!("owned[{at}]"))?;
    check_ids(pairs.rows, |at| format!("i[{at}]"))?;
    check_ids(pairs.columns, |at| format!("j[{at}]"))
}

/// Refuses the mark where an id is expected.
pub(super) fn check_tables<I: CooIndex>(owned: &[GlobalOrdinal], input: &Elements<'_, I>) -> Result<()> {
    let (rows, columns) = (input.rows_per_elem, input.columns_per_elem);
    check_ids(owned, |at| format!("owned[{at}]"))?;
    check_ids(input.rows, |at| format!("rows_of[{}, {}]", at / rows, at % rows))?;
    check_ids(input.columns, |at| format!("columns_of[{}, {}]", at / columns, at % columns))
}

fn check_ids<I: CooIndex>(indices: &[I], place: impl Fn(usize) -> String) -> Result<()> {
    match indices.iter().position(|index| index.get() == Some(NO_ID)) {
        None => Ok(()),
        Some(at) => Err(Error::Invalid(format!(
            "{} is {NO_ID}, which is no global id; expected a smaller one, or a negative number to be ignored",
            place(at)
        ))),
    }
}

/// The id of a slot's row, or [`NO_ID`]. A pair is ignored if its column is.
fn row_id<I: CooIndex>(input: &Elements<'_, I>, slot: usize) -> GlobalOrdinal {
    let is_ignored = input.are_pairs && input.columns[slot].get().is_none();
    if is_ignored { NO_ID } else { id(input.rows[slot]) }
}

fn columns_of<'a, I>(input: &Elements<'a, I>, slot: usize) -> &'a [I] {
    &input.columns[slot / input.rows_per_elem * input.columns_per_elem..][..input.columns_per_elem]
}

/// The ids of all rows.
pub(super) fn rows_used<I: CooIndex>(input: &Elements<'_, I>) -> Result<Vec<GlobalOrdinal>> {
    check_sizes(0, 0, input.count().saturating_mul(input.columns_per_elem))?;
    let mut used = Vec::new();
    try_reserve("ids of rows", &mut used, input.count())?;
    used.extend((0..input.count()).map(|slot| row_id(input, slot)).filter(|&id| id != NO_ID));
    Ok(used)
}

/// Slots with rows of other ranks, by owner, lowest first, and in the order of the input.
pub(super) fn foreign<I: CooIndex>(
    input: &Elements<'_, I>,
    rows: &GlobalMap,
) -> Result<Vec<(usize, Vec<LocalOrdinal>)>> {
    let neighbours = rows.map().neighbours();
    let mut sent: Vec<_> = neighbours.iter().map(|neighbour| (neighbour.rank, Vec::new())).collect();
    for slot in 0..input.count() {
        let row = rows.local(row_id(input, slot)).filter(|&row| row as usize >= rows.map().owned_count());
        if let Some(ghost) = row {
            let at = neighbours.partition_point(|neighbour| neighbour.receive.end <= ghost);
            try_push("slots to send", &mut sent[at].1, slot as LocalOrdinal)?;
        }
    }
    sent.retain(|(_, slots)| !slots.is_empty());
    Ok(sent)
}

/// A message of pairs: for each slot its row and its columns.
pub(super) fn pairs_of<I: CooIndex>(input: &Elements<'_, I>, slots: &[LocalOrdinal]) -> Result<Vec<u64>> {
    let mut pairs = Vec::new();
    try_reserve("pairs to send", &mut pairs, slots.len() * (1 + input.columns_per_elem))?;
    for &slot in slots {
        pairs.push(id(input.rows[slot as usize]));
        pairs.extend(columns_of(input, slot as usize).iter().map(|&column| id(column)));
    }
    Ok(pairs)
}

/// The ids of the columns of owned rows.
pub(super) fn columns_used<I: CooIndex>(
    input: &Elements<'_, I>,
    rows: &GlobalMap,
    came: &[Message],
    width: usize,
) -> Result<Vec<GlobalOrdinal>> {
    let mut used = Vec::new();
    let is_owned = |slot| rows.local(row_id(input, slot)).is_some_and(|row| (row as usize) < rows.map().owned_count());
    for elem in 0..input.count() / input.rows_per_elem {
        let slot = elem * input.rows_per_elem;
        if (slot..slot + input.rows_per_elem).any(is_owned) {
            let columns = columns_of(input, slot);
            try_reserve("ids of columns", &mut used, columns.len())?;
            used.extend(columns.iter().map(|&column| id(column)).filter(|&id| id != NO_ID));
        }
    }
    for (_, pairs) in came {
        try_reserve("ids of columns", &mut used, pairs.len())?;
        used.extend(pairs.chunks_exact(1 + width).flat_map(|pair| &pair[1..]).filter(|&&id| id != NO_ID));
    }
    Ok(used)
}

/// The slots of owned rows in local indices: those of lower ranks, of this rank, of higher ranks.
pub(super) struct Gathered {
    /// Row of each slot.
    rows: Vec<LocalOrdinal>,
    /// Slots before those of this rank.
    first: usize,
    /// Slots of this rank.
    own: usize,
    rows_per_elem: usize,
    width: usize,
    /// `[elem, b]` of this rank.
    own_columns: Vec<LocalOrdinal>,
    /// `[slot, b]` of all others.
    other_columns: Vec<LocalOrdinal>,
    pub ignores: bool,
}

impl Gathered {
    pub(super) fn new<I: CooIndex>(
        input: &Elements<'_, I>,
        row_map: &GlobalMap,
        column_map: &GlobalMap,
        came: &[Message],
        first: usize,
    ) -> Result<Self> {
        let width = input.columns_per_elem;
        let owned = row_map.map().owned_count();
        let local_row = |id| row_map.local(id).filter(|&row| (row as usize) < owned).unwrap_or(IGNORED);
        let local_column = |id| column_map.local(id).unwrap_or(IGNORED);
        let pairs = || came.iter().flat_map(|(_, pairs)| pairs.chunks_exact(1 + width));
        let others = pairs().count();
        let (mut rows, mut other_columns) = (Vec::new(), Vec::new());
        try_reserve("local rows", &mut rows, others + input.count())?;
        rows.extend(pairs().take(first).map(|pair| local_row(pair[0])));
        rows.extend((0..input.count()).map(|slot| local_row(row_id(input, slot))));
        rows.extend(pairs().skip(first).map(|pair| local_row(pair[0])));
        if let Some((pair, _)) =
            pairs().zip(rows[..first].iter().chain(&rows[first + input.count()..])).find(|(_, row)| **row == IGNORED)
        {
            return Err(Error::Mpi(format!("another rank sent row {}, which this rank does not own", pair[0])));
        }
        try_reserve("local columns", &mut other_columns, others * width)?;
        other_columns.extend(pairs().flat_map(|pair| &pair[1..]).map(|&id| local_column(id)));
        let own_columns = try_collect("local columns", input.columns.iter().map(|&column| local_column(id(column))))?;
        // Columns without a local index also belong to elements without a row here.
        let ignores = input.columns.iter().any(|&column| id(column) == NO_ID) || other_columns.contains(&IGNORED);
        let (own, rows_per_elem) = (input.count(), input.rows_per_elem);
        Ok(Gathered { rows, first, own, rows_per_elem, width, own_columns, other_columns, ignores })
    }
}

impl Slots for Gathered {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn width(&self) -> usize {
        self.width
    }

    fn row(&self, slot: usize) -> LocalOrdinal {
        self.rows[slot]
    }

    fn columns(&self, slot: usize, mut visit: impl FnMut(LocalOrdinal)) {
        let own = slot.wrapping_sub(self.first);
        let columns = if own < self.own {
            &self.own_columns[own / self.rows_per_elem * self.width..]
        } else {
            &self.other_columns[if slot < self.first { slot } else { slot - self.own } * self.width..]
        };
        columns[..self.width].iter().for_each(|&column| visit(column));
    }
}
