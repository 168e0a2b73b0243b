//! Strategy `gather`: element matrices are computed first; then each row sums its own parts in element order.
//!
//! The sums have the same bits on any number of threads, and on any number of ranks that keep the order of elements. A
//! row's part of an element matrix is NN adjacent numbers.
//!
//! With a local numbering a row needs only elements that are close together. Each thread then moves a *window* of
//! element matrices along its rows, which stays in cache; elements on the boundary between two threads are computed by
//! both. If that would compute more than [`SLACK`] times the mesh's elements (scattered numberings, few rows per
//! thread), all element matrices are stored in memory: 16 NN (NN + 1) bytes per element, written and read.

use super::batches::{AnyKernel, USUAL};
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

/// Work on a numbered piece of two arrays.
type OfPiece<'a, R> = dyn Fn((usize, (&mut [f64], &mut [f64]))) -> R + Sync + 'a;

/// Lists of each row's elements, and the storage of the element matrices.
#[derive(Debug)]
pub(super) struct Gather {
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
        let lists = NodeElem::new(space, elem_node, rows)?;
        // One piece per thread: every further cut would duplicate more elements.
        let bounds = even_bounds(rows, space.concurrency(), 1);
        let dofs = elem_node.nodes_per_elem();
        let windows = windows(space, &lists, &bounds, dofs)?;
        let computed: usize = windows.iter().map(Window::elems).sum();
        if computed as f64 <= SLACK * elem_node.elem_count() as f64 {
            return Ok(Gather { lists, bounds, arrays: Arrays::Windows(windows) });
        }
        let elems = elem_node.elem_count();
        let matrices = try_zeroed("element matrices", elems * dofs * dofs)?;
        let arrays = Arrays::All(matrices, try_zeroed("element residuals", elems * dofs)?);
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
        kernel: &AnyKernel<'_>,
        graph: Pattern<'_>,
        output: Output<'_>,
    ) -> Result<()> {
        match kernel.dofs {
            USUAL => self.assemble_of::<USUAL>(space, kernel, graph, output),
            _ => self.assemble_of::<0>(space, kernel, graph, output),
        }
    }

    /// [`assemble`](Self::assemble) for `DOFS` dofs per element, or any number for 0.
    fn assemble_of<const DOFS: usize>(
        &mut self,
        space: &Threads,
        kernel: &AnyKernel<'_>,
        graph: Pattern<'_>,
        output: Output<'_>,
    ) -> Result<()> {
        let dofs = if DOFS == 0 { kernel.dofs } else { DOFS };
        let Output { values, residual, sum, wanted } = output;
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
                    let mut evaluate = kernel.batches(wanted, window.range(elem_count))?;
                    for (slots, len) in rows(piece) {
                        let (row, rest) = values.split_at_mut(len);
                        values = rest;
                        window.reach::<DOFS>(slots, elem_count, &mut evaluate)?;
                        let terms = |slot| window.terms::<DOFS>(slot);
                        add_up(slots, terms, positions, row, residual.next(), (sum, wanted));
                    }
                    Ok(())
                })
            }),
            Arrays::All(matrices, residuals) => {
                compute_all(space, kernel, wanted, elem_count, (matrices, residuals))?;
                let terms = |slot: usize| (&matrices[slot * dofs..][..dofs], residuals[slot]);
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
    // Each thread has a batch while it assembles.
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
            matrix_row.iter().zip(positions).for_each(|(term, position)| row[position.get()] += term);
        }
    }
    if let Some(residual) = residual {
        *residual = total;
    }
}

fn compute_all(
    space: &Threads,
    kernel: &AnyKernel<'_>,
    wanted: Wanted,
    elem_count: usize,
    (matrices, residuals): (&mut [f64], &mut [f64]),
) -> Result<()> {
    let dofs = kernel.dofs;
    // The matrices of an element are contiguous, so blocks of elements write disjoint chunks.
    let arrays = matrices.par_chunks_mut(BLOCK * dofs * dofs).zip(residuals.par_chunks_mut(BLOCK * dofs));
    let work: &OfPiece<Result<()>> = &|(block, (matrices, residuals))| {
        let elems = block * BLOCK..elem_count.min((block + 1) * BLOCK);
        let mut evaluate = kernel.batches(wanted, elems.clone())?;
        let stored = matrices.chunks_mut(LANES * dofs * dofs).zip(residuals.chunks_mut(LANES * dofs));
        for (first, (matrices, residuals)) in elems.step_by(LANES).zip(stored) {
            let elems = first..elem_count.min(first + LANES);
            evaluate(elems, &mut |batch| batch.store(matrices, residuals))?;
        }
        Ok(())
    };
    space.try_for_each(arrays.enumerate(), work)
}
