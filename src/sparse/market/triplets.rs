//! Entries in any order, and the rows made from them: sorted by row, by column, and duplicates in the order in which they were pushed,
//! so the order of each sum is known.

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
        let mut order = try_collect("order of entries", 0..places.len())?;
        order.sort_unstable_by_key(|&entry| (places[entry], entry));
        let mut row_map = try_zeroed::<u64>("row offsets", rows + 1)?;
        let (mut entries, mut summed) = (Vec::new(), Vec::new());
        try_reserve("columns", &mut entries, places.len())?;
        try_reserve("values", &mut summed, places.len())?;
        for equal in order.chunk_by(|&a, &b| places[a] == places[b]) {
            let [row, column] = places[equal[0]];
            match sum_of(equal.iter().map(|&entry| values[entry])) {
                Ok(value) => summed.push(value),
                Err(sum) => return Ok(Err(Overflow { row: row as usize, column: column as usize, sum })),
            }
            entries.push(column);
            row_map[row as usize + 1] = entries.len() as u64;
        }
        // A row without entries ends where the row before it ends.
        for row in 0..rows {
            row_map[row + 1] = row_map[row + 1].max(row_map[row]);
        }
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns)?), summed).map(Ok)
    }
}

/// Returns the sum of the values, or the part that is beyond the range of `V` though those of all values are finite.
fn sum_of<V: MarketValue>(mut values: impl Iterator<Item = V> + Clone) -> Result<V, f64> {
    let parts = values.clone().map(V::parts);
    let sum = parts.clone().reduce(|[re, im], parts| [re + parts[0], im + parts[1]]).unwrap_or_default();
    let value = match (values.next(), values.next()) {
        (Some(one), None) => one,
        _ => V::from_parts(sum),
    };
    let stored = value.parts();
    let overflows = |&part: &usize| !stored[part].is_finite() && parts.clone().all(|parts| parts[part].is_finite());
    (0..2).find(overflows).map_or(Ok(value), |part| Err(sum[part]))
}
