//! Strategy `gather`: element matrices are computed first; then each row sums its own parts in element order.
//!
//! The sums have the same bits on any number of threads, and on any number of ranks that keep the order of elements. A
//! row's part of an element matrix is NN adjacent numbers.
//!
//! With a local numbering a row needs only elements that are close together. Each thread then moves a *window* of
//! element matrices along its rows, which stays in cache; elements on the boundary between two threads are computed by
//! both. If that would compute more than [`SLACK`] times the mesh's elements (scattered numberings, few rows per
//! thread), all element matrices are stored in memory: 16 NN (NN + 1) bytes per element, written and read.

use super::batches::Store;
use super::parts::Output;
use super::window::{Window, windows};
use crate::contraction::Sum;
use crate::element::HEX8_NODES;
use crate::fill::Wanted;
use crate::graph::{NodeElem, Position, with_positions};
use crate::mesh::{ElemNode, Sizes};
use crate::space::lanes::LANES;
use crate::space::{Threads, even_bounds, split_at, try_zeroed};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Largest ratio of evaluated to mesh elements for which windows are used; above it all element matrices are stored.
const SLACK: f64 = 1.25;

/// Elements per task if all element matrices are stored.
const BLOCK: usize = 32 * LANES;

/// Number of nodes with a compiled loop; [`ANY`] stands for a number given at run time.
const UNROLLED: usize = HEX8_NODES;
const ANY: usize = 0;

/// Work on a numbered piece of two arrays. The loops over pieces are compiled once for all kernels.
type OfPiece<'a, R> = dyn Fn((usize, (&mut [f64], &mut [f64]))) -> R + Sync + 'a;

/// Makes the [`Store`] of one thread for elements of a range.
pub(super) type Storing<'a> = dyn Fn(Range<usize>) -> Result<Store<'a>> + Sync + 'a;

/// Lists of each row's elements, and the storage of the matrices of elements with `n` dofs.
#[derive(Debug)]
pub(super) struct Gather {
    n: usize,
    lists: NodeElem,
    /// Bounds of the pieces of rows.
    bounds: Vec<usize>,
    arrays: Arrays,
}

#[derive(Debug)]
enum Arrays {
    /// One window per piece of rows.
    Windows(Vec<Window>),
    /// `[elem, i, j]` and `[elem, i]` of all elements.
    All(Vec<f64>, Vec<f64>),
}

impl Gather {
    pub(super) fn new(space: &Threads, elem_node: &ElemNode, rows: usize) -> Result<Self> {
        let (n, elems) = (elem_node.nodes_per_elem(), elem_node.elem_count());
        let lists = NodeElem::new(space, elem_node, rows)?;
        // One piece per thread: every further cut would duplicate more elements.
        let bounds = even_bounds(rows, space.concurrency(), 1);
        let windows = windows(space, &lists, n, &bounds)?;
        let computed: usize = windows.iter().map(Window::elems).sum();
        if computed as f64 <= SLACK * elems as f64 {
            return Ok(Gather { n, lists, bounds, arrays: Arrays::Windows(windows) });
        }
        let arrays =
            Arrays::All(try_zeroed("element matrices", elems * n * n)?, try_zeroed("element residuals", elems * n)?);
        // Stored matrices are computed once in any case, so more pieces only balance the load.
        Ok(Gather { n, lists, bounds: even_bounds(rows, 16 * space.concurrency(), 1), arrays })
    }

    /// Returns the bytes that one assembly stores and reads back, 0 for windows.
    pub(super) fn stored_bytes(&self) -> u64 {
        match &self.arrays {
            Arrays::Windows(_) => 0,
            Arrays::All(matrices, residuals) => 2 * 8 * (matrices.len() + residuals.len()) as u64,
        }
    }

    pub(super) fn assemble(&mut self, space: &Threads, storing: &Storing<'_>, output: Output<'_>) -> Result<()> {
        with_positions!(output.elem.positions(), positions => match self.n {
            UNROLLED => self.sum::<UNROLLED, _>(space, storing, positions, output),
            _ => self.sum::<ANY, _>(space, storing, positions, output),
        })
    }

    /// Computes the elements and sums them in rows, of elements with `N` dofs.
    fn sum<const N: usize, P: Position>(
        &mut self,
        space: &Threads,
        storing: &Storing<'_>,
        positions: &[P],
        output: Output<'_>,
    ) -> Result<()> {
        let Output { elem, rows: in_crs, values, residual, sum, wanted, .. } = output;
        let n = if N == ANY { self.n } else { N };
        let (bounds, row_map, lists) = (&self.bounds, in_crs.graph().row_map(), &self.lists);
        // A part that is not wanted is cut into empty pieces.
        let entries = |row: usize| if wanted.matrix { row_map[row] as usize } else { 0 };
        let items = usize::from(wanted.residual);
        let pieces = split_at(values, bounds.iter().map(|&row| entries(row))).into_par_iter();
        let pieces = pieces.zip(split_at(residual, bounds.iter().map(|&row| items * row))).enumerate();
        let rows = |piece: usize| {
            let rows = bounds[piece]..bounds[piece + 1];
            rows.map(|row| (lists.slots(row), entries(row + 1) - entries(row)))
        };
        let elem_count = elem.elem_node().elem_count();
        match &mut self.arrays {
            Arrays::Windows(windows) => {
                space.try_for_each(pieces.zip(windows), |((piece, (mut values, residual)), window)| {
                    window.restart(n)?;
                    let mut residual = residual.iter_mut();
                    let mut store = storing(window.range(elem_count))?;
                    for (slots, len) in rows(piece) {
                        let (row, rest) = values.split_at_mut(len);
                        values = rest;
                        window.reach(slots, n, elem_count, &mut store)?;
                        add_up(slots, |slot| window.terms(slot, n), positions, row, residual.next(), (sum, wanted));
                    }
                    Ok(())
                })
            }
            Arrays::All(matrices, residuals) => {
                compute_all(space, storing, n, elem_count, (matrices, residuals))?;
                let terms = |slot: usize| (&matrices[slot * n..][..n], residuals[slot]);
                let work: &OfPiece<()> = &|(piece, (mut values, residual))| {
                    let mut residual = residual.iter_mut();
                    for (slots, len) in rows(piece) {
                        let (row, rest) = values.split_at_mut(len);
                        values = rest;
                        add_up(slots, terms, positions, row, residual.next(), (sum, wanted));
                    }
                };
                space.for_each(pieces, work);
                Ok(())
            }
        }
    }
}

/// Bytes of element matrices and residuals, at first and from the first assembly.
pub(super) fn stored_bytes(sizes: &Sizes, threads: u64) -> [u64; 2] {
    const BATCH: u64 = LANES as u64;
    let &Sizes { elems, layer, ghosts, .. } = sizes;
    let matrix = 8 * sizes.per_elem() * (sizes.per_elem() + 1);
    let all = matrix * elems;
    let batches = threads * BATCH * matrix;
    // A row reads elements of two layers. The window also holds the batches at its ends.
    let reach = layer[0] * layer[1] + layer[0] + 1;
    let window = (reach.div_ceil(BATCH) + 1).min(elems.div_ceil(BATCH)) * BATCH * matrix;
    // Two threads both compute the elements between their rows.
    let twice = (threads - 1) * (reach + BATCH);
    match () {
        () if 4 * twice > elems => [all, all + batches],
        // The window of the thread whose rows end the interior and begin the shell spans all elements, if there is one.
        () if ghosts > 0 => [all, all + batches + (threads - 1) * window],
        // Each thread allocates its window at its first assembly.
        () => [0, batches + threads * window],
    }
}

/// Adds the terms of a row to its entries and to its residual, as far as they are wanted. `terms(slot)` returns the slot's row of
/// its element matrix, and its residual.
#[inline(always)]
fn add_up<'a, P: Position>(
    slots: &[LocalOrdinal],
    terms: impl Fn(usize) -> (&'a [f64], f64),
    positions: &[P],
    row: &mut [f64],
    residual: Option<&mut f64>,
    (sum, wanted): (Sum, Wanted),
) {
    let mut total = 0.0;
    match sum {
        Sum::Overwrite => row.fill(0.0),
        Sum::Into => total = residual.as_deref().copied().unwrap_or(total),
    }
    for &slot in slots {
        let (matrix_row, term) = terms(slot as usize);
        total += term;
        if wanted.matrix {
            let positions = &positions[slot as usize * matrix_row.len()..][..matrix_row.len()];
            let ((terms, last), (positions, last_positions)) =
                (matrix_row.as_chunks::<4>(), positions.as_chunks::<4>());
            for (terms, positions) in terms.iter().zip(positions) {
                for k in 0..4 {
                    row[positions[k].get()] += terms[k];
                }
            }
            last.iter().zip(last_positions).for_each(|(term, position)| row[position.get()] += term);
        }
    }
    if let Some(residual) = residual {
        *residual = total;
    }
}

fn compute_all(
    space: &Threads,
    storing: &Storing<'_>,
    n: usize,
    elem_count: usize,
    (matrices, residuals): (&mut [f64], &mut [f64]),
) -> Result<()> {
    // The matrices of an element are contiguous, so blocks of elements write disjoint chunks.
    let arrays = matrices.par_chunks_mut(BLOCK * n * n).zip(residuals.par_chunks_mut(BLOCK * n));
    let work: &OfPiece<Result<()>> = &|(block, (matrices, residuals))| {
        let elems = block * BLOCK..elem_count.min((block + 1) * BLOCK);
        let mut store = storing(elems.clone())?;
        let batches = matrices.chunks_mut(LANES * n * n).zip(residuals.chunks_mut(LANES * n));
        elems
            .step_by(LANES)
            .zip(batches)
            .try_for_each(|(first, batch)| store(first..elem_count.min(first + LANES), batch))
    };
    space.try_for_each(arrays.enumerate(), work)
}
