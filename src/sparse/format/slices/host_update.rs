//! Values of matrices in slices, taken from a matrix in CRS in one pass.
//!
//! ```text
//! turned     row r of a slice -> turned[k][r], offsets k of its table; absent entries are 0; with D unknowns per node, one array
//!            for each pair of an unknown of the rows and one of the columns
//! stored     values <- turned[k]         offsets that the table stores
//! compared   turned[k] = values          offsets that it mirrors: entry (i, j) with the stored (j, i)
//! ```
//! The slices are divided into one piece per thread. A piece compares a slice as soon as it is stored, while its values and the mirrored ones,
//! a plane of a box apart, are in cache; slices whose partners lie in the piece before are compared at the end. Cost: reads 8 bytes per
//! entry, columns only of rows that lack an offset of their table, and writes the stored values. Values of blocks are read again from
//! the cache to be compared.

use super::faults::not_stored;
use super::host_layout::{HostLayout, Table};
use super::host_unions::{LISTED, SLICE, WIDEST};
use crate::space::{Threads, even_bounds, prefetch, split_at};
use crate::sparse::CrsMatrix;
use crate::sparse::StoredValue;
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
    /// First entry, row times columns plus column, that differs from its mirrored entry.
    pub unequal: usize,
    /// First entry that the type of the stored values cannot hold.
    unheld: usize,
    /// End of the slices that are to be compared once all values are stored.
    open: usize,
}

const NOTHING: Found = Found { unequal: usize::MAX, unheld: usize::MAX, open: 0 };

/// Where the values go to, and where they come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update<'a> {
    pub layout: &'a HostLayout,
    pub a: &'a CrsMatrix,
    symmetric: bool,
}

/// Unknown of a row in its node and of a column in its node; 0, 0 in slices of rows.
pub(super) type Pair = [usize; 2];

/// Most unknowns of a node.
const DOFS: usize = 3;

/// Stores the values of `a`, a matrix on the graph of the layout.
///
/// # Errors
/// [`Error::Invalid`] for a value that `V` cannot hold and for pairs that differ by more than rounding.
pub(super) fn update<V: StoredValue>(
    space: &Threads,
    layout: &HostLayout,
    a: &CrsMatrix,
    symmetric: bool,
    values: &mut [V],
) -> Result<()> {
    let this = Update { layout, a, symmetric };
    let slices = even_bounds(layout.slices.len(), space.concurrency(), 1);
    let inner = slices[1..slices.len() - 1].iter().map(|&slice| layout.unit() * layout.slices[slice].start);
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
        None => Ok(()),
        Some(pair) => Err(not_symmetric(a, pair)),
    }
}

/// The error for a pair: row times columns plus column.
fn not_symmetric(a: &CrsMatrix, pair: usize) -> Error {
    let (row, column) = (pair / a.graph().columns(), pair % a.graph().columns());
    let [lower, upper] = [(row, column), (column, row)].map(|(i, j)| a.get(i, j as u32).unwrap_or(0.0));
    Error::Invalid(format!(
        "format symmetric: the matrix is not symmetric: entry ({row}, {column}) is {lower:e}, entry ({column}, {row}) is \
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
    let mut turned = [[[0.0; SLICE]; WIDEST]; DOFS];
    for slice in slices {
        let place = this.layout.slices[slice];
        let start = this.layout.unit() * place.start - base;
        if place.table == LISTED {
            this.store_list(slice, &mut values[start..], found);
            continue;
        }
        let table = this.layout.tables[place.table as usize];
        for c in 0..this.layout.dofs {
            this.turn(slice, table, c, &mut turned);
            for d in 0..this.layout.dofs {
                this.store(slice, table, [c, d], &turned[d], &mut values[start..], found);
            }
        }
        if this.symmetric && this.is_inside(slice, table, &(base..base + values.len())) {
            // A slice of rows is turned already.
            let is_turned = this.layout.dofs == 1;
            this.compare_slice(slice, table, (&mut turned, is_turned), base, values, found);
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
    let mut turned = [[[0.0; SLICE]; WIDEST]; DOFS];
    for slice in slices {
        let place = this.layout.slices[slice];
        if place.table != LISTED {
            let table = this.layout.tables[place.table as usize];
            if !this.is_inside(slice, table, &own) {
                this.compare_slice(slice, table, (&mut turned, false), 0, values, found);
            }
        }
    }
}

impl Update<'_> {
    /// The nodes of a slice, or its rows where each is one.
    pub(super) fn nodes(&self, slice: usize) -> Range<usize> {
        slice * SLICE..(self.a.graph().rows() / self.layout.dofs).min((slice + 1) * SLICE)
    }

    /// All rows of a slice.
    fn rows(&self, slice: usize) -> Range<usize> {
        let Range { start, end } = self.nodes(slice);
        self.layout.dofs * start..self.layout.dofs * end
    }

    /// Compares all entries of a slice with a table that are below the diagonal.
    #[inline(always)]
    fn compare_slice<V: StoredValue>(
        &self,
        slice: usize,
        table: Table,
        (turned, is_turned): (&mut [Turned; DOFS], bool),
        base: usize,
        values: &[V],
        found: &mut Found,
    ) {
        for c in 0..self.layout.dofs {
            if !is_turned {
                self.turn(slice, table, c, turned);
            }
            for d in 0..self.layout.dofs {
                self.compare(slice, table, [c, d], &turned[d], base, values, found);
            }
        }
    }

    /// Sorts the values of a slice with a table by offset: those of one unknown of the rows' nodes, and of each of the columns'.
    #[inline(always)]
    fn turn(&self, slice: usize, table: Table, c: usize, turned: &mut [Turned; DOFS]) {
        let (offsets, dofs) = (self.layout.offsets(table), self.layout.dofs);
        let (graph, values, nodes) = (self.a.graph(), self.a.values(), self.nodes(slice));
        let mut spread = [[0.0; DOFS * WIDEST]; LANES];
        for first in (0..SLICE).step_by(LANES) {
            let mut lanes: [&[f64]; LANES] = [&[]; LANES];
            for (lane, (own, spread)) in lanes.iter_mut().zip(&mut spread).enumerate() {
                let node = nodes.start + first + lane;
                let entries = if node < nodes.end { graph.row_range(dofs * node + c) } else { 0..0 };
                if entries.len() == dofs * offsets.len() {
                    *own = &values[entries];
                } else {
                    spread[..dofs * offsets.len()].fill(0.0);
                    let mut k = 0;
                    for first in entries.step_by(dofs) {
                        let offset = (graph.entries()[first] / dofs as u32).wrapping_sub(node as u32) as i32;
                        while offsets[k] != offset {
                            k += 1;
                        }
                        spread[dofs * k..][..dofs].copy_from_slice(&values[first..first + dofs]);
                    }
                    *own = &*spread;
                }
            }
            let next = graph.row_map()[dofs * nodes.end.min(nodes.start + first)] as usize + AHEAD;
            (0..offsets.len()).for_each(|line| prefetch(values, next + LANES * line));
            match dofs {
                1 => turn_lanes::<1>(&lanes, offsets.len(), first, turned),
                2 => turn_lanes::<2>(&lanes, offsets.len(), first, turned),
                _ => turn_lanes::<3>(&lanes, offsets.len(), first, turned),
            }
        }
    }

    /// Stores the offsets that the table of a slice stores.
    #[inline(always)]
    fn store<V: StoredValue>(
        &self,
        slice: usize,
        table: Table,
        [c, d]: Pair,
        turned: &Turned,
        out: &mut [V],
        found: &mut Found,
    ) {
        let (offsets, dofs) = (self.layout.offsets(table), self.layout.dofs);
        let mut out = out.as_chunks_mut::<SLICE>().0.iter_mut().skip(dofs * c + d).step_by(dofs * dofs);
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
                let offset = (graph.entries()[entry] / dofs as u32).wrapping_sub((row / dofs) as u32) as i32;
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
            for (&column, &lower) in columns.iter().zip(values).take_while(|(column, _)| (**column as usize) < row) {
                let upper = V::rounded(self.a.get(column as usize, row as u32).unwrap_or(0.0));
                self.judge(row, column as usize, lower, upper, found);
            }
        }
    }
}

/// Sorts the values of `LANES` rows with `offsets` entries of `D` values by entry.
#[inline(always)]
fn turn_lanes<const D: usize>(lanes: &[&[f64]; LANES], offsets: usize, first: usize, turned: &mut [Turned; DOFS]) {
    let lanes = lanes.map(|lane| &lane[..D * offsets]);
    for (d, turned) in turned.iter_mut().enumerate().take(D) {
        for (k, turned) in turned.iter_mut().enumerate().take(offsets) {
            for lane in 0..LANES {
                turned[first + lane] = lanes[lane][D * k + d];
            }
        }
    }
}
