//! Strategy `gather`: element matrices first, then each row adds its own up in the order of its elements.
//!
//! Bitwise reproducible on any number of threads, and on any number of ranks that keep the order of elements. A row's
//! share of an element matrix is NN numbers side by side.
//!
//! With a local numbering a row needs only elements that lie close together. Then each thread walks its rows with a
//! *window* of element matrices that moves along and stays in the caches; elements that rows of two threads need are
//! computed by both. Where that would compute more than [`SLACK`] times the elements (scattered numberings, few rows a
//! thread), all element matrices go through memory: 16 NN (NN + 1) bytes an element, written and read.

use super::ElementBatch;
use super::kernel::ElementKernel;
use super::place::with_positions;
use super::window::{Window, windows};
use crate::graph::{Graph, NodeElem, Position};
use crate::mesh::ElemNode;
use crate::space::lanes::LANES;
use crate::space::{ExecutionSpace, HostSpace, Serial, even_bounds, split_at};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;

/// Elements computed with windows, over elements, above which the element arrays are stored instead.
const SLACK: f64 = 1.25;

/// Elements of one task where all element arrays are stored.
const BLOCK: usize = 32 * LANES;

/// Lists of the rows' elements, and where their matrices are kept.
#[derive(Debug)]
pub(super) struct Plan<const NN: usize> {
    lists: NodeElem,
    /// Pieces of the rows.
    bounds: Vec<usize>,
    arrays: Arrays<NN>,
}

#[derive(Debug)]
enum Arrays<const NN: usize> {
    /// One window a piece of rows.
    Windows(Vec<Window<NN>>),
    /// `[elem, i, j]` and `[elem, i]` of all elements.
    All(Vec<f64>, Vec<f64>),
}

impl<const NN: usize> Plan<NN> {
    pub(super) fn new<S: HostSpace>(space: &S, elem_node: &ElemNode, rows: usize) -> Result<Self> {
        let lists = NodeElem::new(space, elem_node, rows);
        let bounds = even_bounds(rows, space.concurrency(), 1);
        let windows = windows(space, &lists, &bounds);
        let computed: usize = windows.iter().map(Window::elems).sum();
        if computed as f64 <= SLACK * elem_node.elem_count() as f64 {
            return Ok(Plan { lists, bounds, arrays: Arrays::Windows(windows) });
        }
        let elems = elem_node.elem_count();
        let arrays = Arrays::All(Serial.zeros(elems * NN * NN)?, Serial.zeros(elems * NN)?);
        Ok(Plan { lists, bounds: even_bounds(rows, 16 * space.concurrency(), 1), arrays })
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
        let (bounds, row_map, lists) = (&self.bounds, graph.crs.row_map(), &self.lists);
        let pieces = split_at(values, bounds.iter().map(|&row| row_map[row] as usize)).into_par_iter();
        let pieces = pieces.zip(split_at(residual, bounds.iter().copied())).enumerate();
        let rows = |piece: usize| {
            let rows = bounds[piece]..bounds[piece + 1];
            rows.map(|row| (lists.slots(row), (row_map[row + 1] - row_map[row]) as usize))
        };
        match &mut self.arrays {
            Arrays::Windows(windows) => with_positions!(graph.elem, positions => {
                space.for_each(pieces.zip(windows), |((piece, (mut values, residual)), window)| {
                    window.restart();
                    let mut scratch = kernel.scratch();
                    for ((slots, len), residual) in rows(piece).zip(residual) {
                        let (row, rest) = values.split_at_mut(len);
                        values = rest;
                        window.reach(slots, kernel, elem_node.elem_count(), &mut scratch);
                        *residual = add_up(slots, |slot| window.terms(slot), positions, row);
                    }
                });
            }),
            Arrays::All(matrices, residuals) => {
                compute_all(space, kernel, elem_node.elem_count(), matrices, residuals);
                let terms = |slot: usize| (&matrices[slot * NN..][..NN], residuals[slot]);
                with_positions!(graph.elem, positions => {
                    space.for_each(pieces, |(piece, (mut values, residual))| {
                        for ((slots, len), residual) in rows(piece).zip(residual) {
                            let (row, rest) = values.split_at_mut(len);
                            values = rest;
                            *residual = add_up(slots, terms, positions, row);
                        }
                    });
                });
            }
        }
    }
}

/// Overwrites a row with the sum of its terms, `terms(slot)` = (matrix row, residual), and returns the residual's sum.
#[inline(always)]
fn add_up<'a, P: Position>(
    slots: &[LocalOrdinal],
    terms: impl Fn(usize) -> (&'a [f64], f64),
    positions: &[P],
    row: &mut [f64],
) -> f64 {
    row.fill(0.0);
    let mut residual = 0.0;
    for &slot in slots {
        let (matrix_row, term) = terms(slot as usize);
        residual += term;
        let positions = &positions[slot as usize * matrix_row.len()..][..matrix_row.len()];
        for (term, position) in matrix_row.iter().zip(positions) {
            row[position.get()] += term;
        }
    }
    residual
}

fn compute_all<S: HostSpace, const NN: usize>(
    space: &S,
    kernel: &impl ElementKernel<NN>,
    elem_count: usize,
    matrices: &mut [f64],
    residuals: &mut [f64],
) {
    let arrays = matrices.par_chunks_mut(BLOCK * NN * NN).zip(residuals.par_chunks_mut(BLOCK * NN));
    space.for_each(arrays.enumerate(), |(block, (matrices, residuals))| {
        let (mut scratch, mut batch) = (kernel.scratch(), ElementBatch::ZERO);
        let batches = matrices.chunks_mut(LANES * NN * NN).zip(residuals.chunks_mut(LANES * NN));
        for (first, (matrices, residuals)) in (block * BLOCK..elem_count).step_by(LANES).zip(batches) {
            kernel.evaluate(first..elem_count.min(first + LANES), &mut scratch, &mut batch);
            batch.store(matrices, residuals);
        }
    });
}
