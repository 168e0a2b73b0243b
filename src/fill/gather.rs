//! Strategy `gather`: all element matrices first, then each row adds its own up in the order of its elements.
//!
//! Bitwise reproducible on any number of threads, and on any number of ranks that keep the order of elements. Writes and
//! reads 8 NN (NN + 1) bytes an element; a row's share of an element matrix is NN numbers side by side.

use super::ElementBatch;
use super::kernel::ElementKernel;
use super::place::with_positions;
use crate::Result;
use crate::graph::{Graph, NodeElem, Position};
use crate::mesh::ElemNode;
use crate::space::lanes::LANES;
use crate::space::{ExecutionSpace, HostSpace, Serial, even_bounds, split_at};
use rayon::prelude::*;

/// Elements of one task of the first phase.
const BLOCK: usize = 32 * LANES;

/// Lists of the rows' elements and the element arrays.
#[derive(Debug)]
pub(super) struct Plan<const NN: usize> {
    lists: NodeElem,
    /// `[elem, i, j]`
    elem_matrix: Vec<f64>,
    /// `[elem, i]`
    elem_residual: Vec<f64>,
}

impl<const NN: usize> Plan<NN> {
    pub(super) fn new<S: HostSpace>(space: &S, elem_node: &ElemNode, rows: usize) -> Result<Self> {
        let elems = elem_node.elem_count();
        let (elem_matrix, elem_residual) = (Serial.zeros(elems * NN * NN)?, Serial.zeros(elems * NN)?);
        Ok(Plan { lists: NodeElem::new(space, elem_node, rows), elem_matrix, elem_residual })
    }

    pub(super) fn assemble<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<NN>,
        elem_node: &ElemNode,
        graph: &Graph,
        values: &mut [f64],
        residual: &mut [f64],
    ) {
        let arrays =
            self.elem_matrix.par_chunks_mut(BLOCK * NN * NN).zip(self.elem_residual.par_chunks_mut(BLOCK * NN));
        space.for_each(arrays.enumerate(), |(block, (matrices, residuals))| {
            let elems = block * BLOCK..elem_node.elem_count().min((block + 1) * BLOCK);
            let (mut scratch, mut batch) = (kernel.scratch(), ElementBatch::ZERO);
            let batches = matrices.chunks_mut(LANES * NN * NN).zip(residuals.chunks_mut(LANES * NN));
            for (first, (matrices, residuals)) in elems.clone().step_by(LANES).zip(batches) {
                kernel.evaluate(first..elems.end.min(first + LANES), &mut scratch, &mut batch);
                store(&batch, matrices, residuals);
            }
        });
        let (matrices, residuals) = (&self.elem_matrix, &self.elem_residual);
        let row_map = graph.crs.row_map();
        let bounds = even_bounds(residual.len(), 16 * space.concurrency(), 1);
        let pieces = split_at(values, bounds.iter().map(|&row| row_map[row] as usize));
        let pieces = pieces.into_par_iter().zip(split_at(residual, bounds.iter().copied()));
        with_positions!(graph.elem, positions => space.for_each(pieces.enumerate(), |(piece, (mut values, residual))| {
            for (row, residual) in (bounds[piece]..).zip(residual) {
                let (row_values, rest) = values.split_at_mut((row_map[row + 1] - row_map[row]) as usize);
                values = rest;
                row_values.fill(0.0);
                *residual = 0.0;
                for &slot in self.lists.slots(row) {
                    let slot = slot as usize;
                    *residual += residuals[slot];
                    let (terms, positions) = (&matrices[slot * NN..][..NN], &positions[slot * NN..][..NN]);
                    for (&term, position) in terms.iter().zip(positions) {
                        row_values[position.get()] += term;
                    }
                }
            }
        }));
    }
}

/// Turns a batch from lanes side by side to elements one after the other.
#[inline(always)]
fn store<const NN: usize>(batch: &ElementBatch<NN>, matrices: &mut [f64], residuals: &mut [f64]) {
    let elems = matrices.chunks_exact_mut(NN * NN).zip(residuals.chunks_exact_mut(NN));
    for (lane, (matrix, residual)) in elems.enumerate() {
        for i in 0..NN {
            residual[i] = batch.residual[i][lane];
            for j in 0..NN {
                matrix[i * NN + j] = batch.matrix[i][j][lane];
            }
        }
    }
}
