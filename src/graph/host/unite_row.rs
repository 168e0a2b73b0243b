//! Makes the sorted, unique columns of one row and each value's position.
//!
//! A small hash table numbers the columns of a row in the order in which they come; then they are sorted, and the numbers become
//! positions. Rows with many values are sorted instead, so that no numbering is slow.

use crate::graph::elem_graph::Position;
use crate::graph::slots::{CooIndex, IGNORED, Slots};
use crate::space::{try_push, try_reserve};
use crate::{LocalOrdinal, Result};

/// Most values of a row that are hashed. Its table has twice as many places: 32 KiB, which the L1 cache holds.
const HASHED: usize = 2048;
/// Prefetch distance in values, about one memory latency.
const AHEAD: usize = 128;
/// Largest number of columns per row that is sorted by counting smaller ones, without branches.
const COUNTED: usize = 32;

/// Working memory for one row at a time.
#[derive(Default)]
pub(crate) struct RowUnion {
    /// Column (upper half) and its number (lower half), or [`FREE`].
    table: Vec<u64>,
    /// Places of the table that are taken.
    taken: Vec<u32>,
    /// The first `count` are the row's columns, in the end sorted.
    columns: Vec<LocalOrdinal>,
    count: usize,
    /// Position of each number.
    ranks: Vec<u32>,
    keys: Vec<u64>,
}

/// A place of the table without a column: no column is `u32::MAX`, and no number is larger than its lower half.
const FREE: u64 = u64::MAX;

impl RowUnion {
    /// Finds the columns of a row, sorted, and writes the position of each value. The row has the first `count` of `slots`; the
    /// next ones belong to later rows.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    #[inline(always)]
    pub(crate) fn unite<P: Position>(
        &mut self,
        input: &Slots<'_, impl CooIndex, impl CooIndex>,
        slots: &[u32],
        count: usize,
        columns: usize,
        out: &mut [P],
    ) -> Result<()> {
        let values = out.len();
        if values > HASHED {
            return self.sort(input, &slots[..count], out);
        }
        // One prefetch per 4 values: neighbours in a list are often neighbours in the input, and one line holds their columns.
        let (later, every) = (AHEAD.div_ceil(input.width()), (4 / input.width()).max(1));
        // At most half of the table is taken.
        let places = (2 * values.min(columns)).next_power_of_two().max(2);
        self.grow(places)?;
        let (shift, table) = (32 - places.ilog2(), &mut self.table[..places]);
        let (taken, known) = (&mut self.taken[..places], &mut self.columns[..places]);
        let (mut found, mut is_some_ignored) = (0, false);
        let mut place = out.iter_mut();
        for (at, &slot) in slots[..count].iter().enumerate() {
            if at & (every - 1) == 0
                && let Some(&slot) = slots.get(at + later)
            {
                input.prefetch(slot as usize);
            }
            input.columns(slot as usize, |column| {
                let place = place.next().expect("a position per value");
                if column == IGNORED {
                    (*place, is_some_ignored) = (P::NONE, true);
                    return;
                }
                // Multiplicative hashing (Knuth, volume 3, section 6.4) with linear probing.
                let mut at = (column.wrapping_mul(0x9e37_79b1) >> shift) as usize;
                while table[at] != FREE && (table[at] >> 32) as u32 != column {
                    at = (at + 1) & (places - 1);
                }
                // A known and a new column take the same path, since a branch would often be predicted wrongly. A free place has
                // the largest number, so a new column gets the next one.
                let number = (table[at] as u32).min(found as u32);
                table[at] = u64::from(column) << 32 | u64::from(number);
                (taken[found], known[found]) = (at as u32, column);
                found += usize::from(number as usize == found);
                *place = P::new(number as usize);
            });
        }
        taken[..found].iter().for_each(|&at| table[at as usize] = FREE);
        self.count = found;
        self.rank();
        let ranks = &self.ranks[..found];
        let ranked = |place: &mut P| *place = P::new(ranks[place.get()] as usize);
        if is_some_ignored {
            out.iter_mut().filter(|place| **place != P::NONE).for_each(ranked);
        } else {
            out.iter_mut().for_each(ranked);
        }
        Ok(())
    }

    /// Returns the columns of the row that was united last, sorted.
    pub(crate) fn columns(&self) -> &[LocalOrdinal] {
        &self.columns[..self.count]
    }

    /// Makes room for a table of this many places, all free.
    fn grow(&mut self, places: usize) -> Result<()> {
        if self.table.len() >= places {
            return Ok(());
        }
        let more = places - self.table.len();
        try_reserve("table of columns", &mut self.table, more)?;
        self.table.resize(places, FREE);
        for list in [&mut self.taken, &mut self.columns, &mut self.ranks] {
            try_reserve("columns of a row", list, places.saturating_sub(list.len()))?;
            list.resize(places.max(list.len()), 0);
        }
        let keys = places.saturating_sub(self.keys.len());
        try_reserve("keys of a row", &mut self.keys, keys)
    }

    /// Sorts the columns and finds the position of each number.
    #[inline(always)]
    fn rank(&mut self) {
        let count = self.count;
        let (columns, ranks) = (&mut self.columns[..count], &mut self.ranks[..count]);
        if count <= COUNTED {
            // Biased, since the vector instructions of every x86-64 compare signed numbers only. Padding is never smaller.
            let mut biased = [i32::MAX; COUNTED];
            biased.iter_mut().zip(&*columns).for_each(|(biased, &column)| *biased = (column ^ 1 << 31) as i32);
            let mut counts = [0i32; COUNTED];
            let used = count.next_multiple_of(8).min(COUNTED);
            for &smaller in &biased[..count] {
                let pairs = counts[..used].iter_mut().zip(&biased[..used]);
                pairs.for_each(|(rank, &column)| *rank += i32::from(smaller < column));
            }
            for ((rank, &counted), &column) in ranks.iter_mut().zip(&counts).zip(&biased) {
                (*rank, columns[counted as usize]) = (counted as u32, column as u32 ^ 1 << 31);
            }
            return;
        }
        self.keys.clear();
        self.keys.extend((0..).zip(&*columns).map(|(number, &column)| u64::from(column) << 32 | number));
        self.keys.sort_unstable();
        for (rank, (column, &key)) in columns.iter_mut().zip(&self.keys).enumerate() {
            *column = (key >> 32) as u32;
            ranks[key as u32 as usize] = rank as u32;
        }
    }

    /// As [`unite`](Self::unite), by sorting all values.
    #[cold]
    fn sort<P: Position>(
        &mut self,
        input: &Slots<'_, impl CooIndex, impl CooIndex>,
        slots: &[u32],
        out: &mut [P],
    ) -> Result<()> {
        self.keys.clear();
        try_reserve("keys of a long row", &mut self.keys, out.len())?;
        for (at, &slot) in slots.iter().enumerate() {
            let mut b = 0;
            input.columns(slot as usize, |column| {
                let place = (at * input.width() + b) as u64;
                self.keys.push(u64::from(column) << 32 | place);
                b += 1;
            });
        }
        self.keys.sort_unstable();
        self.count = 0;
        for &key in &self.keys {
            let (column, place) = ((key >> 32) as u32, key as u32 as usize);
            if column == IGNORED {
                out[place] = P::NONE;
                continue;
            }
            if self.count == 0 || self.columns[self.count - 1] != column {
                if self.count == self.columns.len() {
                    try_push("columns of a long row", &mut self.columns, column)?;
                }
                self.columns[self.count] = column;
                self.count += 1;
            }
            out[place] = P::new(self.count - 1);
        }
        Ok(())
    }
}
