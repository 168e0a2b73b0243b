//! Matrices in slices on a host: `pattern`, and `symmetric`, which stores each pair of entries once.
//!
//! ```text
//! layout     tables of the graph, once                              4 bytes per entry read
//! update     values <- those of a matrix in CRS, rounded to V       8 bytes per entry read, one stored entry written
//!            symmetric: a(i, j) = a(j, i) is checked                in the same pass
//! product    27 entries per row in f64: 232 bytes per row, symmetric 128; with f32 values 124 and 72
//!            3 unknowns per node, 81 entries per row: 664, symmetric 352; with f32 values 340 and 184
//! ```

use super::host_layout::{FRONT, HostLayout};
use super::host_multiply::{multiply, multiply_dot};
use super::host_places::{HostRows, InSlices, Places};
use super::host_rows::Rows;
use super::host_sweep::sweep;
use super::host_sweep_layout::SweepLayout;
use super::host_unions::{LISTED, SLICE};
use super::host_update;
use crate::space::{Threads, try_zeroed};
use crate::sparse::StoredValue;
use crate::sparse::spmv::{check_vectors, dot_of_pieces};
use crate::sparse::{CrsGraph, CrsMatrix, FormatCopy, Operator, RowProduct};
use crate::{Error, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// A matrix in slices on a host. The pattern is laid out once per graph; the values are replaced as often as they change.
#[derive(Clone, Debug)]
pub struct HostSlices<V: StoredValue = f64> {
    graph: Arc<CrsGraph>,
    layout: HostLayout,
    /// Of single rows in the symmetric form.
    sweep: SweepLayout,
    symmetric: bool,
    values: Vec<V>,
    /// Items of `values` before the first one, which begins a cache line: vectors of values are not spread over more lines than they fill.
    lead: usize,
}

impl<V: StoredValue> HostSlices<V> {
    /// Lays out a graph. All values are 0 until the first [`update`](Self::update).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had; [`Error::Invalid`] for the symmetric form of a graph with different
    /// numbers of entries below and above its diagonal.
    pub fn new(space: &Threads, graph: &Arc<CrsGraph>, symmetric: bool) -> Result<Self> {
        let layout = HostLayout::new(space, graph, symmetric)?;
        let is_swept = symmetric && layout.dofs == 1;
        let sweep = if is_swept { SweepLayout::new(&layout) } else { SweepLayout::default() };
        let line = 64 / size_of::<V>();
        let values: Vec<V> = try_zeroed("values of the matrix in slices", layout.unit() * layout.len + line)?;
        let lead = values.as_ptr().align_offset(64).min(line);
        Ok(HostSlices { graph: graph.clone(), layout, sweep, symmetric, values, lead })
    }

    fn matrix(&self) -> Rows<'_, V> {
        let values = &self.values[self.lead..][..self.layout.unit() * self.layout.len];
        Rows { graph: &self.graph, layout: &self.layout, sweep: &self.sweep, values }
    }

    /// Rows of each sweep, where a product of `rows` rows is worth it: a sweep begins in the rows before its own.
    pub(super) fn swept_rows(&self, space: &Threads, rows: usize) -> Option<usize> {
        let (reach, each) = (self.sweep.reach, rows.div_ceil(space.concurrency()));
        (reach > 0 && 2 * reach <= each).then(|| each.next_multiple_of(Threads::CHUNK))
    }

    /// The graph that was laid out.
    pub fn graph(&self) -> &Arc<CrsGraph> {
        &self.graph
    }

    /// Finds where assembly adds to the values.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had.
    pub fn places(&self, space: &Threads) -> Result<Places> {
        Places::new(space, &self.graph, &self.layout)
    }

    /// The rows and the values.
    pub fn parts<'a>(&'a self, places: &'a Places) -> (HostRows<'a>, &'a [V]) {
        let (graph, layout) = (&self.graph, &self.layout);
        (HostRows::Slices(InSlices { graph, layout, places }), self.matrix().values)
    }

    /// The rows and the values, these writable.
    pub fn parts_mut<'a>(&'a mut self, places: &'a Places) -> (HostRows<'a>, &'a mut [V]) {
        let Self { graph, layout, values, lead, .. } = self;
        let values = &mut values[*lead..][..layout.unit() * layout.len];
        (HostRows::Slices(InSlices { graph, layout, places }), values)
    }

    /// Returns the bytes of the matrix that one product reads, each once.
    fn matrix_bytes(&self) -> usize {
        let HostLayout { slices, tables, offsets, links, listed, .. } = &self.layout;
        // Listed rows read their columns and offsets in the graph.
        let columns = if *listed > 0 { self.listed_bytes() } else { 0 };
        size_of_val(&self.matrix().values[self.layout.unit() * FRONT..])
            + size_of_val(&slices[..])
            + size_of_val(&tables[..])
            + size_of_val(&offsets[..])
            + size_of_val(&links[..])
            + columns
    }

    fn listed_bytes(&self) -> usize {
        let slices = self.layout.slices.iter().enumerate().filter(|(_, slice)| slice.table == LISTED);
        let height = self.layout.dofs * SLICE;
        let rows = |slice: usize| slice * height..self.graph.rows().min((slice + 1) * height);
        slices.flat_map(|(slice, _)| rows(slice)).map(|row| 8 + 4 * self.graph.row_range(row).len()).sum()
    }
}

impl<V: StoredValue> Operator<Threads> for HostSlices<V> {
    fn rows(&self) -> usize {
        self.graph.rows()
    }

    fn columns(&self) -> usize {
        self.graph.columns()
    }

    fn bytes(&self) -> usize {
        self.matrix_bytes() + size_of::<f64>() * (self.graph.rows() + self.graph.columns())
    }

    fn apply(&self, space: &Threads, x: &mut [f64], y: &mut [f64]) -> Result<()> {
        check_vectors("spmv", &self.graph, [x.len(), y.len()])?;
        let (matrix, rows) = (self.matrix(), self.graph.rows());
        let piece = self.swept_rows(space, rows);
        let pieces = y[..rows].par_chunks_mut(piece.unwrap_or(Threads::CHUNK)).enumerate();
        space.for_each(pieces, |(index, y)| match piece {
            Some(piece) => sweep(matrix, index * piece, x, y, Threads::CHUNK, &mut []),
            None => multiply(matrix, index * Threads::CHUNK, x, y),
        });
        Ok(())
    }

    // The rows of a slice of nodes read the same columns, where some multiply them by 0. Slices lie in such blocks.
    fn row_block(&self) -> Option<usize> {
        Some(self.layout.dofs * Threads::CHUNK)
    }

    fn apply_dot_rows(&self, space: &Threads, product: RowProduct<'_, Threads>) -> Result<()> {
        let x = product.x;
        check_vectors("spmv_dot", &self.graph, [x.len(), product.y.len()])?;
        let (matrix, piece) = (self.matrix(), self.swept_rows(space, product.rows.len()));
        let (all, each) = (self.graph.rows(), piece.unwrap_or(Threads::CHUNK));
        dot_of_pieces(space, all, each, product, |first, y, partials| match piece {
            Some(_) => sweep(matrix, first, x, y, Threads::CHUNK, partials),
            None => partials[0] = multiply_dot(matrix, first, x, y),
        })
    }
}

impl<V: StoredValue> FormatCopy<Threads> for HostSlices<V> {
    /// Where mirrored entries differ by rounding, both become the upper one, but not in slices without a table nor between the unknowns of
    /// one node, which are stored whole.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a matrix of another graph, for a value that the type cannot hold, and in the symmetric form for a matrix
    /// that is not symmetric; the values are then arbitrary.
    fn update(&mut self, space: &Threads, a: &CrsMatrix) -> Result<()> {
        if !self.graph.is_copy_of(a.graph()) {
            return Err(Error::Invalid("HostSlices::update: the matrix has another graph than the slices".into()));
        }
        host_update::update(space, &self.layout, a, self.symmetric, &mut self.values[self.lead..])
    }
}
