//! Formats that the library does not have: SELL-C-sigma, and columns of 16 bits in SELL and in CRS.
//!
//! ```text
//! SELL-C     chunks of C rows, sorted by length in windows of 256 rows and padded to the longest of the chunk; 12 bytes per entry
//! 16 bits    column - base of the chunk or of 32 rows, if all rows of the matrix allow it; 10 bytes per entry
//! ```
//! x at 16-bit columns is read through an array of 65536 items, so that the compiler drops the bounds check.

use minifenl::space::{HostSpace, Threads};
use minifenl::sparse::{CrsGraph, CrsMatrix};
use multiversion::multiversion;
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a window of sorted rows.
const SIGMA: usize = 256;
/// Rows of CRS with one base.
const GROUP: usize = 32;
/// Rows of a task.
const BLOCK: usize = 4096;

/// A type of stored columns.
pub trait Column: Copy + Send + Sync + 'static {
    /// The part of x that columns are relative to.
    type Window<'a>: Copy;
    /// The window from `base` on.
    fn window(x: &[f64], base: u32) -> Self::Window<'_>;
    /// An item of the window.
    fn at(self, window: Self::Window<'_>) -> f64;
    /// The base of rows with these columns, if there is one.
    fn base(columns: Range<u32>, width: usize) -> Option<u32>;
    /// A column relative to a base.
    fn of(column: u32, base: u32) -> Self;
}

impl Column for u32 {
    type Window<'a> = &'a [f64];
    #[inline(always)]
    fn window(x: &[f64], _: u32) -> &[f64] {
        x
    }
    #[inline(always)]
    fn at(self, window: &[f64]) -> f64 {
        window[self as usize]
    }
    fn base(_: Range<u32>, _: usize) -> Option<u32> {
        Some(0)
    }
    fn of(column: u32, _: u32) -> u32 {
        column
    }
}

impl Column for u16 {
    type Window<'a> = &'a [f64; 1 << 16];
    #[inline(always)]
    fn window(x: &[f64], base: u32) -> &[f64; 1 << 16] {
        x[base as usize..].first_chunk().expect("bases leave room for a window")
    }
    #[inline(always)]
    fn at(self, window: &[f64; 1 << 16]) -> f64 {
        window[self as usize]
    }
    fn base(columns: Range<u32>, width: usize) -> Option<u32> {
        let base = columns.start.min(width.checked_sub(1 << 16)? as u32);
        (columns.end <= base + (1 << 16)).then_some(base)
    }
    fn of(column: u32, base: u32) -> u16 {
        (column - base) as u16
    }
}

/// The smallest and the largest column, plus 1, of rows.
fn span(graph: &CrsGraph, rows: impl Iterator<Item = usize>) -> Range<u32> {
    let ends = rows.filter_map(|row| Some((*graph.row(row).first()?, *graph.row(row).last()?)));
    let (first, last) = ends.fold((u32::MAX, 0), |(first, last), (low, high)| (first.min(low), last.max(high + 1)));
    first.min(last)..last
}

/// SELL-C-sigma.
#[derive(Debug)]
pub struct Sell<const C: usize, I> {
    rows: Vec<[u32; C]>,
    starts: Vec<usize>,
    bases: Vec<u32>,
    columns: Vec<[I; C]>,
    values: Vec<[f64; C]>,
}

impl<const C: usize, I: Column> Sell<C, I> {
    /// Converts a matrix; `None` where its columns do not fit `I`.
    pub fn new(a: &CrsMatrix) -> Option<Self> {
        let graph = a.graph();
        let mut order: Vec<u32> = (0..graph.rows() as u32).collect();
        order.chunks_mut(SIGMA).for_each(|rows| rows.sort_by_key(|&row| graph.row_range(row as usize).len()));
        let (mut rows, mut starts, mut bases) = (vec![], vec![0], vec![]);
        let (mut columns, mut values) = (vec![], vec![]);
        for chunk in order.chunks(C) {
            let base = I::base(span(graph, chunk.iter().map(|&row| row as usize)), graph.columns())?;
            // Rows behind the last chunk repeat it without values.
            let lanes: [u32; C] = std::array::from_fn(|lane| chunk.get(lane).copied().unwrap_or(u32::MAX));
            let entries = lanes.map(|row| if row == u32::MAX { 0..0 } else { graph.row_range(row as usize) });
            let longest = entries.iter().map(|entries| entries.len()).max().unwrap_or(0);
            for k in 0..longest {
                let place = |lane: usize| entries[lane].clone().nth(k);
                columns.push(std::array::from_fn(|lane| {
                    I::of(place(lane).map_or(base, |entry| graph.entries()[entry]), base)
                }));
                values.push(std::array::from_fn(|lane| place(lane).map_or(0.0, |entry| a.values()[entry])));
            }
            rows.push(lanes);
            bases.push(base);
            starts.push(values.len());
        }
        Some(Sell { rows, starts, bases, columns, values })
    }

    /// Bytes of the matrix.
    pub fn bytes(&self) -> usize {
        let chunk = 8 + 4 + 4 * C;
        self.values.len() * C * (8 + size_of::<I>()) + self.rows.len() * chunk
    }

    /// y = A x.
    pub fn multiply(&self, space: &Threads, x: &[f64], y: &mut [f64]) {
        space.for_each(y.par_chunks_mut(BLOCK).enumerate(), |(block, y)| sell_rows(self, block * BLOCK, x, y));
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions. With AVX-512 the compiler
// uses gathers, which made every product slower (EPYC, Zen 5).
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2"))]
fn sell_rows<const C: usize, I: Column>(a: &Sell<C, I>, first: usize, x: &[f64], y: &mut [f64]) {
    for chunk in first / C..(first + y.len()).div_ceil(C) {
        let entries = a.starts[chunk]..a.starts[chunk + 1];
        let (window, mut sums) = (I::window(x, a.bases[chunk]), [0.0; C]);
        for (columns, values) in a.columns[entries.clone()].iter().zip(&a.values[entries]) {
            for lane in 0..C {
                sums[lane] += values[lane] * columns[lane].at(window);
            }
        }
        for (&row, sum) in a.rows[chunk].iter().zip(sums) {
            if let Some(y) = y.get_mut((row as usize).wrapping_sub(first)) {
                *y = sum;
            }
        }
    }
}

/// CRS with columns of 16 bits.
#[derive(Debug)]
pub struct ShortCrs {
    row_map: Vec<u64>,
    bases: Vec<u32>,
    columns: Vec<u16>,
    values: Vec<f64>,
}

impl ShortCrs {
    /// Converts a matrix; `None` where the columns of some 32 rows do not fit 16 bits.
    pub fn new(a: &CrsMatrix) -> Option<Self> {
        let graph = a.graph();
        let (mut bases, mut columns) = (vec![], vec![]);
        for first in (0..graph.rows()).step_by(GROUP) {
            let rows = first..graph.rows().min(first + GROUP);
            let base = <u16 as Column>::base(span(graph, rows.clone()), graph.columns())?;
            columns.extend(rows.flat_map(|row| graph.row(row)).map(|&column| u16::of(column, base)));
            bases.push(base);
        }
        Some(ShortCrs { row_map: graph.row_map().clone(), bases, columns, values: a.values().clone() })
    }

    /// Bytes of the matrix.
    pub fn bytes(&self) -> usize {
        10 * self.values.len() + 8 * self.row_map.len() + 4 * self.bases.len()
    }

    /// y = A x.
    pub fn multiply(&self, space: &Threads, x: &[f64], y: &mut [f64]) {
        space.for_each(y.par_chunks_mut(BLOCK).enumerate(), |(block, y)| short_rows(self, block * BLOCK, x, y));
    }
}

#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2"))]
fn short_rows(a: &ShortCrs, first: usize, x: &[f64], y: &mut [f64]) {
    for (group, y) in y.chunks_mut(GROUP).enumerate() {
        let first = first + group * GROUP;
        let window = u16::window(x, a.bases[first / GROUP]);
        for (row, y) in (first..).zip(y) {
            let entries = a.row_map[row] as usize..a.row_map[row + 1] as usize;
            let (columns, last_columns) = a.columns[entries.clone()].as_chunks::<4>();
            let (terms, last_terms) = a.values[entries].as_chunks::<4>();
            let mut sums = [0.0; 4];
            for (columns, terms) in columns.iter().zip(terms) {
                for way in 0..4 {
                    sums[way] += terms[way] * columns[way].at(window);
                }
            }
            let rest: f64 = last_columns.iter().zip(last_terms).map(|(column, term)| term * column.at(window)).sum();
            *y = (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest;
        }
    }
}
