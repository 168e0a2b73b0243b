//! Sliced ELL matrices on a GPU: slices of 32 rows, as `kernels/slices.cu` reads them, and their launches.
//!
//! ```text
//! slice_offsets [slice]   index of the slice's first value; the next slice begins 32 * width values later
//! words [slice]           index of the slice's table in `offsets`, or LISTED | index of its first column in `columns`
//! values [slice_offsets[slice] + 32 k + row % 32]
//! ```
//! A slice is 32 rows, so that a warp reads 32 neighbouring values per step. Its columns are stored in one of two ways:
//! - as a table, the union of column - row over its rows, if the union has at most 40 offsets and at most 3/2 of the
//!   longest row's entries. Slices with equal unions share one table, which then stays in cache.
//! - as a list of columns otherwise, and always in [`Format::Sell`].
//!
//! Both are exact. The order in which a row is summed depends on its slice alone. A padded entry of a table multiplies
//! some item of x by zero, so x must be finite.

use super::Format;
use crate::blas::Reductions;
use crate::error::check_at_least;
use crate::space::cuda::{Arriving, Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::space::{ExecutionSpace, offsets};
use crate::sparse::kernel_files::SLICES;
use crate::sparse::spmv::{check_dot, ranks_of_whole, update};
use crate::sparse::{CrsGraph, CrsMatrix, DeviceValue};
use crate::{Error, Result};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// As in the kernels: threads per block, rows per slice, warps per block of the value-transposing kernel, longest
/// table.
const THREADS: u32 = 256;
const SLICE: usize = 32;
const WARPS: u32 = 4;
const WIDEST: u32 = 40;
const LISTED: u64 = 1 << 63;

/// A matrix in sliced ELL storage. The pattern is laid out once per graph; the values are replaced as often as they
/// change.
#[derive(Clone, Debug)]
pub struct SlicedEll<V: DeviceValue> {
    graph: Arc<CrsGraph<CudaMemory>>,
    tables: bool,
    slice_offsets: CudaArray<u64>,
    words: CudaArray<u64>,
    offsets: CudaArray<i32>,
    columns: CudaArray<u32>,
    values: CudaArray<V>,
}

/// Number of recent patterns that are found without the hash map.
const RECENT: usize = 256;

/// Layout of a pattern: width and word of each slice, and the tables to make.
#[derive(Default)]
struct SliceLayout {
    widths: Vec<u32>,
    words: Vec<u64>,
    /// For each table: a slice that has it, and its first place in the offsets.
    owners: Vec<u32>,
    starts: Vec<u64>,
    offsets: usize,
    columns: usize,
}

impl SliceLayout {
    /// Chooses table or list per slice from the slices' `longest` rows, `widths` of unions and `hashes` of unions. With
    /// `share`, slices of equal hash use one table.
    fn new(longest: &[u32], widths: &[u32], hashes: &[u64], tables: bool, share: bool) -> Self {
        let (mut layout, mut known) = (SliceLayout::default(), HashMap::with_hasher(FixedState::default()));
        // Most matrices alternate among few patterns, so a small direct-mapped cache avoids most hash-map look-ups.
        let mut recent = [((0, u32::MAX), 0); RECENT];
        for (slice, (&longest, &width)) in longest.iter().zip(widths).enumerate() {
            if !tables || width > WIDEST || 2 * width > 3 * longest {
                layout.widths.push(longest);
                layout.words.push(LISTED | layout.columns as u64);
                layout.columns += longest as usize * SLICE;
                continue;
            }
            let key = if share { (hashes[slice], width) } else { (slice as u64, width) };
            let last = &mut recent[key.0 as usize % RECENT];
            if last.0 != key {
                let word = *known.entry(key).or_insert_with(|| {
                    layout.owners.push(slice as u32);
                    layout.starts.push(layout.offsets as u64);
                    layout.offsets += width as usize;
                    (layout.offsets - width as usize) as u64
                });
                *last = (key, word);
            }
            layout.widths.push(width);
            layout.words.push(last.1);
        }
        layout
    }
}

impl<V: DeviceValue> SlicedEll<V> {
    /// Lays out a graph in slices, with zero values. Copies about 20 bytes per slice to the host and back.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available, [`Error::Invalid`] for [`Format::Crs`].
    pub fn new(space: &Cuda, format: Format, graph: &Arc<CrsGraph<CudaMemory>>) -> Result<Self> {
        if format == Format::Crs {
            return Err(Error::Invalid("invalid format `crs` for a sliced matrix: expected sell or pattern".into()));
        }
        // Tables hold column - row in 32 bits.
        let small = graph.rows().max(graph.columns()) <= i32::MAX as usize;
        let tables = format == Format::Pattern && small;
        let (rows, slices) = (graph.rows() as u64, graph.rows().div_ceil(SLICE));
        let (mut longest, mut widths) = (space.unfilled::<u32>(slices)?, space.unfilled::<u32>(slices)?);
        let mut hashes = space.unfilled::<u64>(slices)?;
        let (grid, row_map, entries) = (Grid::cover(slices * SLICE, THREADS), graph.row_map(), graph.entries());
        space.launch(
            &SLICES,
            "slice_patterns",
            grid,
            arguments![rows, row_map, entries, &mut longest, &mut widths, &mut hashes],
        )?;
        let (longest, widths) = (space.download(&longest)?, space.download(&widths)?);
        let hashes = space.download(&hashes)?;
        let shared = SliceLayout::new(&longest, &widths, &hashes, tables, true);
        match Self::lay_out(space, graph, tables, &shared)? {
            Some(slices) => Ok(slices),
            // Two different patterns have the same hash: give each slice its own table.
            None => Self::lay_out(space, graph, tables, &SliceLayout::new(&longest, &widths, &hashes, tables, false))?
                .ok_or_else(|| Error::Device("slices: a table lacks an offset of its own slice".into())),
        }
    }

    /// Builds tables and columns. Returns `None` if a slice does not find its offsets in its table.
    fn lay_out(
        space: &Cuda,
        graph: &Arc<CrsGraph<CudaMemory>>,
        tables: bool,
        layout: &SliceLayout,
    ) -> Result<Option<Self>> {
        let mut slice_offsets = offsets(&crate::space::Serial, &layout.widths)?;
        slice_offsets.iter_mut().for_each(|offset| *offset *= SLICE as u64);
        let len = *slice_offsets.last().unwrap_or(&0) as usize;
        let (slice_offsets, words) = (space.upload(&slice_offsets)?, space.upload(&layout.words)?);
        let (owners, starts) = (space.upload(&layout.owners)?, space.upload(&layout.starts)?);
        let (mut offsets, mut columns) = (space.unfilled::<i32>(layout.offsets)?, space.unfilled(layout.columns)?);
        // Equal hashes do not prove equal patterns. The kernel counts the columns that it misses in their slice's table.
        let mut misses = space.zeros::<u32>(1)?;
        let (rows, row_map, entries) = (graph.rows() as u64, graph.row_map(), graph.entries());
        let count = layout.owners.len();
        space.launch(
            &SLICES,
            "slice_tables",
            Grid::cover(count * SLICE, THREADS),
            arguments![rows, count as u64, row_map, entries, &owners, &starts, &mut offsets],
        )?;
        space.launch(
            &SLICES,
            "slice_columns",
            Grid::cover(layout.words.len() * SLICE, THREADS),
            arguments![rows, row_map, entries, &slice_offsets, &words, &offsets, &mut columns, &mut misses],
        )?;
        let mut missed = [0];
        space.read(&misses, &mut missed)?;
        let graph = graph.clone();
        let slices = SlicedEll { graph, tables, slice_offsets, words, offsets, columns, values: space.zeros(len)? };
        Ok((missed == [0]).then_some(slices))
    }

    /// Takes the values of a matrix on the same graph. One pass; reads 8 to 12 bytes and writes 8 bytes per entry in
    /// f64.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the matrix has another graph.
    pub fn update(&mut self, space: &Cuda, a: &CrsMatrix<V, CudaMemory>) -> Result<()> {
        // Compares the objects only: a comparison of all columns would cost as much as the update.
        if !Arc::ptr_eq(&self.graph, a.graph()) {
            return Err(Error::Invalid("SlicedEll::update: the matrix has another graph than the slices".into()));
        }
        let (rows, row_map, entries) = (a.graph().rows() as u64, a.graph().row_map(), a.graph().entries());
        let Self { slice_offsets, words, offsets, values, .. } = self;
        // One warp per slice.
        let grid = Grid::cover(words.len(), WARPS);
        let grid = Grid { threads: WARPS * SLICE as u32, ..grid };
        let (offsets, from) = (&*offsets, a.values());
        let arguments = arguments![rows, row_map, entries, from, &*slice_offsets, &*words, offsets, values];
        space.launch(&SLICES, V::UPDATE, grid, arguments)
    }

    /// Computes y = alpha A x + beta y, as [`Spmv::spmv`](crate::sparse::Spmv::spmv).
    ///
    /// # Errors
    /// [`Error::Shape`] when a vector is too short.
    pub fn spmv(&self, space: &Cuda, alpha: f64, x: &CudaArray<f64>, beta: f64, y: &mut CudaArray<f64>) -> Result<()> {
        let (rows, columns) = (self.graph.rows(), self.graph.columns());
        check_at_least("spmv", "x", x.len(), columns)?;
        check_at_least("spmv", "y", y.len(), rows)?;
        let name = V::SLICED[usize::from(self.tables)][update(alpha, beta)];
        let Self { slice_offsets, words, offsets, columns: listed, values, .. } = self;
        let (rows, columns, grid) = (rows as u64, columns as u64, Grid::cover(rows, THREADS));
        let arguments = arguments![rows, columns, alpha, slice_offsets, words, offsets, listed, values, x, beta, y];
        space.launch(&SLICES, name, grid, arguments)
    }

    /// Computes y = A x and x.y over `rows`, as [`Spmv::spmv_dot`](crate::sparse::Spmv::spmv_dot), in blocks of 32 rows.
    ///
    /// # Errors
    /// [`Error::Shape`] when a vector is too short.
    pub fn spmv_dot(
        &self,
        space: &Cuda,
        rows: Range<usize>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        let columns = self.graph.columns();
        check_dot((self.graph.rows(), columns, SLICE), &rows, x, y, sums, slot)?;
        let name = V::SLICED_DOT[usize::from(self.tables)];
        let grid = space.product_grid(&SLICES, name, rows.len().div_ceil(THREADS as usize))?;
        let Self { slice_offsets, words, offsets, columns: listed, values, .. } = self;
        let (first, last, columns) = (rows.start as u64, rows.end as u64, columns as u64);
        let (slot, stop, ticket) = (slot as u32, sums.stop_argument(), space.ticket());
        let ranks = ranks_of_whole(&rows, self.graph.rows(), sums);
        let Reductions { partials, scalars, .. } = sums;
        #[rustfmt::skip]
        let arguments = arguments![
            first, last, columns, slice_offsets, words, offsets, listed, values, x, y, stop, ranks, partials, slot, scalars,
            ticket,
        ];
        space.launch(&SLICES, name, grid, arguments)
    }

    /// [`spmv_dot`](Self::spmv_dot) over all rows, with the same bits; those from `interior` on read ghosts of x that may still be
    /// on their way.
    pub(crate) fn spmv_dot_arriving(
        &self,
        space: &Cuda,
        interior: usize,
        arriving: &Arriving,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        let (rows, columns) = (self.graph.rows(), self.graph.columns());
        check_dot((rows, columns, SLICE), &(0..rows), x, y, sums, slot)?;
        // The grid of the plain product, so that the partial sums are the same.
        let which = usize::from(self.tables);
        let grid = space.product_grid(&SLICES, V::SLICED_DOT[which], rows.div_ceil(THREADS as usize))?;
        let Self { slice_offsets, words, offsets, columns: listed, values, .. } = self;
        let (interior, rows, columns) = (interior as u64, rows as u64, columns as u64);
        let (slot, stop, ranks, ticket) = (slot as u32, sums.stop_argument(), sums.ranks_argument(), space.ticket());
        let (ghosts, Reductions { partials, scalars, .. }) = (&arriving.table, sums);
        #[rustfmt::skip]
        let arguments = arguments![
            interior, rows, columns, slice_offsets, words, offsets, listed, values, ghosts, x, y, stop, ranks, partials, slot,
            scalars, ticket,
        ];
        space.launch(&SLICES, V::SLICED_DOT_ARRIVING[which], grid, arguments)
    }

    /// Returns the bytes of the matrix that one product reads.
    pub fn bytes(&self) -> usize {
        let words = if self.tables { self.words.bytes() } else { 0 };
        self.values.bytes() + self.columns.bytes() + self.slice_offsets.bytes() + words + self.offsets.bytes()
    }

    /// Returns the number of entries including padding, and the number of those with listed columns.
    pub fn entries(&self) -> (usize, usize) {
        (self.values.len(), self.columns.len())
    }
}
