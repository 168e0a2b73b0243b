//! Positions of the elements' entries in their rows, on the host.
//!
//! Cost of the search: 8 look-ups per row of an element of 8 nodes, in a row that is in cache: by counting the smaller
//! columns of a short row, all 8 at once, and by a binary search each in a longer one.

use super::smaller::{COUNTED, smaller};
use crate::graph::elem_graph::{ElemGraph, Position, Positions, with_position_type};
use crate::mesh::ElemNode;
use crate::space::{Threads, try_collect, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{Error, Result};
use multiversion::multiversion;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

impl ElemGraph {
    /// Finds the position of each pair in its sorted row, by binary search or in short rows by counting. Reads the table and, per element, its rows;
    /// writes the positions.
    ///
    /// # Errors
    /// [`Error::MissingEntry`] when the pattern lacks a pair of an owned row; it names the first one of the lowest element.
    /// [`Error::OutOfMemory`] when the memory is not available.
    pub fn locate(space: &Threads, elem_node: &ElemNode, crs: &CrsGraph) -> Result<Self> {
        Self::locate_in(space, elem_node, crs, false)
    }

    /// Finds the position of each pair as [`locate`](Self::locate). A complete pattern has all pairs and is not checked.
    pub(super) fn locate_in(space: &Threads, elem_node: &ElemNode, crs: &CrsGraph, is_complete: bool) -> Result<Self> {
        let positions =
            with_position_type!(crs.longest_row(), P => locate_all::<P>(space, elem_node, crs, is_complete)?);
        Ok(ElemGraph::from_parts(elem_node.clone(), positions, crs))
    }

    /// Takes positions that a strategy found while it built the rows. The strategy chose their type by an upper bound
    /// of the row length; this function narrows it to the type that the longest row needs.
    pub(super) fn from_positions(elem_node: &ElemNode, positions: Positions, crs: &CrsGraph) -> Result<Self> {
        fn narrow<A: Position, B: Position>(wide: &[A]) -> Result<Vec<B>> {
            let narrow = wide.iter().map(|&p| if p == A::NONE { B::NONE } else { B::new(p.get()) });
            try_collect("positions of elements", narrow)
        }
        let longest_row = crs.longest_row();
        let positions = match positions {
            Positions::U32(wide) if longest_row <= 65_535 => {
                with_position_type!(longest_row, P => narrow::<u32, P>(&wide)?)
            }
            Positions::U16(wide) if longest_row <= 255 => Positions::U8(narrow(&wide)?),
            fitting => fitting,
        };
        Ok(ElemGraph::from_parts(elem_node.clone(), positions, crs))
    }
}

/// Index of a position that stands for none missing.
const NONE_MISSING: usize = usize::MAX;

fn locate_all<P: Position>(space: &Threads, elem_node: &ElemNode, crs: &CrsGraph, is_complete: bool) -> Result<Vec<P>> {
    let nodes_per_elem = elem_node.nodes_per_elem();
    let mut positions = try_zeroed::<P>("positions of elements", elem_node.as_slice().len() * nodes_per_elem)?;
    // Index of the lowest position without an entry.
    let missing = AtomicUsize::new(NONE_MISSING);
    // One row of an element matrix per item; chunks need not end with an element.
    space.for_each(positions.par_chunks_mut(nodes_per_elem * Threads::CHUNK).enumerate(), |(chunk, positions)| {
        let first = chunk * Threads::CHUNK;
        if let Some(at) = locate_slots(elem_node, crs, is_complete, first, positions) {
            missing.fetch_min(first * nodes_per_elem + at, Relaxed);
        }
    });
    match missing.into_inner() {
        NONE_MISSING => Ok(positions),
        at => {
            let (slot, element) = (at / nodes_per_elem, at / nodes_per_elem.pow(2));
            let [row, column] = [elem_node.as_slice()[slot], elem_node.elem(element)[at % nodes_per_elem]];
            Err(Error::MissingEntry { element, row: row as usize, column: column as usize })
        }
    }
}

/// Columns that are sought at once.
const SOUGHT: usize = 8;

/// Finds the positions of the slots from `first` on. Unless the pattern is complete, returns the index of the first position
/// without an entry.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
fn locate_slots<P: Position>(
    elem_node: &ElemNode,
    crs: &CrsGraph,
    is_complete: bool,
    first: usize,
    positions: &mut [P],
) -> Option<usize> {
    let nodes_per_elem = elem_node.nodes_per_elem();
    let mut missing = None;
    let rows = positions.chunks_exact_mut(nodes_per_elem).zip(&elem_node.as_slice()[first..]);
    for (slot, (positions, &row)) in rows.enumerate() {
        if row as usize >= crs.rows() {
            positions.fill(P::NONE);
            continue;
        }
        let (columns, elem) = (crs.row(row as usize), elem_node.elem((first + slot) / nodes_per_elem));
        if columns.len() <= COUNTED {
            for (positions, elem) in positions.chunks_mut(SOUGHT).zip(elem.chunks(SOUGHT)) {
                let sought = elem.first_chunk().copied().unwrap_or_else(|| {
                    let mut padded = [0; SOUGHT];
                    padded[..elem.len()].copy_from_slice(elem);
                    padded
                });
                let found = smaller(columns, &sought).map(|found| P::new(found as usize));
                match positions.first_chunk_mut() {
                    Some(positions) => *positions = found,
                    None => positions.copy_from_slice(&found[..elem.len()]),
                }
            }
        } else {
            let found = |column| P::new(columns.partition_point(|&other| other < column));
            positions.iter_mut().zip(elem).for_each(|(position, &column)| *position = found(column));
        }
        if !is_complete && missing.is_none() {
            let lacks = |(&position, column): (&P, &u32)| columns.get(position.get()) != Some(column);
            missing = positions.iter().zip(elem).position(lacks).map(|at| slot * nodes_per_elem + at);
        }
    }
    missing
}
