//! Where assembly adds to the rows of a host's matrix: in CRS, or in the slices that products read.
//!
//! ```text
//! CRS            value of entry p of a row    values[first + p]
//! listed slice   the same
//! other slices   value of entry p of a row    values[first + 32 place(p)]
//! ```
//! Entries whose mirrored one is stored have no place. Where a row has all offsets of its table, and those that are mirrored come first, places
//! are entries less the number of these. Other rows share a table of places with those that have the same offsets. Cost: one pass over the
//! row lengths, and over the columns of rows that lack an offset; 4 bytes per node.

use super::host_layout::{HostLayout, Table};
use super::host_unions::{LISTED, SLICE, WIDEST};
use crate::Result;
use crate::space::{Threads, try_zeroed};
use crate::sparse::CrsGraph;
use rayon::prelude::*;
use std::collections::HashMap;

/// Most unknowns of a node.
const DOFS: usize = 3;
/// A node whose rows have no table of places.
const REGULAR: u32 = u32::MAX;
/// An entry without a place.
pub(crate) const NO_PLACE: u16 = u16::MAX;
/// Place p of a row is 32 p values behind its first.
const SHIFT: u32 = SLICE.ilog2();

/// Places of the entries of a row, by their position in CRS.
type OfRow = [u16; DOFS * WIDEST];

/// Places of a matrix in slices.
#[derive(Clone, Debug)]
pub(in crate::sparse::format) struct Places {
    /// Table of places of each node, or [`REGULAR`].
    nodes: Vec<u32>,
    tables: Vec<OfRow>,
}

/// The rows of a matrix as assembly writes them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HostRows<'a> {
    /// In CRS.
    Crs(&'a CrsGraph),
    /// In slices.
    Slices(InSlices<'a>),
}

/// The rows of a matrix in slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InSlices<'a> {
    pub(super) graph: &'a CrsGraph,
    pub(super) layout: &'a HostLayout,
    pub(super) places: &'a Places,
}

/// Where the values of a row lie.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowPlaces<'a> {
    /// Value `first + ((p - skip) << shift)` is entry `p`; the first `skip` entries have none.
    Shifted { first: usize, skip: usize, shift: u32 },
    /// Value `first + (places[p] << shift)` is entry `p`, which has none where that is [`NO_PLACE`].
    Listed { first: usize, places: &'a [u16], shift: u32 },
}

impl Places {
    /// Finds the places of a graph's entries in a layout.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub(super) fn new(space: &Threads, graph: &CrsGraph, layout: &HostLayout) -> Result<Self> {
        let mut nodes = try_zeroed("places of rows", graph.rows() / layout.dofs)?;
        let mut found = vec![Vec::new(); nodes.len().div_ceil(Threads::CHUNK)];
        space.for_each(nodes.par_chunks_mut(Threads::CHUNK).zip(&mut found).enumerate(), |(chunk, (nodes, found))| {
            let mut ids = HashMap::new();
            for (node, id) in (chunk * Threads::CHUNK..).zip(nodes) {
                *id = offsets_of(graph, layout, node).map_or(REGULAR, |of| {
                    *ids.entry(of).or_insert_with(|| {
                        found.push(of);
                        found.len() as u32 - 1
                    })
                });
            }
        });
        let (mut ids, mut tables) = (HashMap::new(), Vec::new());
        let ids: Vec<Vec<u32>> = found
            .into_iter()
            .map(|found| {
                let id = |of| {
                    *ids.entry(of).or_insert_with(|| {
                        tables.push(places_of(layout, of));
                        tables.len() as u32 - 1
                    })
                };
                found.into_iter().map(id).collect()
            })
            .collect();
        space.for_each(nodes.par_chunks_mut(Threads::CHUNK).zip(&ids), |(nodes, ids)| {
            nodes.iter_mut().filter(|id| **id != REGULAR).for_each(|id| *id = ids[*id as usize]);
        });
        Ok(Places { nodes, tables })
    }
}

/// The number of leading offsets that are mirrored, if no other offset is.
fn skipped(table: Table) -> Option<usize> {
    let skip = table.mirrored.trailing_ones();
    (table.mirrored.count_ones() == skip).then_some(skip as usize)
}

/// Table of a node and a bit for each of its offsets that the node has; `None` where places follow from positions.
fn offsets_of(graph: &CrsGraph, layout: &HostLayout, node: usize) -> Option<(u32, u64)> {
    let (id, dofs) = (layout.slices[node / SLICE].table, layout.dofs);
    if id == LISTED {
        return None;
    }
    let (table, columns) = (layout.tables[id as usize], graph.row(dofs * node));
    let offsets = layout.offsets(table);
    if columns.len() == dofs * offsets.len() {
        let is_regular = dofs == 1 && skipped(table).is_some();
        return (!is_regular).then_some((id, (1 << offsets.len()) - 1));
    }
    let (mut has, mut k) = (0, 0);
    for &column in columns.iter().step_by(dofs) {
        let offset = (column / dofs as u32).wrapping_sub(node as u32) as i32;
        while offsets[k] != offset {
            k += 1;
        }
        has |= 1 << k;
    }
    Some((id, has))
}

/// Places of the entries of rows that have these offsets of a table.
fn places_of(layout: &HostLayout, (id, has): (u32, u64)) -> OfRow {
    let (table, dofs, mut places) = (layout.tables[id as usize], layout.dofs, [NO_PLACE; DOFS * WIDEST]);
    let present = (0..layout.offsets(table).len()).filter(|k| has >> k & 1 == 1);
    for (k, places) in present.zip(places.chunks_mut(dofs)) {
        if table.mirrored >> k & 1 == 0 {
            let first = dofs * dofs * table.stored_before(k);
            places.iter_mut().zip(first..).for_each(|(place, at)| *place = at as u16);
        }
    }
    places
}

impl<'a> HostRows<'a> {
    /// The graph of the matrix.
    pub fn graph(&self) -> &'a CrsGraph {
        match self {
            HostRows::Crs(graph) => graph,
            HostRows::Slices(slices) => slices.graph,
        }
    }

    /// Number of values, padding included.
    pub fn values(&self) -> usize {
        match self {
            HostRows::Crs(graph) => graph.nnz(),
            HostRows::Slices(slices) => slices.layout.unit() * slices.layout.len,
        }
    }

    /// Where the values of a row lie.
    #[inline(always)]
    pub fn row(&self, row: usize) -> RowPlaces<'a> {
        match self {
            HostRows::Crs(graph) => RowPlaces::Shifted { first: graph.row_map()[row] as usize, skip: 0, shift: 0 },
            HostRows::Slices(slices) => slices.row(row),
        }
    }

    /// Index of the value of an entry of CRS: that of the mirrored entry, where it stands for both.
    pub fn value(&self, row: usize, position: usize) -> usize {
        self.stored(row, position).unwrap_or_else(|| {
            let column = self.graph().row(row)[position] as usize;
            let mirrored = self.graph().row(column).binary_search(&(row as u32));
            let stored = mirrored.ok().and_then(|position| self.stored(column, position));
            stored.expect("an entry without a place has a mirrored one with a place")
        })
    }

    fn stored(&self, row: usize, position: usize) -> Option<usize> {
        match self.row(row) {
            RowPlaces::Shifted { first, skip, shift } => {
                position.checked_sub(skip).map(|place| first + (place << shift))
            }
            RowPlaces::Listed { first, places, shift } => {
                let place = places[position];
                (place != NO_PLACE).then(|| first + (usize::from(place) << shift))
            }
        }
    }
}

impl<'a> InSlices<'a> {
    #[inline(always)]
    fn row(&self, row: usize) -> RowPlaces<'a> {
        let InSlices { graph, layout, places } = *self;
        // Constant divisors.
        let (node, c) = match layout.dofs {
            1 => (row, 0),
            2 => (row / 2, row % 2),
            _ => (row / 3, row % 3),
        };
        let slice = layout.slices[node / SLICE];
        let first = layout.unit() * slice.start;
        if slice.table == LISTED {
            let start = graph.row_map()[layout.dofs * (node / SLICE * SLICE)];
            let first = first + (graph.row_map()[row] - start) as usize;
            return RowPlaces::Shifted { first, skip: 0, shift: 0 };
        }
        let first = first + layout.dofs * c * SLICE + node % SLICE;
        match places.nodes[node] {
            REGULAR => {
                let skip = layout.tables[slice.table as usize].mirrored.trailing_ones() as usize;
                RowPlaces::Shifted { first, skip, shift: SHIFT }
            }
            id => RowPlaces::Listed { first, places: &places.tables[id as usize], shift: SHIFT },
        }
    }
}
