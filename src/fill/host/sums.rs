//! Adds the lanes of a batch of element matrices to the rows of the matrix and the residual.

use super::batches::Batches;
use super::kernel::{ElementBatch, ElementKernel};
use super::pattern::{Output, Pattern};
use crate::contraction::Sum;
use crate::fill::Wanted;
use crate::graph::Position;
use crate::space::HostSpace;
use crate::space::atomic::{AtomicF64, atomic_view};
use crate::space::lanes::LANES;
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Output of an assembly, shared by all threads.
#[derive(Clone, Copy)]
pub(super) struct SharedSums<'a> {
    pub crs: &'a CrsGraph,
    pub values: &'a [AtomicF64],
    pub residual: &'a [AtomicF64],
}

impl<'a> SharedSums<'a> {
    /// Lends the values and the residual to all threads, zeroed unless the assembly adds to them.
    pub(super) fn new<S: HostSpace>(space: &S, crs: &'a CrsGraph, output: Output<'a>) -> Self {
        let Output { values, residual, sum } = output;
        if sum == Sum::Overwrite {
            // Large chunks, because zeroing does little work per item.
            space.for_each(values.par_chunks_mut(8 * S::CHUNK), |values| values.fill(0.0));
            space.for_each(residual.par_chunks_mut(8 * S::CHUNK), |residual| residual.fill(0.0));
        }
        SharedSums { crs, values: atomic_view(values), residual: atomic_view(residual) }
    }
}

/// Evaluates `$body` with `$positions` bound to the slice of positions, for each of the integer types.
macro_rules! with_positions {
    ($elem_graph:expr, $positions:ident => $body:expr) => {
        match $elem_graph.positions() {
            $crate::graph::Positions::U8($positions) => $body,
            $crate::graph::Positions::U16($positions) => $body,
            $crate::graph::Positions::U32($positions) => $body,
        }
    };
}
pub(super) use with_positions;

/// Evaluates the elements `elems` in batches and adds the wanted parts of each to its rows with `add(row, cell, term)`.
#[inline(always)]
pub(super) fn add_elems<const NN: usize, const MATRIX: bool, const RESIDUAL: bool>(
    kernel: &impl ElementKernel<NN>,
    batches: &Batches<NN>,
    elems: Range<usize>,
    graph: Pattern<'_>,
    sums: SharedSums<'_>,
    add: impl Fn(LocalOrdinal, &AtomicF64, f64) + Copy,
) -> Result<()> {
    let table = graph.elem.elem_node().as_slice();
    batches.lend(|batch| {
        let mut scratch = kernel.scratch();
        with_positions!(graph.elem, positions => {
            for first in elems.clone().step_by(LANES) {
                let lanes = first..elems.end.min(first + LANES);
                evaluate::<_, NN, MATRIX, RESIDUAL>(kernel, lanes.clone(), &mut scratch, batch);
                for (lane, elem) in lanes.enumerate() {
                    let (nodes, positions) = (&table[elem * NN..][..NN], &positions[elem * NN * NN..][..NN * NN]);
                    add_elem::<NN, MATRIX, RESIDUAL, _>(batch, lane, nodes, positions, sums, add);
                }
            }
        });
    })
}

/// Evaluates a batch; the kernel may leave out what is not wanted.
#[inline(always)]
pub(super) fn evaluate<K: ElementKernel<NN>, const NN: usize, const MATRIX: bool, const RESIDUAL: bool>(
    kernel: &K,
    elems: Range<usize>,
    scratch: &mut K::Scratch,
    batch: &mut ElementBatch<NN>,
) {
    match (MATRIX, RESIDUAL) {
        (true, true) => kernel.evaluate(elems, scratch, batch),
        (true, false) => kernel.evaluate_part(elems, Wanted::Matrix, scratch, batch),
        (false, _) => kernel.evaluate_part(elems, Wanted::Residual, scratch, batch),
    }
}

/// Adds one lane of a batch to the rows that this rank owns. Rows of ghosts are skipped: their owner computes the same
/// element.
#[inline(always)]
fn add_elem<const NN: usize, const MATRIX: bool, const RESIDUAL: bool, P: Position>(
    batch: &ElementBatch<NN>,
    lane: usize,
    nodes: &[LocalOrdinal],
    positions: &[P],
    sums: SharedSums<'_>,
    add: impl Fn(LocalOrdinal, &AtomicF64, f64),
) {
    for i in 0..NN {
        let row = nodes[i];
        // Ids of ghosts lie behind those of rows, so the bounds check is the test for ownership.
        if RESIDUAL {
            let Some(cell) = sums.residual.get(row as usize) else { continue };
            add(row, cell, batch.residual[i][lane]);
        } else if row as usize >= sums.crs.rows() {
            continue;
        }
        if MATRIX {
            let values = &sums.values[sums.crs.row_range(row as usize)];
            for j in 0..NN {
                add(row, &values[positions[i * NN + j].get()], batch.matrix[i][j][lane]);
            }
        }
    }
}
