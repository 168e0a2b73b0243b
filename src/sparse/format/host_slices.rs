//! Matrices in slices on a host: `pattern`, and `symmetric`, which stores each pair of entries once.
//!
//! ```text
//! update     values <- those of a matrix in CRS, rounded to V       12 bytes per entry read, one stored entry written
//!            symmetric: a(i, j) = a(j, i) is checked                12 bytes per entry read again
//! product    27 entries per row in f64: 232 bytes per row, symmetric 128; with f32 values 124 and 72
//! ```

use super::host_layout::{FRONT, HostLayout};
use super::host_rows::{self, Rows};
use super::host_unions::{LISTED, SLICE};
use super::stored_value::{StoredValue, first_fault, not_stored};
use crate::blas::Reductions;
use crate::error::check_at_least;
use crate::space::{HostSpace, split_at, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Relative difference of two mirrored entries that counts as rounding of an assembly, in units of the row's largest value.
const ROUNDING: f64 = 1e-13;

/// A matrix in slices on a host. The pattern is laid out once per graph; the values are replaced as often as they change.
#[derive(Clone, Debug)]
pub struct HostSlices<V: StoredValue = f64> {
    graph: Arc<CrsGraph>,
    layout: HostLayout,
    symmetric: bool,
    values: Vec<V>,
}

impl<V: StoredValue> HostSlices<V> {
    /// Lays out a graph. All values are 0 until the first [`update`](Self::update).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had; [`Error::Invalid`] for the symmetric form of a graph with different
    /// numbers of entries below and above its diagonal.
    pub fn new<S: HostSpace>(space: &S, graph: &Arc<CrsGraph>, symmetric: bool) -> Result<Self> {
        if symmetric {
            check_balance(space, graph)?;
        }
        let layout = HostLayout::new(space, graph, symmetric)?;
        let values = try_zeroed("values of the matrix in slices", layout.len)?;
        Ok(HostSlices { graph: graph.clone(), layout, symmetric, values })
    }

    /// Takes the values of a matrix on the same graph. Returns whether each pair of mirrored entries was exactly equal; where they differ
    /// by rounding, both become the upper one.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a matrix of another graph, for a value that the type cannot hold, and in the symmetric form for a matrix
    /// that is not symmetric; the values are then arbitrary.
    pub fn update<S: HostSpace>(&mut self, space: &S, a: &CrsMatrix) -> Result<bool> {
        if !self.graph.is_copy_of(a.graph()) {
            return Err(Error::Invalid("HostSlices::update: the matrix has another graph than the slices".into()));
        }
        let layout = &self.layout;
        let block = S::CHUNK / SLICE;
        let starts = layout.slices.iter().step_by(block).map(|slice| slice.start);
        let bounds = starts.chain([layout.len - SLICE]).collect::<Vec<_>>();
        let pieces = split_at(&mut self.values[FRONT..], bounds.iter().map(|bound| bound - FRONT));
        let mut faults = vec![None; pieces.len()];
        let tasks = pieces.into_par_iter().zip(&mut faults).enumerate();
        space.for_each(tasks, |(task, (values, fault))| {
            for slice in (task * block..layout.slices.len()).take(block) {
                let first = fault.get_or_insert(usize::MAX);
                *first = (*first).min(store(layout, a, slice, bounds[task], values));
            }
        });
        if let Some(entry) = first_fault(&faults) {
            return Err(not_stored(a, entry));
        }
        if self.symmetric { self.check_symmetry(space, a) } else { Ok(true) }
    }

    /// Returns whether all pairs are equal, and refuses pairs that differ by more than rounding.
    fn check_symmetry<S: HostSpace>(&self, space: &S, a: &CrsMatrix) -> Result<bool> {
        let (rows, block) = (self.graph.rows(), S::CHUNK);
        let mut found = vec![(true, usize::MAX); rows.div_ceil(block)];
        space.for_each(found.par_iter_mut().enumerate(), |(task, (is_exact, fault))| {
            for row in (task * block..rows).take(block) {
                let differs = self.differs(a, row);
                *is_exact &= differs.is_none();
                *fault = differs.flatten().map_or(*fault, |column| (*fault).min(row * self.graph.columns() + column));
            }
        });
        match found.iter().map(|&(_, fault)| fault).min().filter(|&fault| fault != usize::MAX) {
            None => Ok(found.iter().all(|&(is_exact, _)| is_exact)),
            Some(fault) => {
                let (row, column) = (fault / self.graph.columns(), fault % self.graph.columns());
                let [lower, upper] = [(row, column), (column, row)].map(|(i, j)| a.get(i, j as u32).unwrap_or(0.0));
                Err(Error::Invalid(format!(
                    "matrix.format (--format) symmetric: the matrix is not symmetric: entry ({row}, {column}) is {lower:e}, \
                     entry ({column}, {row}) is {upper:e}; choose crs or pattern"
                )))
            }
        }
    }

    /// Whether a row's entries below the diagonal differ from their mirror images: by rounding (`Some(None)`), or more, with the column.
    fn differs(&self, a: &CrsMatrix, row: usize) -> Option<Option<usize>> {
        let (columns, values) = (self.graph.row(row), &a.values()[self.graph.row_range(row)]);
        let place = self.layout.slices[row / SLICE];
        let mut differs = None;
        let mut compare = |column: usize, lower: f64, upper: V| {
            if V::rounded(lower).into() != upper.into() {
                let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
                let limit = ROUNDING * largest + V::EPSILON * lower.abs();
                let is_far = (lower - upper.into()).abs() > limit;
                differs = Some(differs.flatten().or(is_far.then_some(column)));
            }
        };
        let lower = columns.partition_point(|&column| (column as usize) < row);
        if place.table == LISTED {
            for (&column, &value) in columns[..lower].iter().zip(values) {
                compare(column as usize, value, V::rounded(a.get(column as usize, row as u32).unwrap_or(0.0)));
            }
            return differs;
        }
        let table = self.layout.tables[place.table as usize];
        let mut links = self.layout.links[place.links as usize..].iter();
        let (mut at, lane) = (0, row % SLICE);
        for (k, &offset) in self.layout.offsets(table).iter().enumerate().take_while(|(_, offset)| **offset < 0) {
            let column = row as i64 + i64::from(offset);
            let is_entry = at < lower && i64::from(columns[at]) == column;
            let value = if is_entry { values[at] } else { 0.0 };
            at += usize::from(is_entry);
            if table.mirrored >> k & 1 == 1
                && let Some(&link) = links.next()
            {
                let [one, two] = link.map(|link| place.start.wrapping_sub(link));
                let turned = offset.rem_euclid(SLICE as i32) as usize;
                let mirrored = if lane + turned < SLICE { one + lane + turned } else { two + lane + turned - SLICE };
                compare(column.max(0) as usize, value, self.values[mirrored]);
            } else if is_entry {
                compare(column as usize, value, V::rounded(a.get(column as usize, row as u32).unwrap_or(0.0)));
            }
        }
        differs
    }

    fn rows(&self) -> Rows<'_, V> {
        Rows { graph: &self.graph, layout: &self.layout, values: &self.values }
    }

    /// Computes y = alpha A x + beta y, as [`Spmv::spmv`](crate::sparse::Spmv::spmv).
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors.
    pub fn spmv<S: HostSpace>(&self, space: &S, alpha: f64, x: &[f64], beta: f64, y: &mut [f64]) -> Result<()> {
        self.check("spmv", x, y)?;
        let rows = self.rows();
        space.for_each(y[..self.graph.rows()].par_chunks_mut(S::CHUNK).enumerate(), |(block, y)| {
            host_rows::multiply(rows, block * S::CHUNK, x, [alpha, beta], y);
        });
        Ok(())
    }

    /// Computes y = A x and x.y over `rows`, as [`Spmv::spmv_dot`](crate::sparse::Spmv::spmv_dot).
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors.
    pub fn spmv_dot<S: HostSpace>(
        &self,
        space: &S,
        rows: Range<usize>,
        x: &[f64],
        y: &mut [f64],
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        self.check("spmv_dot", x, y)?;
        let matrix = self.rows();
        crate::sparse::spmv::dot_of_blocks(space, self.graph.rows(), rows, x, y, sums, slot, |first, y| {
            host_rows::multiply_dot(matrix, first, x, y)
        })
    }

    fn check(&self, operation: &'static str, x: &[f64], y: &[f64]) -> Result<()> {
        check_at_least(operation, "x", x.len(), self.graph.columns())?;
        check_at_least(operation, "y", y.len(), self.graph.rows())
    }

    /// Returns the bytes of the matrix that one product reads, each once.
    pub fn bytes(&self) -> usize {
        let HostLayout { slices, tables, offsets, links, listed, .. } = &self.layout;
        // Listed rows read their columns and offsets in the graph.
        let columns = if *listed > 0 { self.listed_bytes() } else { 0 };
        size_of_val(&self.values[FRONT..])
            + size_of_val(&slices[..])
            + size_of_val(&tables[..])
            + size_of_val(&offsets[..])
            + size_of_val(&links[..])
            + columns
    }

    fn listed_bytes(&self) -> usize {
        let slices = self.layout.slices.iter().enumerate().filter(|(_, slice)| slice.table == LISTED);
        let rows = |slice: usize| slice * SLICE..self.graph.rows().min((slice + 1) * SLICE);
        slices.flat_map(|(slice, _)| rows(slice)).map(|row| 8 + 4 * self.graph.row_range(row).len()).sum()
    }

    /// Returns the number of rows in slices without a table.
    pub fn listed_rows(&self) -> usize {
        self.layout.listed
    }

    /// Returns the numbers of rows and columns.
    pub fn extents(&self) -> (usize, usize) {
        (self.graph.rows(), self.graph.columns())
    }
}

/// Stores the values of a slice's rows into the values from `base` on. Returns the first entry that the type cannot hold, or `usize::MAX`.
fn store<V: StoredValue>(layout: &HostLayout, a: &CrsMatrix, slice: usize, base: usize, out: &mut [V]) -> usize {
    let (graph, place) = (a.graph(), layout.slices[slice]);
    let rows = slice * SLICE..graph.rows().min((slice + 1) * SLICE);
    let (mut fault, mut at) = (usize::MAX, place.start - base);
    let mut rounded = |entry: usize| {
        let value = a.values()[entry];
        let rounded = V::rounded(value);
        if !V::holds(value, rounded) {
            fault = fault.min(entry);
        }
        rounded
    };
    if place.table == LISTED {
        for entry in rows.flat_map(|row| graph.row_range(row)) {
            out[at] = rounded(entry);
            at += 1;
        }
        return fault;
    }
    let table = layout.tables[place.table as usize];
    let offsets = layout.offsets(table);
    let negative = offsets.partition_point(|&offset| offset < 0);
    // Most slices mirror all offsets below the diagonal or none.
    let all = (1u64 << negative) - 1;
    let out = &mut out[at..];
    for row in rows {
        let (entries, lane) = (graph.row_range(row), row % SLICE);
        if entries.len() == offsets.len() && (table.mirrored == 0 || table.mirrored == all) {
            let skipped = if table.mirrored == 0 { 0 } else { negative };
            for (k, entry) in entries.skip(skipped).enumerate() {
                out[SLICE * k + lane] = rounded(entry);
            }
            continue;
        }
        let (mut k, mut stored) = (0, 0);
        for entry in entries {
            let offset = graph.entries()[entry].wrapping_sub(row as u32) as i32;
            while offsets[k] != offset {
                stored += usize::from(table.mirrored >> k & 1 == 0);
                k += 1;
            }
            if table.mirrored >> k & 1 == 0 {
                out[SLICE * stored + lane] = rounded(entry);
            }
        }
    }
    fault
}

/// Refuses a graph whose owned columns have different numbers of entries below and above the diagonal.
fn check_balance<S: HostSpace>(space: &S, graph: &CrsGraph) -> Result<()> {
    let rows = graph.rows();
    let mut counts = vec![[0u64; 2]; rows.div_ceil(S::CHUNK)];
    space.for_each(counts.par_iter_mut().enumerate(), |(block, [below, above])| {
        for row in (block * S::CHUNK..rows).take(S::CHUNK) {
            let columns = graph.row(row);
            let before = |end: usize| columns.partition_point(|&column| (column as usize) < end);
            *below += before(row) as u64;
            *above += (before(rows) - before(row + 1)) as u64;
        }
    });
    let [below, above] = counts.iter().fold([0; 2], |[below, above], &[b, a]| [below + b, above + a]);
    if below == above {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "matrix.format (--format) symmetric: the matrix is not symmetric: {below} entries below the diagonal, {above} above it; \
         choose crs or pattern"
    )))
}
