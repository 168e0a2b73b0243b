//! Sliced ELL matrices on a GPU: slices of 32 rows, as `kernels/slices.cu` reads them; launches that fill and check them.
//!
//! ```text
//! slice_offsets [slice]   index of the slice's first value; the next slice begins 32 * width values later
//! words [slice]           index of the slice's table in `offsets`, or LISTED | index of its first column in `columns`
//! values [slice_offsets[slice] + 32 k + row % 32]
//! ```
//! A slice is 32 rows, so that a warp reads 32 neighbouring values per step. Its columns are stored in one of two ways:
//! - as a table, the union of column - row over its rows, if the union has at most 40 offsets and at most 3/2 of the
//!   longest row's entries. Slices with equal unions share one table, which then stays in cache; the tables lie in the order
//!   of the first slices that have them.
//! - as a list of columns otherwise.
//!
//! In [`Format::Symmetric`](crate::sparse::Format::Symmetric) a slice with a table does not store the entries below the diagonal that are mirrored: both slices of the
//! partner rows store the opposite offset, so the entries are read there. Its table, behind the stored offsets, has three numbers per
//! mirrored entry: offset, and the distance to the values in either slice of partners, in units of 32 values; bits 40..62 of its word
//! are their number. The value above the diagonal counts. Symmetry is checked at each [`update`](SlicedEll::update); a matrix that is
//! assembled in halves is symmetric as far as its element matrices are.
//!
//! All are exact. The order in which a row is summed depends on its slice and, in `symmetric`, on whether its table is the one of most
//! slices. A padded entry of a table multiplies some item of x by zero, so x must be finite.

use super::slice_layout::SliceLayout;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::kernel_files::{SLICES, SLICES_SYMMETRIC};
use crate::sparse::{CrsGraph, CrsMatrix, GraphOf, StoredValue};
use crate::{Error, Result};
use std::sync::Arc;

/// As in the kernels: threads per block, rows per slice, warps per block of the value-transposing kernel.
pub(super) const THREADS: u32 = 256;
pub(super) const SLICE: usize = 32;
const SHIFT: u32 = SLICE.trailing_zeros();
const WARPS: u32 = 4;

/// A matrix in sliced ELL storage. The pattern is laid out once per graph; the values are replaced as often as they
/// change.
#[derive(Debug)]
pub struct SlicedEll<V: StoredValue> {
    pub(super) graph: Arc<GraphOf<Cuda>>,
    pub(super) symmetric: bool,
    pub(super) layout: Arc<SliceLayout>,
    pub(super) values: CudaArray<V>,
    /// What an update finds: values too large, partners that differ, entries above the diagonal less those below.
    faults: CudaArray<u64>,
}

/// The arrays of a layout on the host, for inspection; see [`SlicedEll`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceArrays {
    /// Index of each slice's first value, and the end of the last one.
    pub slice_offsets: Vec<u64>,
    /// Of each slice: index of its table, or the highest bit and the index of its first column.
    pub words: Vec<u64>,
    /// Tables of column - row, in the order of the first slices that have them.
    pub offsets: Vec<i32>,
    /// Listed columns, [`u32::MAX`] for padding.
    pub columns: Vec<u32>,
}

/// Layout of a matrix's values: value `k` of row r is `starts[r >> shift] + r % 2^shift + (k << shift)`. CRS has shift 0, slices
/// of 32 rows have shift 5.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLayout<'a> {
    pub rows: usize,
    pub starts: &'a CudaArray<u64>,
    pub shift: u32,
    /// Whether rows lack the entries that other rows store, of a symmetric matrix.
    pub halves: bool,
    /// Number of values, padding included.
    pub len: usize,
}

impl<'a> RowLayout<'a> {
    /// The layout of a matrix in CRS.
    pub fn of_graph(graph: &'a GraphOf<Cuda>) -> Self {
        RowLayout { rows: graph.rows(), starts: graph.row_map(), shift: 0, halves: false, len: graph.nnz() }
    }

    /// Number of starts that the layout needs.
    pub fn starts_len(&self) -> usize {
        self.rows.div_ceil(1 << self.shift) + 1
    }
}

impl<V: StoredValue> SlicedEll<V> {
    /// Lays out a graph in slices, with `symmetric` in halves, on the GPU; the host waits for four sizes, in halves for a table and two distances, too. The values are arbitrary until the first
    /// [`update`](Self::update). Reads the row offsets and the entries once.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available, [`Error::Invalid`] for 2^31 rows or columns.
    pub fn new(space: &Cuda, symmetric: bool, graph: &Arc<GraphOf<Cuda>>) -> Result<Self> {
        Self::with_hash_mask(space, symmetric, graph, u64::MAX)
    }

    /// [`new`](Self::new) with those bits of the hash of unions that `mask` selects. The result is the same unless different
    /// unions of one length have the same bits; then no slices share a table. For tests.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[doc(hidden)]
    pub fn with_hash_mask(space: &Cuda, symmetric: bool, graph: &Arc<GraphOf<Cuda>>, mask: u64) -> Result<Self> {
        // Tables hold column - row in 32 bits.
        let extent = graph.rows().max(graph.columns());
        if extent > i32::MAX as usize {
            let why = format!("slices: {extent} rows or columns: expected at most {}, or the format crs", i32::MAX);
            return Err(Error::Invalid(why));
        }
        Self::of_layout(space, graph.clone(), symmetric, Arc::new(SliceLayout::new(space, graph, symmetric, mask)?))
    }

    fn of_layout(space: &Cuda, graph: Arc<GraphOf<Cuda>>, symmetric: bool, layout: Arc<SliceLayout>) -> Result<Self> {
        let (values, faults) = (space.unfilled(layout.len)?, space.unfilled(3)?);
        Ok(SlicedEll { graph, symmetric, layout, values, faults })
    }

    /// Copies the layout to the host.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available, [`Error::Device`] when the device fails.
    pub fn arrays(&self, space: &Cuda) -> Result<SliceArrays> {
        let SliceLayout { slice_offsets, words, offsets, columns, .. } = &*self.layout;
        Ok(SliceArrays {
            slice_offsets: space.download(slice_offsets)?,
            words: space.download(words)?,
            offsets: space.download(offsets)?,
            columns: space.download(columns)?,
        })
    }

    /// Takes the values of a matrix on the same graph; those of a matrix in f64 are rounded to slices in f32. One pass; reads 8 to 12 bytes
    /// and writes 8 bytes per entry in f64. In halves, another pass checks symmetry. Then, and after rounding, the host waits.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the matrix has another graph; in halves, when it is not symmetric: an entry has no partner, or differs
    /// from it by more than 1e-12 of the row's largest entry (2.4e-7 in f32); for finite values that are too large for f32.
    pub fn update<W: StoredValue>(&mut self, space: &Cuda, a: &CrsMatrix<W, CudaMemory>) -> Result<()> {
        // Compares the objects only: a comparison of all columns would cost as much as the update.
        if !Arc::ptr_eq(&self.graph, a.graph()) {
            return Err(Error::Invalid("SlicedEll::update: the matrix has another graph than the slices".into()));
        }
        let (rows, row_map, entries) = (a.graph().rows() as u64, a.graph().row_map(), a.graph().entries());
        let (halved, rounds) = (self.symmetric, V::NAME != W::NAME);
        let (update, check, tolerance) = match (rounds, V::NAME) {
            (true, _) => ("update_single", "asymmetries_single", 2.4e-7),
            (false, "f32") => ("update_f32", "asymmetries_f32", 2.4e-7),
            (false, _) => ("update_f64", "asymmetries_f64", 1e-12),
        };
        let Self { layout, values, faults, .. } = self;
        let (SliceLayout { slice_offsets, words, offsets, .. }, from) = (&**layout, a.values());
        space.fill_bytes(faults, 0)?;
        // One warp per slice.
        let grid = Grid { threads: WARPS * SLICE as u32, ..Grid::cover(words.len(), WARPS) };
        let arguments =
            arguments![rows, row_map, entries, from, slice_offsets, words, offsets, &mut *values, &mut *faults];
        space.launch(&SLICES, update, grid, arguments)?;
        if halved {
            let grid = Grid::cover(words.len() * SLICE, THREADS);
            #[rustfmt::skip]
            let arguments = arguments![
                rows, tolerance, row_map, entries, from, slice_offsets, words, offsets, &*values, &mut *faults,
            ];
            space.launch(&SLICES_SYMMETRIC, check, grid, arguments)?;
        }
        if !halved && !rounds {
            return Ok(());
        }
        let mut found = [0; 3];
        space.read(faults, &mut found)?;
        verdict(found)
    }

    /// Returns the values `[slice, k, row]`, padding included.
    pub fn values(&self) -> &CudaArray<V> {
        &self.values
    }

    /// Returns the layout of the values.
    pub(in crate::sparse::format) fn layout(&self) -> RowLayout<'_> {
        let starts = &self.layout.slice_offsets;
        RowLayout { rows: self.graph.rows(), starts, shift: SHIFT, halves: self.symmetric, len: self.values.len() }
    }

    /// Returns the layout of the values, and the values writable.
    pub(in crate::sparse::format) fn assembled(&mut self) -> (RowLayout<'_>, &mut CudaArray<V>) {
        let Self { graph, layout, values, symmetric: halves, .. } = self;
        let (starts, halves) = (&layout.slice_offsets, *halves);
        (RowLayout { rows: graph.rows(), starts, shift: SHIFT, halves, len: values.len() }, values)
    }

    /// Returns the slices' offsets, words and tables.
    pub(crate) fn tables(&self) -> (&CudaArray<u64>, &CudaArray<u64>, &CudaArray<i32>) {
        (&self.layout.slice_offsets, &self.layout.words, &self.layout.offsets)
    }

    /// Releases the graph: products need only its sizes. No [`update`](Self::update) is possible after this.
    pub(crate) fn release_graph(&mut self, space: &Cuda) -> Result<()> {
        let (rows, columns, nnz) = (self.graph.rows(), self.graph.columns(), self.graph.nnz());
        let sizes = CrsGraph::from_parts(rows, columns, nnz, space.unfilled(0)?, space.unfilled(0)?);
        self.graph = Arc::new(sizes);
        Ok(())
    }

    /// Returns the number of entries including padding, and the number of those with listed columns.
    pub fn entries(&self) -> (usize, usize) {
        (self.values.len(), self.layout.columns.len())
    }
}

impl SlicedEll<f32> {
    /// Returns a matrix in the slices of another one, whose layout it shares. Its values are arbitrary until the first
    /// [`round_slices`](Self::round_slices).
    pub(in crate::sparse::format) fn like(space: &Cuda, of: &SlicedEll<f64>) -> Result<Self> {
        Self::of_layout(space, of.graph.clone(), of.symmetric, of.layout.clone())
    }

    /// Rounds the values of the matrix that it was made [`like`](Self::like). Moves 12 bytes per value; the host waits.
    ///
    /// # Errors
    /// [`Error::Invalid`] for finite values that are too large for f32.
    pub(in crate::sparse::format) fn round_slices(&mut self, space: &Cuda, of: &SlicedEll<f64>) -> Result<()> {
        space.to_single_refusing(&of.values, &mut self.values)
    }
}

/// Refuses a matrix by what an update has found.
pub(in crate::sparse::format) fn verdict([overflows, partners, surplus]: [u64; 3]) -> Result<()> {
    if overflows > 0 {
        return Err(Error::Invalid(format!(
            "matrix values in f32: {overflows} values are too large: expected at most {:e}, or values in f64",
            f32::MAX
        )));
    }
    if partners > 0 || surplus != 0 {
        let partners = partners + (surplus as i64).max(0) as u64;
        return Err(Error::Invalid(format!(
            "format symmetric: {partners} entries differ from their partners: expected a symmetric matrix, or the format pattern"
        )));
    }
    Ok(())
}
