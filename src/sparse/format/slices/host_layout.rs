//! Layout of a pattern in slices of 32 rows for products on a host; of 32 nodes where these have several unknowns, see
//! [`host_blocks`](super::host_blocks). The table below is that of single rows.
//!
//! ```text
//! table of a slice   union of column - row over its rows, ascending; equal slices share it
//! value k of row r   values[start of the slice + 32 k + r % 32], k counts the stored offsets of the table
//! listed slice       entries in the order of CRS; its columns are those of the graph
//! ```
//! A slice has a table if its union has at most 40 offsets and at most 3/2 of the longest row's. In the symmetric form an offset -o is
//! mirrored, not stored, where all rows that it leads to lie in slices with tables: entry (i, i - o) is read as (i - o, i). These
//! 32 values are in one or two slices, whose places (links) are kept relative to the slice's start. Other entries below the diagonal,
//! and those of ghost columns, are stored as they are. Cost: one pass over the entries, in parallel over blocks of slices.

use super::host_nodes::{dofs, of_nodes};
use super::host_unions::{BLOCK, Found, LISTED, SLICE, count_sides, unions};
use crate::space::{Threads, try_with_capacity};
use crate::sparse::CrsGraph;
use crate::{Error, Result};
use rayon::prelude::*;
use std::collections::HashMap;

/// Items before the first slice; the second half is zero padding, read for missing partners.
pub(super) const FRONT: usize = 2 * SLICE;
/// Items behind the last slice, which vectors of values may overlap.
const BACK: usize = SLICE;

/// Place of a slice's values, its table and its links.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slice {
    pub start: usize,
    /// Index of the table, or [`LISTED`].
    pub table: u32,
    /// Index of the first link; one per mirrored offset.
    pub links: u32,
}

/// Offsets of a table, and which of them are mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Table {
    first: u32,
    len: u32,
    pub mirrored: u64,
}

impl Table {
    /// Number of offsets before `at` that are stored.
    pub fn stored_before(&self, at: usize) -> usize {
        at - (self.mirrored & ((1 << at) - 1)).count_ones() as usize
    }
}

/// Where the values of a matrix lie. Slices are of rows or, with several unknowns per node, of nodes: see [`host_blocks`](super::host_blocks).
#[derive(Clone, Debug)]
pub(super) struct HostLayout {
    /// Unknowns of a node.
    pub dofs: usize,
    pub slices: Vec<Slice>,
    pub tables: Vec<Table>,
    pub offsets: Vec<i32>,
    /// Distances from a slice's start back to the values of an offset's partner slices.
    pub links: Vec<[usize; 2]>,
    /// Number of places with padding, each of `dofs`^2 values.
    pub len: usize,
    /// Rows in slices without a table.
    pub listed: usize,
}

impl HostLayout {
    /// Lays out a graph.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had; [`Error::Invalid`] for the symmetric form of a graph with different numbers of
    /// entries below and above its diagonal.
    pub fn new(space: &Threads, graph: &CrsGraph, symmetric: bool) -> Result<Self> {
        match dofs(space, graph) {
            1 => HostLayout::of_rows(space, graph, symmetric),
            dofs => {
                let layout = HostLayout::of_rows(space, &of_nodes(space, graph, dofs)?, symmetric)?;
                Ok(HostLayout { dofs, listed: dofs * layout.listed, ..layout })
            }
        }
    }

    fn of_rows(space: &Threads, graph: &CrsGraph, symmetric: bool) -> Result<Self> {
        let count = graph.rows().div_ceil(SLICE);
        let mut found = vec![Found::default(); count.div_ceil(BLOCK)];
        // Offsets have 31 bits.
        if graph.columns().max(graph.rows()) <= i32::MAX as usize {
            space.for_each(found.par_iter_mut().enumerate(), |(block, found)| *found = unions(graph, block));
        } else {
            found.iter_mut().enumerate().for_each(|(block, found)| {
                found.slices = vec![LISTED; BLOCK.min(count - block * BLOCK)];
                let first = block * BLOCK * SLICE;
                count_sides(graph, first..graph.rows().min(first + BLOCK * SLICE), &[], &mut found.sides);
            });
        }
        if symmetric {
            check_balance(&found)?;
        }
        let mut layout = HostLayout::of_unions(found, count)?;
        if symmetric {
            layout.mirror(space);
        }
        let mut at = FRONT;
        for (slice, place) in layout.slices.iter_mut().enumerate() {
            place.start = at;
            at += match place.table {
                LISTED => {
                    let (first, end) = (slice * SLICE, graph.rows().min((slice + 1) * SLICE));
                    layout.listed += end - first;
                    (graph.row_map()[end] - graph.row_map()[first]) as usize
                }
                table => {
                    let table = layout.tables[table as usize];
                    SLICE * table.stored_before(table.len as usize)
                }
            };
        }
        layout.len = at + BACK;
        if symmetric {
            layout.link(space);
        }
        Ok(layout)
    }

    /// Values of each place: D^2 of D unknowns per node.
    #[inline(always)]
    pub fn unit(&self) -> usize {
        self.dofs * self.dofs
    }

    /// Gives equal unions one table.
    fn of_unions(found: Vec<Found>, count: usize) -> Result<Self> {
        let (mut ids, mut tables, mut offsets) = (HashMap::new(), Vec::new(), Vec::new());
        let mut slices = try_with_capacity("slices of the matrix", count)?;
        for Found { unions, slices: own, .. } in found {
            let global: Vec<u32> = unions
                .into_iter()
                .map(|union| {
                    *ids.entry(union).or_insert_with_key(|union| {
                        tables.push(Table { first: offsets.len() as u32, len: union.len() as u32, mirrored: 0 });
                        offsets.extend_from_slice(union);
                        tables.len() as u32 - 1
                    })
                })
                .collect();
            let table = |own: u32| if own == LISTED { LISTED } else { global[own as usize] };
            slices.extend(own.into_iter().map(|own| Slice { table: table(own), ..Slice::default() }));
        }
        Ok(HostLayout { dofs: 1, slices, tables, offsets, links: Vec::new(), len: 0, listed: 0 })
    }

    /// The offsets of a table.
    #[inline(always)]
    pub fn offsets(&self, table: Table) -> &[i32] {
        &self.offsets[table.first as usize..][..table.len as usize]
    }

    /// The slices that an offset below the diagonal leads to from a slice, and how many rows are in the first. A slice before the matrix
    /// is `None`.
    fn partners(slice: usize, offset: i32) -> ([Option<usize>; 2], usize) {
        let row = (slice * SLICE) as i64 + i64::from(offset);
        let (first, at) = (row.div_euclid(SLICE as i64), row.rem_euclid(SLICE as i64) as usize);
        let second = if at == 0 { first } else { first + 1 };
        ([first, second].map(|slice| usize::try_from(slice).ok()), SLICE - at)
    }

    /// Decides which offsets are mirrored.
    fn mirror(&mut self, space: &Threads) {
        let (slices, tables, this) = (&self.slices, &self.tables, &*self);
        let mut masks = vec![0u64; slices.len()];
        space.for_each(masks.par_chunks_mut(BLOCK).enumerate(), |(block, masks)| {
            for (i, mask) in masks.iter_mut().enumerate() {
                let slice = block * BLOCK + i;
                if slices[slice].table == LISTED {
                    continue;
                }
                let offsets = this.offsets(tables[slices[slice].table as usize]);
                for (k, &offset) in offsets.iter().enumerate().take_while(|(_, offset)| **offset < 0) {
                    let (partners, _) = Self::partners(slice, offset);
                    if partners.iter().flatten().all(|&partner| slices[partner].table != LISTED) {
                        *mask |= 1 << k;
                    }
                }
            }
        });
        let (mut ids, mut split) = (HashMap::new(), Vec::new());
        for (slice, mirrored) in self.slices.iter_mut().zip(masks).filter(|(slice, _)| slice.table != LISTED) {
            let table = Table { mirrored, ..self.tables[slice.table as usize] };
            slice.table = *ids.entry(table).or_insert_with(|| {
                split.push(table);
                split.len() as u32 - 1
            });
        }
        self.tables = split;
    }

    /// Finds where mirrored values lie. Neighbouring slices with equal distances share them.
    fn link(&mut self, space: &Threads) {
        let (slices, this) = (&self.slices, &*self);
        let mut found = vec![(Vec::new(), Vec::new()); slices.len().div_ceil(BLOCK)];
        space.for_each(found.par_iter_mut().enumerate(), |(block, (links, starts))| {
            let (mut own, mut last) = (Vec::new(), 0);
            for slice in (block * BLOCK..slices.len()).take(BLOCK) {
                own.clear();
                if slices[slice].table != LISTED {
                    let table = this.tables[slices[slice].table as usize];
                    for (k, &offset) in this.offsets(table).iter().enumerate() {
                        if table.mirrored >> k & 1 == 1 {
                            let (partners, _) = Self::partners(slice, offset);
                            let place =
                                |partner: Option<usize>| slices[slice].start.wrapping_sub(this.place(partner, -offset));
                            own.push(partners.map(place));
                        }
                    }
                }
                if links[last..] != own[..] {
                    last = links.len();
                    links.extend_from_slice(&own);
                }
                starts.push(last as u32);
            }
        });
        let mut links = Vec::with_capacity(found.iter().map(|(links, _)| links.len()).sum());
        for ((own, starts), slices) in found.into_iter().zip(self.slices.chunks_mut(BLOCK)) {
            let base = links.len() as u32;
            slices.iter_mut().zip(starts).for_each(|(slice, start)| slice.links = base + start);
            links.extend(own);
        }
        self.links = links;
    }

    /// Where the values of a slice at an offset begin; zeros if it has none.
    fn place(&self, slice: Option<usize>, offset: i32) -> usize {
        const ZEROS: usize = FRONT - SLICE;
        let Some(slice) = slice.map(|slice| self.slices[slice]) else { return ZEROS };
        let table = self.tables[slice.table as usize];
        let at = self.offsets(table).binary_search(&offset);
        at.map_or(ZEROS, |at| slice.start + SLICE * table.stored_before(at))
    }
}

/// Counts the rows in slices without a table. One pass over the entries.
///
/// # Errors
/// [`Error::OutOfMemory`] where the memory cannot be had.
pub(in crate::sparse::format) fn irregular_rows(space: &Threads, graph: &CrsGraph) -> Result<usize> {
    Ok(HostLayout::new(space, graph, false)?.listed)
}

/// Refuses a graph whose owned columns have different numbers of entries below and above the diagonal.
fn check_balance(found: &[Found]) -> Result<()> {
    let [below, above] = [0, 1].map(|side| found.iter().map(|found| found.sides[side]).sum::<u64>());
    if below == above {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "format symmetric: the matrix is not symmetric: {below} entries below the diagonal, {above} above it; \
         choose crs or pattern"
    )))
}
