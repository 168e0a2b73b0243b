//! Entries in any order, and the rows made from them.
//!
//! Two stable counting sorts, by columns and then by rows, leave the columns of each row sorted and duplicates in the order in which
//! they were pushed: O(entries + rows + columns), and the order of each sum is known.

use super::value::MarketValue;
use crate::space::{try_collect, try_push, try_reserve, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result};
use std::sync::Arc;

/// Rows, columns and values of entries.
#[derive(Debug)]
pub struct Triplets<V> {
    places: Vec<[LocalOrdinal; 2]>,
    values: Vec<V>,
}

/// Finite values of one place whose sum is beyond the range of their type.
#[derive(Debug)]
pub struct Overflow {
    pub row: usize,
    pub column: usize,
    pub sum: f64,
}

impl<V: MarketValue> Triplets<V> {
    pub fn with_capacity(entries: usize) -> Result<Self> {
        let mut triplets = Triplets { places: Vec::new(), values: Vec::new() };
        try_reserve("rows and columns of entries", &mut triplets.places, entries)?;
        try_reserve("values of entries", &mut triplets.values, entries)?;
        Ok(triplets)
    }

    /// Adds an entry.
    pub fn push(&mut self, row: usize, column: usize, value: V) -> Result<()> {
        try_push("rows and columns of entries", &mut self.places, [row as LocalOrdinal, column as LocalOrdinal])?;
        try_push("values of entries", &mut self.values, value)
    }

    /// Returns the matrix; entries of the same place are added in the order in which they were pushed, in f64. Or returns the first
    /// place whose sum `V` cannot hold.
    pub fn into_crs(self, rows: usize, columns: usize) -> Result<Result<CrsMatrix<V>, Overflow>> {
        let Triplets { places, values } = self;
        let mut next = starts("entries per column", columns, places.iter().map(|&[_, column]| column))?;
        let mut by_column = try_zeroed::<u64>("entries by columns", places.len())?;
        for (entry, &[_, column]) in places.iter().enumerate() {
            by_column[take(&mut next, column)] = entry as u64;
        }
        let mut row_map = starts("row offsets", rows, places.iter().map(|&[row, _]| row))?;
        let mut next = try_collect("row offsets", row_map.iter().copied())?;
        let mut entries = try_zeroed::<LocalOrdinal>("columns", places.len())?;
        let mut summed = try_zeroed::<V>("values", places.len())?;
        for &entry in &by_column {
            let [row, column] = places[entry as usize];
            let at = take(&mut next, row);
            (entries[at], summed[at]) = (column, values[entry as usize]);
        }
        drop((by_column, places, values, next));
        let kept = match add_duplicates(&mut row_map, &mut entries, &mut summed) {
            Ok(kept) => kept,
            Err(overflow) => return Ok(Err(overflow)),
        };
        entries.truncate(kept);
        summed.truncate(kept);
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns)?), summed).map(Ok)
    }
}

/// Where the entries of each place begin, and behind the last where they end, `[places + 1]`.
fn starts(what: &'static str, count: usize, places: impl Iterator<Item = LocalOrdinal>) -> Result<Vec<u64>> {
    let mut starts = try_zeroed::<u64>(what, count + 1)?;
    places.for_each(|place| starts[place as usize + 1] += 1);
    for place in 0..count {
        starts[place + 1] += starts[place];
    }
    Ok(starts)
}

/// Returns the next free position of a place.
fn take(next: &mut [u64], place: LocalOrdinal) -> usize {
    let next = &mut next[place as usize];
    *next += 1;
    (*next - 1) as usize
}

/// Adds up entries of equal columns in each row and moves all entries to the front. Returns their number.
fn add_duplicates<V: MarketValue>(
    row_map: &mut [u64],
    entries: &mut [LocalOrdinal],
    values: &mut [V],
) -> Result<usize, Overflow> {
    let (mut kept, mut from) = (0, 0);
    for row in 1..row_map.len() {
        let end = row_map[row] as usize;
        while from < end {
            let (column, value) = (entries[from], values[from]);
            from += 1;
            let mut sum = value.parts();
            let mut is_finite = sum.map(f64::is_finite);
            let first = from;
            while from < end && entries[from] == column {
                let parts = values[from].parts();
                for part in 0..2 {
                    sum[part] += parts[part];
                    is_finite[part] &= parts[part].is_finite();
                }
                from += 1;
            }
            entries[kept] = column;
            values[kept] = if from == first { value } else { V::from_parts(sum) };
            let stored = values[kept].parts();
            if let Some(part) = (0..2).find(|&part| is_finite[part] && !stored[part].is_finite()) {
                return Err(Overflow { row: row - 1, column: column as usize, sum: sum[part] });
            }
            kept += 1;
        }
        row_map[row] = kept as u64;
    }
    Ok(kept)
}
