//! Matrices in slices of 32 rows, on a GPU: what `kernels/slices.cu` reads, and its launches.
//!
//! ```text
//! slice_offsets [slice]          first of its values; 32 times its width to the next
//! words [slice]                  first of its table in `offsets`, or LISTED and first of its columns in `columns`
//! values [slice_offsets + 32 k + row % 32]
//! ```
//! A slice takes a table where the union of column - row over its rows is at most 40 long and at most 3/2 of its longest row;
//! otherwise, and always in [`Format::Sell`], its columns are listed. Both are exact and sum a row in an order that depends on
//! its slice alone. A padded entry of a table multiplies some item of x by zero, so x has to be finite.

use super::kernel_files::SLICES;
use super::spmv::{ProductDot, update};
use super::{CrsGraph, CrsMatrix, DeviceValue, Format};
use crate::error::check_at_least;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::space::{ExecutionSpace, offsets};
use crate::{Error, Result};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::Arc;

/// Threads of a block, rows of a slice, warps of a block that turns values, longest table: as in the kernels.
const THREADS: u32 = 256;
const SLICE: usize = 32;
const WARPS: u32 = 4;
const WIDEST: u32 = 40;
const LISTED: u64 = 1 << 63;

/// A matrix in slices of 32 rows: the pattern once from a graph, the values as often as they change.
#[derive(Clone, Debug)]
pub struct Slices<V: DeviceValue> {
    graph: Arc<CrsGraph<CudaMemory>>,
    tables: bool,
    slice_offsets: CudaArray<u64>,
    words: CudaArray<u64>,
    offsets: CudaArray<i32>,
    columns: CudaArray<u32>,
    values: CudaArray<V>,
}

/// Patterns remembered beside the map of all.
const RECENT: usize = 256;

/// Where things of a pattern go.
#[derive(Default)]
struct Plan {
    widths: Vec<u32>,
    words: Vec<u64>,
    /// Of each table: a slice that has it, and its place.
    owners: Vec<u32>,
    starts: Vec<u64>,
    offsets: usize,
    columns: usize,
}

impl Plan {
    /// `longest`, `widths` and `hashes` of the slices; `share`: one table for slices with equal hashes.
    fn new(longest: &[u32], widths: &[u32], hashes: &[u64], tables: bool, share: bool) -> Self {
        let (mut plan, mut known) = (Plan::default(), HashMap::with_hasher(FixedState::default()));
        // Few patterns take turns in most matrices: those seen last are found without the map.
        let mut recent = [((0, u32::MAX), 0); RECENT];
        for (slice, (&longest, &width)) in longest.iter().zip(widths).enumerate() {
            if !tables || width > WIDEST || 2 * width > 3 * longest {
                plan.widths.push(longest);
                plan.words.push(LISTED | plan.columns as u64);
                plan.columns += longest as usize * SLICE;
                continue;
            }
            let key = if share { (hashes[slice], width) } else { (slice as u64, width) };
            let last = &mut recent[key.0 as usize % RECENT];
            if last.0 != key {
                let word = *known.entry(key).or_insert_with(|| {
                    plan.owners.push(slice as u32);
                    plan.starts.push(plan.offsets as u64);
                    plan.offsets += width as usize;
                    (plan.offsets - width as usize) as u64
                });
                *last = (key, word);
            }
            plan.widths.push(width);
            plan.words.push(last.1);
        }
        plan
    }
}

impl<V: DeviceValue> Slices<V> {
    /// The slices of a graph, with zeros for values. Reads about 20 bytes a slice to the host and back.
    ///
    /// # Errors
    /// [`Error::TooLarge`] where the memory cannot be had, [`Error::Invalid`] for [`Format::Crs`].
    pub fn new(space: &Cuda, format: Format, graph: &Arc<CrsGraph<CudaMemory>>) -> Result<Self> {
        if format == Format::Crs {
            return Err(Error::Invalid("a matrix in slices has the format sell or pattern".into()));
        }
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
        let shared = Plan::new(&longest, &widths, &hashes, tables, true);
        match Self::lay_out(space, graph, tables, &shared)? {
            Some(slices) => Ok(slices),
            // Two patterns with one hash: a table each, then.
            None => Self::lay_out(space, graph, tables, &Plan::new(&longest, &widths, &hashes, tables, false))?
                .ok_or_else(|| Error::Device("slices: a table does not have its own slice's offsets".into())),
        }
    }

    /// Makes tables and columns; `None` when a slice does not find its offsets in its table.
    fn lay_out(space: &Cuda, graph: &Arc<CrsGraph<CudaMemory>>, tables: bool, plan: &Plan) -> Result<Option<Self>> {
        let mut slice_offsets = offsets(&crate::space::Serial, &plan.widths);
        slice_offsets.iter_mut().for_each(|offset| *offset *= SLICE as u64);
        let len = *slice_offsets.last().unwrap_or(&0) as usize;
        let (slice_offsets, words) = (space.upload(&slice_offsets)?, space.upload(&plan.words)?);
        let (owners, starts) = (space.upload(&plan.owners)?, space.upload(&plan.starts)?);
        let (mut offsets, mut columns) = (space.unfilled::<i32>(plan.offsets)?, space.unfilled(plan.columns)?);
        let mut misses = space.zeros::<u32>(1)?;
        let (rows, row_map, entries) = (graph.rows() as u64, graph.row_map(), graph.entries());
        let count = plan.owners.len();
        space.launch(
            &SLICES,
            "slice_tables",
            Grid::cover(count * SLICE, THREADS),
            arguments![rows, count as u64, row_map, entries, &owners, &starts, &mut offsets],
        )?;
        space.launch(
            &SLICES,
            "slice_columns",
            Grid::cover(plan.words.len() * SLICE, THREADS),
            arguments![rows, row_map, entries, &slice_offsets, &words, &offsets, &mut columns, &mut misses],
        )?;
        let mut missed = [0];
        space.read(&misses, &mut missed)?;
        let graph = graph.clone();
        let slices = Slices { graph, tables, slice_offsets, words, offsets, columns, values: space.zeros(len)? };
        Ok((missed == [0]).then_some(slices))
    }

    /// Takes the values of a matrix on the same graph: one pass, reads 8 to 12 and writes 8 bytes an entry in f64.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another graph.
    pub fn update(&mut self, space: &Cuda, a: &CrsMatrix<V, CudaMemory>) -> Result<()> {
        if !Arc::ptr_eq(&self.graph, a.graph()) {
            return Err(Error::Invalid("Slices::update: the matrix has another graph than the slices".into()));
        }
        let (rows, row_map, entries) = (a.graph().rows() as u64, a.graph().row_map(), a.graph().entries());
        let Self { slice_offsets, words, offsets, values, .. } = self;
        let grid = Grid::cover(words.len(), WARPS);
        let grid = Grid { threads: WARPS * SLICE as u32, ..grid };
        let (offsets, from) = (&*offsets, a.values());
        let arguments = arguments![rows, row_map, entries, from, &*slice_offsets, &*words, offsets, values];
        space.launch(&SLICES, V::UPDATE, grid, arguments)
    }

    /// y = alpha A x + beta y, as [`Spmv::spmv`](super::Spmv::spmv).
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors.
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

    /// y = A x and x.y over `rows`, as [`Spmv::spmv_dot`](super::Spmv::spmv_dot), in blocks of 32 rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors.
    pub fn spmv_dot(&self, space: &Cuda, dot: ProductDot<'_>) -> Result<()> {
        let columns = self.graph.columns();
        dot.check((self.graph.rows(), columns), SLICE)?;
        let ProductDot { rows, x, y, partials, slot, scalars } = dot;
        let name = V::SLICED_DOT[usize::from(self.tables)];
        let grid = space.product_grid(&SLICES, name, rows.len().div_ceil(THREADS as usize))?;
        let Self { slice_offsets, words, offsets, columns: listed, values, .. } = self;
        let (first, last, columns) = (rows.start as u64, rows.end as u64, columns as u64);
        let (slot, ticket) = (slot as u32, space.ticket());
        let arguments = arguments![
            first,
            last,
            columns,
            slice_offsets,
            words,
            offsets,
            listed,
            values,
            x,
            y,
            partials,
            slot,
            scalars,
            ticket
        ];
        space.launch(&SLICES, name, grid, arguments)
    }

    /// Bytes of the matrix that a product reads.
    pub fn bytes(&self) -> usize {
        let words = if self.tables { self.words.bytes() } else { 0 };
        self.values.bytes() + self.columns.bytes() + self.slice_offsets.bytes() + words + self.offsets.bytes()
    }

    /// Entries with their padding, and those of them whose columns are listed.
    pub fn entries(&self) -> (usize, usize) {
        (self.values.len(), self.columns.len())
    }
}
