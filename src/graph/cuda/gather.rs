//! Strategy `gather`: short rows of hexahedra in one pass; otherwise node -> element lists,
//! then rows of up to 1024 gathered nodes sorted in shared memory, one warp per row.
//!
//! Longer rows go to strategy `sort`. The limit of 1024 keys keeps a block of four warps at 16 KiB of shared memory.
//!
//! The usual tables are hexahedra with rows of at most 8 elements and 32 columns: two kernels and one
//! read-back.
//!
//! The first kernel stores each slot in its node's list of 8 places; an atomic counter gives the place. The second
//! kernel sorts the 64 gathered nodes of a row in the registers of one thread. Each key carries its place, so one sort
//! yields the unique columns and the element graph. A key holds distances below 2^25 nodes; where columns are farther, as those of
//! nodes at the border of a large part, another kernel takes each row's columns as two ranges. The first kernel decides which.
//! Row offsets come from a decoupled look-back over the preceding tiles.
//!
//! Bytes per node of a box: 32 written and read for the lists, 8 times 32 gathered through the caches, 128 written for
//! the columns, 64 for the positions.

use super::builder::{Builder, Built, SHARED_KEYS};
use super::lists::{HEX, STATE, short_lists};
use crate::Result;
use crate::graph::kernel_files::GRAPH;
use crate::graph::{ElemGraph, NodeElem, Positions, step};
use crate::mesh::Sizes;
use crate::space::cuda::{Grid, arguments};
use crate::space::{ExecutionSpace, StepTimes};
use crate::sparse::CrsGraph;

/// Bytes, `kept` of them of the graph.
pub(super) fn bytes(sizes: &Sizes, kept: u64) -> u64 {
    let lists = NodeElem::bytes(sizes.owned, sizes.corners) + 4 * sizes.owned;
    (lists + 4 * sizes.corners).max(lists + kept)
}

impl Builder<'_> {
    pub(super) fn gather(&self, times: &mut StepTimes) -> Result<Built> {
        if let Some(built) = self.short_rows(times)? {
            return Ok(built);
        }
        let (lists, longest) = NodeElem::with_longest(self.space, self.elem_node, self.rows)?;
        times.mark(step::LISTS);
        let gathered = longest * self.per_elem;
        if gathered > SHARED_KEYS {
            drop(lists);
            return self.sort(times);
        }
        let capacity = gathered.next_power_of_two();
        let (rows, nn, most) = (self.rows as u64, self.per_elem as u32, capacity as u32);
        let (nodes, map, lists) = (self.nodes, lists.row_map(), lists.slots_array());
        let mut counts = self.space.unfilled::<u32>(self.rows)?;
        let arguments = arguments![rows, nn, most, nodes, map, lists, &mut counts];
        self.sorting_warps(&GRAPH, "count_columns", capacity, arguments)?;
        self.finish(&counts, times, |row_map, _, entries| {
            let arguments = arguments![rows, nn, most, nodes, map, lists, row_map, entries];
            self.sorting_warps(&GRAPH, "fill_columns", capacity, arguments)
        })
    }
}

/// Largest number of columns per row.
const SHORT: usize = 32;
/// Rows per block.
const TILE: usize = 128;
/// Smallest distance between a row and a column that a key of one range cannot hold, as in the kernel.
const FARTHEST: usize = 1 << 25;

/// Bytes at the peak, and those of the columns until the graph is copied; `None` where rows do not fit. The number of entries is known
/// only at the end: 32 per row, or those of all elements.
pub(super) fn short_bytes(sizes: &Sizes) -> Option<[u64; 2]> {
    let (owned, columns) = (sizes.owned, 4 * (SHORT as u64 * sizes.owned).min((HEX * HEX) as u64 * sizes.elems));
    let fits = sizes.nodes == HEX as u64 && sizes.longest <= SHORT as u64;
    fits.then(|| [44 * owned + columns + ElemGraph::bytes(sizes), columns])
}

impl Builder<'_> {
    /// Builds both graphs, or returns `None` if some row does not fit. Memory for the entries is allocated for 32 per
    /// row, because the number of entries is known only at the end.
    fn short_rows(&self, times: &mut StepTimes) -> Result<Option<Built>> {
        if self.per_elem != HEX {
            return Ok(None);
        }
        let (space, rows, slots) = (self.space, self.rows, self.slots);
        let tiles = rows.div_ceil(TILE).max(1);
        let mut state = space.zeros::<u64>(STATE + tiles)?;
        let mut counts = space.zeros::<u32>(rows)?;
        let lists = short_lists(space, self.elem_node, &mut counts, &mut state)?;
        let mut row_map = space.unfilled::<u64>(rows + 1)?;
        let mut entries = space.unfilled::<u32>((rows * SHORT).min(slots * HEX))?;
        let mut positions = space.unfilled::<u8>(slots * HEX)?;
        if rows < self.elem_node.node_count() {
            space.fill_bytes(&mut positions, u8::MAX)?;
        }
        let mut numbers = [0; STATE];
        // Small graphs do not wait for the answer.
        if self.elem_node.node_count() > FARTHEST {
            space.read(&state, &mut numbers)?;
        }
        let [.., is_far] = numbers;
        let kernel = if is_far == 0 { "gather_rows" } else { "gather_rows_apart" };
        let (count, nodes, grid) = (rows as u64, self.nodes, Grid::new(tiles, TILE as u32));
        #[rustfmt::skip]
        let arguments =
            arguments![count, nodes, &counts, &lists, &mut row_map, &mut entries, &mut positions, &mut state];
        space.launch(&GRAPH, kernel, grid, arguments)?;
        space.read(&state, &mut numbers)?;
        let [_, total, misfits, long_lists, _] = numbers;
        if misfits != 0 || long_lists != 0 {
            times.mark(step::LISTS);
            return Ok(None);
        }
        let total = total as usize;
        times.mark(step::COLUMNS);
        entries.truncate(total);
        let crs = CrsGraph::from_parts(rows, self.elem_node.node_count(), total, row_map, entries);
        let elem = ElemGraph::from_parts(self.elem_node.clone(), Positions::U8(positions), &crs);
        Ok(Some((crs, elem)))
    }
}
