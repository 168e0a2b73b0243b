//! Adds the lanes of a batch of element matrices to the rows of the matrix and the residual.

use super::kernel::{ElementBatch, ElementKernel};
use crate::LocalOrdinal;
use crate::graph::{ElemGraph, Position};
use crate::mesh::ElemNode;
use crate::space::HostSpace;
use crate::space::atomic::{AtomicF64, atomic_view};
use crate::space::lanes::LANES;
use crate::sparse::CrsGraph;
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
    /// Zeroes the values and the residual and lends them to all threads.
    pub(super) fn zeroed<S: HostSpace>(
        space: &S,
        crs: &'a CrsGraph,
        values: &'a mut [f64],
        residual: &'a mut [f64],
    ) -> Self {
        // Large chunks, because zeroing does little work per item.
        space.for_each(values.par_chunks_mut(8 * S::CHUNK), |values| values.fill(0.0));
        space.for_each(residual.par_chunks_mut(8 * S::CHUNK), |residual| residual.fill(0.0));
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

/// Evaluates the elements `elems` in batches and adds each to its rows with `add(row, cell, term)`.
#[inline(always)]
pub(super) fn add_elems<const NN: usize>(
    kernel: &impl ElementKernel<NN>,
    elems: Range<usize>,
    elem_node: &ElemNode,
    elem_graph: &ElemGraph,
    sums: SharedSums<'_>,
    add: impl Fn(LocalOrdinal, &AtomicF64, f64) + Copy,
) {
    let mut batch = ElementBatch::ZERO;
    let mut scratch = kernel.scratch();
    with_positions!(elem_graph, positions => {
        for first in elems.clone().step_by(LANES) {
            let lanes = first..elems.end.min(first + LANES);
            kernel.evaluate(lanes.clone(), &mut scratch, &mut batch);
            for (lane, elem) in lanes.enumerate() {
                let (nodes, positions) = (elem_node.elem(elem), &positions[elem * NN * NN..][..NN * NN]);
                add_elem(&batch, lane, nodes, positions, sums, add);
            }
        }
    });
}

/// Adds one lane of a batch to the rows that this rank owns. Rows of ghosts are skipped: their owner computes the same
/// element.
#[inline(always)]
fn add_elem<const NN: usize, P: Position>(
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
        if let Some(cell) = sums.residual.get(row as usize) {
            add(row, cell, batch.residual[i][lane]);
            let values = &sums.values[sums.crs.row_range(row as usize)];
            for j in 0..NN {
                add(row, &values[positions[i * NN + j].get()], batch.matrix[i][j][lane]);
            }
        }
    }
}
