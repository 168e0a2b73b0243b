//! Strategy `map`: finds unique pairs with the set of fixed capacity. Count, allocate, fill.
//!
//! The algorithm is the host's, except that a row's own column takes no slot: a row that has an element also has its own
//! column. Each row has a slot for each insert into it, so no insert fails and the host need not look.
//!
//! Cost: 4 n (n - 1) bytes per element of n nodes, and 20 per row; n atomic additions and as many compare-and-swaps as
//! there are entries.

use super::builder::{Builder, Built, SHARED_KEYS, TEAM, THREADS, WARP};
use crate::Result;
use crate::graph::MapStats;
use crate::graph::kernel_files::GRAPH_MAP;
use crate::mesh::Sizes;
use crate::space::cuda::{Argument, CudaArray, Grid, arguments, bits_of};
use crate::space::{ExecutionSpace, StepTimes};
use crate::sparse::CrsGraph;

/// Longest row that a single thread sorts.
const SHORT: usize = 32;
/// Threads that count the columns of a row.
const LANES: usize = 8;

/// Bytes, `kept` of them of the graph.
pub(super) fn bytes(sizes: &Sizes, kept: u64) -> u64 {
    let slots = sizes.nodes * (sizes.nodes - 1) * sizes.elems;
    (4 * slots + 12 * sizes.owned + CrsGraph::bytes(sizes.owned, sizes.nnz)).max(4 * sizes.owned + kept)
}

impl Builder<'_> {
    pub(super) fn map(&self, times: &mut StepTimes) -> Result<(Built, MapStats)> {
        let (space, nn, rows, slots) = (self.space, self.per_elem as u32, self.rows as u64, self.slots as u64);
        let mut counts = space.zeros::<u32>(self.rows)?;
        space.graph_items("count_slots", self.slots, arguments![slots, rows, self.nodes, &mut counts])?;
        let (starts, _) = space.scan(self.rows, &counts)?;
        let capacity = self.slots * (self.per_elem - 1);
        let mut table = space.zeros::<u32>(capacity)?;
        let name = if nn == 8 { "insert_hex" } else { "insert_any" };
        self.pairs(name, self.slots, arguments![slots, nn, rows, self.nodes, &starts, &mut table])?;
        self.pairs("count_stored", self.rows * LANES, arguments![rows, nn, &starts, &table, &mut counts])?;
        let built = self.finish(&counts, times, |row_map, longest, entries| {
            let is_short = longest <= SHORT;
            let arguments = arguments![rows, nn, &starts, &table, row_map, &mut *entries];
            if is_short {
                let grid = Grid::cover(self.rows, TEAM);
                return space.launch(&GRAPH_MAP, "fill_short_rows", grid, arguments);
            }
            self.pairs("fill_rows", self.rows * WARP, arguments)?;
            // Frees the set before the rows are sorted, which lowers the peak memory.
            drop((starts, table));
            self.sort_rows(row_map, longest, entries)
        })?;
        let (capacity, counted) = (capacity as u64, None);
        Ok((built, MapStats { capacity, retries: 0, failed: 0, counted }))
    }

    fn pairs(&self, name: &'static str, items: usize, arguments: &[Argument]) -> Result<()> {
        self.space.launch(&GRAPH_MAP, name, Grid::cover(items, THREADS), arguments)
    }

    /// Sorts the columns of each row, by the method that fits the longest row.
    fn sort_rows(&self, row_map: &CudaArray<u64>, longest: usize, entries: &mut CudaArray<u32>) -> Result<()> {
        let (rows, nnz) = (self.rows as u64, entries.len());
        if longest <= SHARED_KEYS {
            let capacity = longest.next_power_of_two();
            let arguments = arguments![rows, capacity as u32, row_map, entries];
            return self.sorting_warps(&GRAPH_MAP, "sort_rows", capacity, arguments);
        }
        let mut keys = self.space.unfilled::<u64>(nnz)?;
        let arguments = arguments![rows, row_map, &*entries, &mut keys];
        self.pairs("entry_keys", self.rows * WARP, arguments)?;
        // A radix sort is stable: sorting by column and then by row orders the columns within each row.
        let keys = self.space.sort_keys(keys, 0..bits_of(self.elem_node.node_count()))?;
        let keys = self.space.sort_keys(keys, 32..32 + bits_of(self.rows))?;
        self.space.graph_items("lower_halves", nnz, arguments![nnz as u64, &keys, entries])
    }
}
