//! Values of matrices in slices, taken from a matrix in CRS in one pass.
//!
//! ```text
//! turned     row r of a slice -> turned[k][r], offsets k of its table; absent entries are 0
//! stored     values <- turned[k]         offsets that the table stores
//! compared   turned[k] = values          offsets that it mirrors: entry (i, j) with the stored (j, i)
//! ```
//! The slices are divided into one piece per thread. A piece compares a slice as soon as it is stored, while its values and the mirrored ones,
//! a plane of a box apart, are in cache; slices whose partners lie in the piece before are compared at the end. Cost: reads 8 bytes per
//! entry, columns only of rows that lack an offset of their table, and writes the stored values.

use super::host_layout::{HostLayout, Table};
use super::host_unions::{LISTED, SLICE, WIDEST};
use super::stored_value::{StoredValue, not_stored};
use crate::space::{HostSpace, even_bounds, prefetch, split_at};
use crate::sparse::CrsMatrix;
use crate::{Error, Result};
use multiversion::multiversion;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that are turned together.
const LANES: usize = 8;
/// Distance of the software prefetch, in values of CRS.
const AHEAD: usize = 2048;

/// The values of a slice, by offset and row.
pub(super) type Turned = [[f64; SLICE]; WIDEST];

/// What a piece finds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Whether all compared pairs are equal.
    pub is_exact: bool,
    /// First entry, row times columns plus column, that differs from its mirror image by more than rounding.
    pub unequal: usize,
    /// First entry that the type of the stored values cannot hold.
    unheld: usize,
    /// End of the slices that are to be compared once all values are stored.
    open: usize,
}

const NOTHING: Found = Found { is_exact: true, unequal: usize::MAX, unheld: usize::MAX, open: 0 };

/// Where the values go to, and where they come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update<'a> {
    pub layout: &'a HostLayout,
    pub a: &'a CrsMatrix,
    symmetric: bool,
}

/// Stores the values of `a`, a matrix on the graph of the layout. In the symmetric form returns whether all pairs are equal.
///
/// # Errors
/// [`Error::Invalid`] for a value that `V` cannot hold and for pairs that differ by more than rounding.
pub(super) fn update<V: StoredValue, S: HostSpace>(
    space: &S,
    layout: &HostLayout,
    a: &CrsMatrix,
    symmetric: bool,
    values: &mut [V],
) -> Result<bool> {
    let this = Update { layout, a, symmetric };
    let slices = even_bounds(layout.slices.len(), space.concurrency(), 1);
    let inner = slices[1..slices.len() - 1].iter().map(|&slice| layout.slices[slice].start);
    let places: Vec<usize> = [0].into_iter().chain(inner).chain([values.len()]).collect();
    let mut found = vec![NOTHING; slices.len() - 1];
    let pieces = split_at(values, places.iter().copied());
    space.for_each(pieces.into_par_iter().zip(&mut found).enumerate(), |(piece, (values, found))| {
        store_piece(this, slices[piece]..slices[piece + 1], places[piece], values, found);
    });
    if let Some(entry) = found.iter().map(|found| found.unheld).min().filter(|&entry| entry != usize::MAX) {
        return Err(not_stored(a, entry));
    }
    if symmetric {
        let values = &*values;
        space.for_each(found.par_iter_mut().enumerate(), |(piece, found)| {
            compare_piece(this, slices[piece]..found.open, places[piece]..places[piece + 1], values, found);
        });
    }
    match found.iter().map(|found| found.unequal).min().filter(|&pair| pair != usize::MAX) {
        None => Ok(found.iter().all(|found| found.is_exact)),
        Some(pair) => Err(not_symmetric(a, pair)),
    }
}

/// The error for a pair: row times columns plus column.
fn not_symmetric(a: &CrsMatrix, pair: usize) -> Error {
    let (row, column) = (pair / a.graph().columns(), pair % a.graph().columns());
    let [lower, upper] = [(row, column), (column, row)].map(|(i, j)| a.get(i, j as u32).unwrap_or(0.0));
    Error::Invalid(format!(
        "matrix.format (--format) symmetric: the matrix is not symmetric: entry ({row}, {column}) is {lower:e}, entry ({column}, {row}) is \
         {upper:e}; choose crs or pattern"
    ))
}

/// Stores the slices of a piece, whose values begin at `base`, and compares those whose partners lie in it.
// The attribute expands to calls of the versions, each behind a check that the processor has its instructions. With AVX-512 the compiler
// would turn rows by gathers, which are slower than loads.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2"))]
fn store_piece<V: StoredValue>(
    this: Update<'_>,
    slices: Range<usize>,
    base: usize,
    values: &mut [V],
    found: &mut Found,
) {
    let mut turned = [[0.0; SLICE]; WIDEST];
    for slice in slices {
        let place = this.layout.slices[slice];
        if place.table == LISTED {
            this.store_list(slice, &mut values[place.start - base..], found);
            continue;
        }
        let table = this.layout.tables[place.table as usize];
        this.turn(slice, table, &mut turned);
        this.store(slice, table, &turned, &mut values[place.start - base..], found);
        if this.symmetric && this.is_inside(slice, table, &(base..base + values.len())) {
            this.compare(slice, table, &turned, base, values, found);
        } else {
            found.open = slice + 1;
        }
    }
}

/// Compares the slices of a piece whose partners lie in another one.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2"))]
fn compare_piece<V: StoredValue>(
    this: Update<'_>,
    slices: Range<usize>,
    own: Range<usize>,
    values: &[V],
    found: &mut Found,
) {
    let mut turned = [[0.0; SLICE]; WIDEST];
    for slice in slices {
        let place = this.layout.slices[slice];
        if place.table != LISTED {
            let table = this.layout.tables[place.table as usize];
            if !this.is_inside(slice, table, &own) {
                this.turn(slice, table, &mut turned);
                this.compare(slice, table, &turned, 0, values, found);
            }
        }
    }
}

impl Update<'_> {
    pub(super) fn rows(&self, slice: usize) -> Range<usize> {
        slice * SLICE..self.a.graph().rows().min((slice + 1) * SLICE)
    }

    /// Sorts the values of a slice with a table by offset.
    #[inline(always)]
    fn turn(&self, slice: usize, table: Table, turned: &mut Turned) {
        let offsets = self.layout.offsets(table);
        let (graph, values, rows) = (self.a.graph(), self.a.values(), self.rows(slice));
        let mut spread = [[0.0; WIDEST]; LANES];
        for first in (0..SLICE).step_by(LANES) {
            let mut lanes: [&[f64]; LANES] = [&[]; LANES];
            for (lane, (own, spread)) in lanes.iter_mut().zip(&mut spread).enumerate() {
                let row = rows.start + first + lane;
                let entries = if row < rows.end { graph.row_range(row) } else { 0..0 };
                if entries.len() == offsets.len() {
                    *own = &values[entries];
                } else {
                    *spread = [0.0; WIDEST];
                    let mut k = 0;
                    for entry in entries {
                        let offset = graph.entries()[entry].wrapping_sub(row as u32) as i32;
                        while offsets[k] != offset {
                            k += 1;
                        }
                        spread[k] = values[entry];
                    }
                    *own = &*spread;
                }
            }
            let next = graph.row_map()[rows.end.min(rows.start + first)] as usize + AHEAD;
            (0..offsets.len()).for_each(|line| prefetch(values, next + LANES * line));
            let lanes = lanes.map(|lane| &lane[..offsets.len()]);
            for (k, turned) in turned.iter_mut().enumerate().take(offsets.len()) {
                for lane in 0..LANES {
                    turned[first + lane] = lanes[lane][k];
                }
            }
        }
    }

    /// Stores the offsets that the table of a slice stores.
    #[inline(always)]
    fn store<V: StoredValue>(&self, slice: usize, table: Table, turned: &Turned, out: &mut [V], found: &mut Found) {
        let offsets = self.layout.offsets(table);
        let mut out = out.as_chunks_mut::<SLICE>().0.iter_mut();
        let mut is_held = true;
        for (k, turned) in turned.iter().enumerate().take(offsets.len()) {
            if table.mirrored >> k & 1 == 0
                && let Some(out) = out.next()
            {
                for (out, &value) in out.iter_mut().zip(turned) {
                    *out = V::rounded(value);
                    is_held &= V::holds(value, *out);
                }
            }
        }
        if !is_held {
            let graph = self.a.graph();
            let is_unheld = |row: usize, entry: usize| {
                let value = self.a.values()[entry];
                let offset = graph.entries()[entry].wrapping_sub(row as u32) as i32;
                let is_stored = offsets.binary_search(&offset).is_ok_and(|k| table.mirrored >> k & 1 == 0);
                is_stored && !V::holds(value, V::rounded(value))
            };
            let first = self.rows(slice).find_map(|row| graph.row_range(row).find(|&entry| is_unheld(row, entry)));
            found.unheld = found.unheld.min(first.unwrap_or(usize::MAX));
        }
    }

    /// Stores the entries of a slice without a table, and compares those below the diagonal.
    fn store_list<V: StoredValue>(&self, slice: usize, out: &mut [V], found: &mut Found) {
        let (graph, values, rows) = (self.a.graph(), self.a.values(), self.rows(slice));
        let entries = graph.row_range(rows.start).start..graph.row_range(rows.end - 1).end;
        for (out, entry) in out.iter_mut().zip(entries) {
            *out = V::rounded(values[entry]);
            if !V::holds(values[entry], *out) {
                found.unheld = found.unheld.min(entry);
            }
        }
        for row in if self.symmetric { rows } else { 0..0 } {
            let (columns, values) = (graph.row(row), &values[graph.row_range(row)]);
            let largest = || values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
            for (&column, &lower) in columns.iter().zip(values).take_while(|(column, _)| (**column as usize) < row) {
                let upper = V::rounded(self.a.get(column as usize, row as u32).unwrap_or(0.0));
                self.judge(row, column as usize, lower, upper, largest, found);
            }
        }
    }
}
