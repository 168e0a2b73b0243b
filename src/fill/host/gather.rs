//! Strategy `gather`: element matrices are computed first; then each row sums its own parts in element order.
//!
//! The sums have the same bits on any number of threads, and on any number of ranks that keep the order of elements. A
//! row's part of an element matrix is NN adjacent numbers.
//!
//! With a local numbering a row needs only elements that are close together. Each thread then moves a *window* of
//! element matrices along its rows, which stays in cache; elements on the boundary between two threads are computed by
//! both. If that would compute more than [`SLACK`] times the mesh's elements (scattered numberings, few rows per
//! thread), all element matrices are stored in memory: 16 NN (NN + 1) bytes per element, written and read.

use super::batches::with_batch;
use super::kernel::ElementKernel;
use super::parts::{Output, Pattern};
use super::window::{Window, windows};
use crate::contraction::Sum;
use crate::fill::Wanted;
use crate::graph::{NodeElem, Position, with_positions};
use crate::mesh::{ElemNode, Sizes};
use crate::space::lanes::LANES;
use crate::space::{Threads, even_bounds, split_at, try_zeroed};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;

/// Largest ratio of evaluated to mesh elements for which windows are used; above it all element matrices are stored.
const SLACK: f64 = 1.25;

/// Elements per task if all element matrices are stored.
const BLOCK: usize = 32 * LANES;

/// Work on a numbered piece of two arrays. The loops over pieces are compiled once for all kernels.
type OfPiece<'a, R> = dyn Fn((usize, (&mut [f64], &mut [f64]))) -> R + Sync + 'a;

/// Lists of each row's elements, and the storage of the element matrices.
#[derive(Debug)]
pub(super) struct Gather<const NN: usize> {
    lists: NodeElem,
    /// Bounds of the pieces of rows.
    bounds: Vec<usize>,
    arrays: Arrays<NN>,
}

#[derive(Debug)]
enum Arrays<const NN: usize> {
    /// One window per piece of rows.
    Windows(Vec<Window<NN>>),
    /// `[elem, i, j]` and `[elem, i]` of all elements.
    All(Vec<f64>, Vec<f64>),
}

impl<const NN: usize> Gather<NN> {
    pub(super) fn new(space: &Threads, elem_node: &ElemNode, rows: usize) -> Result<Self> {
        let lists = NodeElem::new(space, elem_node, rows)?;
        // One piece per thread: every further cut would duplicate more elements.
        let bounds = even_bounds(rows, space.concurrency(), 1);
        let windows = windows(space, &lists, &bounds)?;
        let computed: usize = windows.iter().map(Window::elems).sum();
        if computed as f64 <= SLACK * elem_node.elem_count() as f64 {
            return Ok(Gather { lists, bounds, arrays: Arrays::Windows(windows) });
        }
        let elems = elem_node.elem_count();
        let arrays =
            Arrays::All(try_zeroed("element matrices", elems * NN * NN)?, try_zeroed("element residuals", elems * NN)?);
        // Stored matrices are computed once in any case, so more pieces only balance the load.
        Ok(Gather { lists, bounds: even_bounds(rows, 16 * space.concurrency(), 1), arrays })
    }

    /// Returns the bytes that one assembly stores and reads back, 0 for windows.
    pub(super) fn stored_bytes(&self) -> u64 {
        match &self.arrays {
            Arrays::Windows(_) => 0,
            Arrays::All(matrices, residuals) => 2 * 8 * (matrices.len() + residuals.len()) as u64,
        }
    }

    pub(super) fn assemble(
        &mut self,
        space: &Threads,
        kernel: &dyn ElementKernel<NN>,
        graph: Pattern<'_>,
        output: Output<'_>,
    ) -> Result<()> {
        let Output { values, residual, sum, wanted, .. } = output;
        let (bounds, row_map, lists) = (&self.bounds, graph.crs.row_map(), &self.lists);
        // A part that is not wanted is cut into empty pieces.
        let entries = |row: usize| if wanted.matrix { row_map[row] as usize } else { 0 };
        let items = usize::from(wanted.residual);
        let pieces = split_at(values, bounds.iter().map(|&row| entries(row))).into_par_iter();
        let pieces = pieces.zip(split_at(residual, bounds.iter().map(|&row| items * row))).enumerate();
        let rows = |piece: usize| {
            let rows = bounds[piece]..bounds[piece + 1];
            rows.map(|row| (lists.slots(row), entries(row + 1) - entries(row)))
        };
        let elem_count = graph.elem.elem_node().elem_count();
        match &mut self.arrays {
            Arrays::Windows(windows) => with_positions!(graph.elem.positions(), positions => {
                space.try_for_each(pieces.zip(windows), |((piece, (mut values, residual)), window)| {
                    window.restart()?;
                    let mut residual = residual.iter_mut();
                    let mut evaluate = kernel.evaluator(wanted, window.range(elem_count))?;
                    for (slots, len) in rows(piece) {
                        let (row, rest) = values.split_at_mut(len);
                        values = rest;
                        window.reach(slots, elem_count, &mut evaluate)?;
                        let terms = |slot| window.terms(slot);
                        add_up(slots, terms, positions, row, residual.next(), (sum, wanted));
                    }
                    Ok(())
                })
            }),
            Arrays::All(matrices, residuals) => {
                compute_all(space, kernel, wanted, elem_count, (matrices, residuals))?;
                let terms = |slot: usize| (&matrices[slot * NN..][..NN], residuals[slot]);
                with_positions!(graph.elem.positions(), positions => {
                    let work: &OfPiece<()> = &|(piece, (mut values, residual))| {
                        let mut residual = residual.iter_mut();
                        for (slots, len) in rows(piece) {
                            let (row, rest) = values.split_at_mut(len);
                            values = rest;
                            add_up(slots, terms, positions, row, residual.next(), (sum, wanted));
                        }
                    };
                    space.for_each(pieces, work);
                });
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
    // Each piece of rows and each thread has a batch where it is too large for the stack.
    let batches = if sizes.per_elem() > 8 { threads * BATCH * matrix } else { 0 };
    // A row reads elements of two layers. The window also holds the batches at its ends.
    let reach = layer[0] * layer[1] + layer[0] + 1;
    let window = (reach.div_ceil(BATCH) + 1).min(elems.div_ceil(BATCH)) * BATCH * matrix;
    // Two threads both compute the elements between their rows.
    let twice = (threads - 1) * (reach + BATCH);
    match () {
        () if 4 * twice > elems => [all + batches; 2],
        // The window of the thread whose rows end the interior and begin the shell spans all elements, if there is one.
        () if ghosts > 0 => [all + batches, all + batches + (threads - 1) * window],
        // Each thread allocates its window at its first assembly.
        () => [batches, batches + threads * window],
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
            matrix_row.iter().zip(positions).for_each(|(term, position)| row[position.get()] += term);
        }
    }
    if let Some(residual) = residual {
        *residual = total;
    }
}

fn compute_all<const NN: usize>(
    space: &Threads,
    kernel: &dyn ElementKernel<NN>,
    wanted: Wanted,
    elem_count: usize,
    (matrices, residuals): (&mut [f64], &mut [f64]),
) -> Result<()> {
    // The matrices of an element are contiguous, so blocks of elements write disjoint chunks.
    let arrays = matrices.par_chunks_mut(BLOCK * NN * NN).zip(residuals.par_chunks_mut(BLOCK * NN));
    let work: &OfPiece<Result<()>> = &|(block, (matrices, residuals))| {
        with_batch(|batch| {
            let elems = block * BLOCK..elem_count.min((block + 1) * BLOCK);
            let mut evaluate = kernel.evaluator(wanted, elems.clone())?;
            let stored = matrices.chunks_mut(LANES * NN * NN).zip(residuals.chunks_mut(LANES * NN));
            for (first, (matrices, residuals)) in elems.step_by(LANES).zip(stored) {
                let elems = first..elem_count.min(first + LANES);
                evaluate(elems, batch)?;
                batch.store(matrices, residuals);
            }
            Ok(())
        })?
    };
    space.try_for_each(arrays.enumerate(), work)
}
