//! Strategy `gather`: each row gathers the nodes of its elements, sorts them and drops duplicates.
//!
//! Rows with at most 64 gathered nodes (8 hexahedra of 8 nodes) are sorted 16 at a time by a sorting network. The low bits of a key
//! hold the place that the node was gathered from. One sort therefore yields both graphs: the unique columns, and the position of
//! each element's node in the row. The nodes of longer rows (24 tetrahedra of 4 nodes) are numbered by a hash table, one row at a time.
//!
//! Cost: reads 4 bytes per gathered node; writes 4 bytes per column twice (a list per piece of rows, then the graph)
//! and 1 byte per position.

use super::sorting_network::{KEYS, Keys, PLACE_BITS, ROWS, sort_rows};
use super::unite_row::RowUnion;
use crate::graph::NodeElem;
use crate::graph::elem_graph::{ElemGraph, Position, Positions, with_position_type};
use crate::graph::slots::Slots;
use crate::graph::step;
use crate::mesh::{ElemNode, Sizes};
use crate::space::atomic::{Atomic, atomic_view};
use crate::space::{StepTimes, Threads, even_bounds, offsets, split_at, try_reserve, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;

pub(super) fn build(
    space: &Threads,
    elem_node: &ElemNode,
    rows: usize,
    times: &mut StepTimes,
) -> Result<(CrsGraph, ElemGraph)> {
    let lists = NodeElem::new(space, elem_node, rows)?;
    times.mark(step::LISTS);
    let per_elem = elem_node.nodes_per_elem();
    // Row lengths are unknown until the rows are sorted; the number of gathered nodes bounds them and selects the type.
    let most = (0..rows).map(|row| lists.slots(row).len()).max().unwrap_or(0) * per_elem;
    let mut counts = try_zeroed::<u32>("row lengths", rows)?;
    // Eight pieces per thread balance rows of different lengths; multiples of 16 rows keep the batches full.
    let bounds = even_bounds(rows, 8 * space.concurrency(), ROWS);
    let mut columns: Vec<Vec<LocalOrdinal>> = bounds.iter().skip(1).map(|_| Vec::new()).collect();
    let positions = with_position_type!(most, P => {
        let mut positions = all_none::<P>(space, elem_node, rows, elem_node.as_slice().len() * per_elem)?;
        let cells = atomic_view(&mut positions);
        let pieces = split_at(&mut counts, bounds.iter().copied()).into_par_iter().zip(&mut columns).enumerate();
        space.try_for_each(pieces, |(piece, (counts, columns))| {
            // Each position belongs to one row and thus to one piece, so relaxed stores suffice.
            let mut rows = Rows { elem_node, lists: &lists, counts, first: bounds[piece], columns, cells };
            rows.gather::<P>()
        })?;
        positions
    });
    times.mark(step::COUNT);
    let row_map = offsets(space, &counts)?;
    times.mark(step::SCAN);
    let mut entries = try_zeroed::<LocalOrdinal>("columns", row_map[rows] as usize)?;
    times.mark(step::ALLOCATE);
    let pieces = split_at(&mut entries, bounds.iter().map(|&row| row_map[row] as usize));
    // Copies each piece's columns to their final place, known only after the scan.
    space.for_each(pieces.into_par_iter().zip(&columns), |(entries, columns)| entries.copy_from_slice(columns));
    times.mark(step::COLUMNS);
    let crs = CrsGraph::trusted(row_map, entries, elem_node.node_count());
    let elem = ElemGraph::from_positions(elem_node, positions, &crs)?;
    Ok((crs, elem))
}

/// Bytes beside the graph: lists, lengths of rows, columns of the pieces.
pub(super) fn bytes(sizes: &Sizes) -> u64 {
    // A piece has room for half of the columns gathered, and for all where that is too little.
    let half = sizes.corners * sizes.nodes / 2;
    let room = if sizes.nnz > half { 2 * half } else { half };
    NodeElem::bytes(sizes.owned, sizes.corners) + 4 * sizes.owned + 4 * room
}

/// Returns the positions before any row is gathered. Only rows of other ranks keep the mark, so a table without such
/// rows needs no fill.
fn all_none<P: Position>(space: &Threads, elem_node: &ElemNode, rows: usize, len: usize) -> Result<Vec<P>> {
    let mut positions = try_zeroed::<P>("positions of elements", len)?;
    if rows < elem_node.node_count() {
        space.for_each(positions.par_chunks_mut(Threads::CHUNK), |positions| positions.fill(P::NONE));
    }
    Ok(positions)
}

/// A piece of the rows, processed by one task.
struct Rows<'a, C> {
    elem_node: &'a ElemNode,
    lists: &'a NodeElem,
    /// Entries per row of the piece.
    counts: &'a mut [u32],
    /// First row of the piece.
    first: usize,
    /// Columns of the piece's rows, row after row.
    columns: &'a mut Vec<LocalOrdinal>,
    /// Positions `[elem, i, j]` of all elements, shared with the other pieces.
    cells: &'a [C],
}

/// Bound on the distance of a column from its row. The distance takes the upper bits of a key.
const FARTHEST: u32 = 1 << (31 - PLACE_BITS);

/// Stands for a number of nodes per element that is known at run time only.
const ANY: usize = 0;

/// Nodes per element, known to the compiler unless `NN` is [`ANY`].
#[inline(always)]
fn per_elem<const NN: usize>(elem_node: &ElemNode) -> usize {
    if NN == ANY { elem_node.nodes_per_elem() } else { NN }
}

/// Gathers the keys of a batch of rows and returns the number of keys per row. Returns `None` when a row has too
/// many keys for the network or a column is too far from its row for a 32-bit key. Compiled once for all types of positions.
#[inline(never)]
fn load<const NN: usize>(
    elem_node: &ElemNode,
    lists: &NodeElem,
    first: usize,
    batch: Range<usize>,
    keys: &mut Keys,
) -> Option<[usize; ROWS]> {
    let (per_elem, table) = (per_elem::<NN>(elem_node), elem_node.as_slice());
    let mut gathered = [0; ROWS];
    let mut overflow = 0;
    for (lane, row) in batch.enumerate() {
        let slots = lists.slots(first + row);
        gathered[lane] = slots.len() * per_elem;
        if gathered[lane] > KEYS {
            return None;
        }
        let origin = ((first + row) as u32).wrapping_sub(FARTHEST);
        let mut place = 0;
        for &slot in slots {
            let elem = slot as usize / per_elem * per_elem;
            for &node in &table[elem..elem + per_elem] {
                let distance = node.wrapping_sub(origin);
                // Collects overflows without a branch. The largest distance is excluded, because its keys could
                // equal padding.
                overflow |= distance.wrapping_add(1) >> (32 - PLACE_BITS);
                keys[place][lane] = distance << PLACE_BITS | place as u32;
                place += 1;
            }
        }
        // Padding sorts behind all keys.
        keys[place..].iter_mut().for_each(|key| key[lane] = u32::MAX);
    }
    (overflow == 0).then_some(gathered)
}

impl<C> Rows<'_, C> {
    fn gather<P: Position + Atomic<Cell = C>>(&mut self) -> Result<()> {
        // The same code for hexahedra and tetrahedra, with the number of nodes a constant: no divisions, unrolled
        // loops.
        match self.elem_node.nodes_per_elem() {
            8 => self.gather_elems::<P, 8>(),
            4 => self.gather_elems::<P, 4>(),
            _ => self.gather_elems::<P, ANY>(),
        }
    }

    fn gather_elems<P: Position + Atomic<Cell = C>, const NN: usize>(&mut self) -> Result<()> {
        let per_elem = per_elem::<NN>(self.elem_node);
        let gathered = (self.first..self.first + self.counts.len()).map(|row| self.lists.slots(row).len() * per_elem);
        // A hexahedral or tetrahedral mesh keeps less than half of the gathered nodes. Pages beyond that are never
        // touched.
        try_reserve("columns of a piece", self.columns, gathered.sum::<usize>() / 2)?;
        // 8 KiB in total, which stays in the L1 cache for all batches of the piece.
        let (mut keys, mut ranks): (Keys, Keys) = ([[0; ROWS]; KEYS], [[0; ROWS]; KEYS]);
        let mut long = Long { row: RowUnion::default(), positions: Vec::new() };
        for batch in (0..self.counts.len()).step_by(ROWS) {
            let batch = batch..self.counts.len().min(batch + ROWS);
            if let Some(gathered) = load::<NN>(self.elem_node, self.lists, self.first, batch.clone(), &mut keys) {
                sort_rows(&mut keys, &mut ranks);
                for (lane, row) in batch.enumerate() {
                    self.store_short::<P, NN>(row, lane, gathered[lane], &keys, &ranks)?;
                }
            } else {
                batch.into_iter().try_for_each(|row| self.long_row::<P>(row, &mut long))?;
            }
        }
        Ok(())
    }

    /// Stores the columns and positions of a row whose sorted keys are in `lane`.
    #[inline(always)]
    fn store_short<P: Position + Atomic<Cell = C>, const NN: usize>(
        &mut self,
        row: usize,
        lane: usize,
        gathered: usize,
        keys: &Keys,
        ranks: &Keys,
    ) -> Result<()> {
        let origin = ((self.first + row) as u32).wrapping_sub(FARTHEST);
        let mut columns = [0; KEYS];
        let mut position = [0u8; KEYS];
        for (key, rank) in keys[..gathered].iter().zip(ranks) {
            let (key, at) = (key[lane], rank[lane] as usize - 1);
            columns[at % KEYS] = (key >> PLACE_BITS).wrapping_add(origin);
            position[key as usize % KEYS] = at as u8;
        }
        let count = if gathered == 0 { 0 } else { ranks[gathered - 1][lane] as usize };
        self.counts[row] = count as u32;
        try_reserve("columns of a piece", self.columns, count)?;
        self.columns.extend_from_slice(&columns[..count]);
        let per_elem = per_elem::<NN>(self.elem_node);
        for (&slot, position) in self.lists.slots(self.first + row).iter().zip(position.chunks_exact(per_elem)) {
            let cells = &self.cells[slot as usize * per_elem..][..per_elem];
            cells.iter().zip(position).for_each(|(cell, &p)| P::new(p.into()).store_in(cell));
        }
        Ok(())
    }

    /// Stores one row of any length.
    #[inline(never)]
    fn long_row<P: Position + Atomic<Cell = C>>(&mut self, row: usize, long: &mut Long<P>) -> Result<()> {
        let (per_elem, slots) = (self.elem_node.nodes_per_elem(), self.lists.slots(self.first + row));
        let missing = (slots.len() * per_elem).saturating_sub(long.positions.len());
        try_reserve("positions of a long row", &mut long.positions, missing)?;
        long.positions.resize(slots.len() * per_elem, P::NONE);
        let input = Slots::of_table(self.elem_node);
        let columns = self.elem_node.node_count();
        long.row.unite(&input, self.lists.slots_from(self.first + row), slots.len(), columns, &mut long.positions)?;
        let found = long.row.columns();
        self.counts[row] = found.len() as u32;
        try_reserve("columns of a piece", self.columns, found.len())?;
        self.columns.extend_from_slice(found);
        for (&slot, positions) in slots.iter().zip(long.positions.chunks_exact(per_elem)) {
            let cells = &self.cells[slot as usize * per_elem..][..per_elem];
            cells.iter().zip(positions).for_each(|(cell, &position)| position.store_in(cell));
        }
        Ok(())
    }
}

/// Working memory for long rows.
struct Long<P> {
    row: RowUnion,
    /// `[slot of the row, node of its element]`.
    positions: Vec<P>,
}
