//! Adds the lanes of a batch of element matrices to matrix and residual.

use super::batches::batch;
use super::kernel::ElementKernel;
use super::locality::prefetch_sums;
use super::parts::Output;
use crate::contraction::Sum;
use crate::element::HEX8_NODES;
use crate::fill::{Additions, Wanted};
use crate::graph::{ElemGraph, Position, with_positions};
use crate::mesh::ElemNode;
use crate::space::Threads;
use crate::space::atomic::{AtomicF64, AtomicU64, add, add_unshared, atomic_view};
use crate::space::lanes::LANES;
use crate::sparse::{HostRows, NO_PLACE, RowPlaces};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// How threads add to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adds {
    /// Atomically.
    Atomic,
    /// By load, addition and store.
    Plain,
}

impl Adds {
    /// Counts the additions to the first `rows` rows: to each, the row of an element matrix and a residual.
    pub fn count(self, space: &Threads, elem_node: &ElemNode, rows: usize) -> Additions {
        let counted = AtomicU64::new(0);
        space.for_each(elem_node.as_slice().par_chunks(Threads::CHUNK), |nodes| {
            counted.fetch_add(nodes.iter().filter(|&&node| (node as usize) < rows).count() as u64, Relaxed);
        });
        let all = counted.into_inner() * (elem_node.nodes_per_elem() as u64 + 1);
        match self {
            Adds::Atomic => Additions { atomic: all, plain: 0 },
            Adds::Plain => Additions { atomic: 0, plain: all },
        }
    }

    /// Adds terms to cells.
    #[inline(always)]
    pub fn add<'a>(self, terms: impl Iterator<Item = (&'a AtomicF64, f64)>) {
        match self {
            Adds::Atomic => terms.for_each(|(cell, term)| add(cell, term)),
            Adds::Plain => terms.for_each(|(cell, term)| add_unshared(cell, term)),
        }
    }
}

/// Output of an assembly, shared by all threads.
#[derive(Clone, Copy)]
pub(super) struct SharedSums<'a> {
    pub elem: &'a ElemGraph,
    pub is_scattered: bool,
    pub rows: HostRows<'a>,
    pub values: &'a [AtomicF64],
    pub residual: &'a [AtomicF64],
    pub wanted: Wanted,
}

impl<'a> SharedSums<'a> {
    /// Shares values and residual among threads, zeroed unless the assembly adds to them.
    pub(super) fn new(space: &Threads, output: Output<'a>) -> Self {
        let Output { elem, is_scattered, rows, values, residual, sum, wanted } = output;
        if sum == Sum::Overwrite {
            // Large chunks, because zeroing does little work per item.
            space.for_each(values.par_chunks_mut(8 * Threads::CHUNK), |values| values.fill(0.0));
            space.for_each(residual.par_chunks_mut(8 * Threads::CHUNK), |residual| residual.fill(0.0));
        }
        SharedSums { elem, is_scattered, rows, values: atomic_view(values), residual: atomic_view(residual), wanted }
    }
}

/// Evaluates `elems` in batches and adds their wanted parts.
pub(super) fn add_elems<const NN: usize>(
    kernel: &dyn ElementKernel<NN>,
    elems: Range<usize>,
    sums: SharedSums<'_>,
    adds: Adds,
) -> Result<()> {
    let (mut batch, mut evaluate) = (batch::<NN>()?, kernel.evaluator(sums.wanted, elems.clone())?);
    for first in elems.clone().step_by(LANES) {
        let lanes = first..elems.end.min(first + LANES);
        if sums.is_scattered
            && let HostRows::Crs(crs) = sums.rows
        {
            prefetch_sums(sums.elem, lanes.clone(), crs.row_map(), (sums.values, sums.residual));
        }
        evaluate(lanes.clone(), &mut batch[0])?;
        let batch = (batch[0].matrix.as_flattened(), &batch[0].residual[..]);
        match sums.rows {
            HostRows::Crs(_) if const { NN <= MOST_UNROLLED } => add_batch::<NN, false>(batch, lanes, sums, adds),
            HostRows::Crs(_) => add_batch::<ANY, false>(batch, lanes, sums, adds),
            HostRows::Slices(_) if const { NN == HEX8_NODES } => add_batch::<NN, true>(batch, lanes, sums, adds),
            HostRows::Slices(_) => add_batch::<ANY, true>(batch, lanes, sums, adds),
        }
    }
    Ok(())
}

/// Largest number of nodes with a compiled loop for rows in CRS; larger elements use a loop of run-time length. In slices only
/// hexahedra have one.
const MOST_UNROLLED: usize = 12;
/// Stands for a number of nodes that is known at run time only.
const ANY: usize = 0;

/// Matrices `[(i, j)][lane]` and residuals `[i][lane]` of a batch.
type BatchSlices<'a> = (&'a [[f64; LANES]], &'a [[f64; LANES]]);

/// Adds the lanes of a batch of elements with `N` nodes to rows in CRS or in slices.
#[inline(never)]
fn add_batch<const N: usize, const IN_SLICES: bool>(
    batch: BatchSlices<'_>,
    elems: Range<usize>,
    sums: SharedSums<'_>,
    adds: Adds,
) {
    // Chosen outside the loops: a choice at each row takes a tenth of the time of an assembly.
    with_positions!(sums.elem.positions(), positions => {
        let of = (batch, sums.elem.elem_node().as_slice(), &positions[..]);
        match adds {
            Adds::Atomic => add_rows::<N, IN_SLICES, _>(of, elems, sums, add),
            Adds::Plain => add_rows::<N, IN_SLICES, _>(of, elems, sums, add_unshared),
        }
    });
}

/// Adds the lanes of a batch by `add(cell, term)`, given the nodes of all elements and their positions. Rows of ghosts are skipped:
/// their owner computes the same element.
#[inline(always)]
fn add_rows<const N: usize, const IN_SLICES: bool, P: Position>(
    ((matrix, residual), table, positions): (BatchSlices<'_>, &[LocalOrdinal], &[P]),
    elems: Range<usize>,
    sums: SharedSums<'_>,
    add: impl Fn(&AtomicF64, f64),
) {
    let (nn, graph) = (if N == ANY { residual.len() } else { N }, sums.rows.graph());
    for (lane, elem) in elems.enumerate() {
        for (i, &row) in table[elem * nn..][..nn].iter().enumerate() {
            // Ids of ghosts lie behind those of rows, so the bounds check is the test for ownership.
            if sums.wanted.residual {
                let Some(cell) = sums.residual.get(row as usize) else { continue };
                add(cell, residual[i][lane]);
            } else if row as usize >= graph.rows() {
                continue;
            }
            if sums.wanted.matrix {
                let entries = positions[(elem * nn + i) * nn..][..nn].iter().zip(&matrix[nn * i..][..nn]);
                if IN_SLICES {
                    let entries = entries.map(|(position, terms)| (position.get(), terms[lane]));
                    add_in_slices(entries, sums.rows.row(row as usize), sums.values, &add);
                } else {
                    let values = &sums.values[graph.row_range(row as usize)];
                    for (position, terms) in entries {
                        add(&values[position.get()], terms[lane]);
                    }
                }
            }
        }
    }
}

/// Adds terms at positions of CRS to the values of a row, as far as it stores them.
#[inline(always)]
fn add_in_slices(
    entries: impl Iterator<Item = (usize, f64)>,
    row: RowPlaces<'_>,
    values: &[AtomicF64],
    add: impl Fn(&AtomicF64, f64),
) {
    match row {
        RowPlaces::Shifted { first, skip, shift } => {
            let stored = entries.filter(|(position, _)| *position >= skip);
            stored.for_each(|(position, term)| add(&values[first + ((position - skip) << shift)], term));
        }
        RowPlaces::Listed { first, places, shift } => {
            let stored = entries.filter(|(position, _)| places[*position] != NO_PLACE);
            stored.for_each(|(position, term)| add(&values[first + (usize::from(places[position]) << shift)], term));
        }
    }
}
