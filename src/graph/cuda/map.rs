//! Strategy `map`: finds unique undirected pairs with the fixed-capacity set, which grows and is filled again until no
//! insert fails.
//!
//! The algorithm is the host's, except that the pair of a node with itself is not stored: a row that has any pair also
//! has its own column. This saves 8 of the 36 inserts per hexahedron.

use super::builder::{Builder, Built, SHARED_KEYS, TEAM, THREADS, WARP};
use crate::graph::growth::{ATTEMPTS, BY_ROW, grown};
use crate::graph::kernel_files::GRAPH_MAP;
use crate::graph::step;
use crate::graph::{MapStats, PairMap};
use crate::space::cuda::{Argument, CudaArray, Grid, arguments, bits_of};
use crate::space::{ExecutionSpace, StepTimes};
use crate::{Error, Result};

/// Slots per row in the first attempt. An inner node of a box of hexahedra has 13 pairs with larger nodes.
const SLOTS: usize = 16;
/// Longest row that a single thread sorts.
const SHORT: usize = 32;

impl Builder<'_> {
    pub(super) fn map(&self, times: &mut StepTimes) -> Result<(Built, MapStats)> {
        let (space, rows) = (self.space, self.rows as u64);
        let (table, stats) = self.insert_all(times)?;
        let slots = table.len() as u64;
        let mut counts = space.zeros::<u32>(self.rows)?;
        self.pairs("count_pairs", table.len(), arguments![slots, rows, &table, &mut counts])?;
        // Elements of one node have only diagonal pairs, which are then in the set.
        let has_diagonal = self.per_elem > 1;
        if has_diagonal {
            self.pairs("count_diagonal", self.rows, arguments![rows, &mut counts])?;
        }
        let built = self.finish(&mut counts, times, |row_map, longest, counts, entries| {
            let arguments = arguments![slots, rows, &table, row_map, counts, &mut *entries];
            self.pairs("fill_pairs", table.len(), arguments)?;
            // Frees the set before the rows are sorted, which lowers the peak memory.
            drop(table);
            if has_diagonal {
                self.pairs("fill_diagonal", self.rows, arguments![rows, row_map, &mut *entries])?;
            }
            self.sort_rows(row_map, longest, entries)
        })?;
        Ok((built, stats))
    }

    fn pairs(&self, name: &'static str, items: usize, arguments: &[Argument]) -> Result<()> {
        self.space.launch(&GRAPH_MAP, name, Grid::cover(items, THREADS), arguments)
    }

    /// Returns a set that contains all pairs, and what the host knows of its inserts.
    fn insert_all(&self, times: &mut StepTimes) -> Result<(CudaArray<u64>, MapStats)> {
        let (space, nn, rows) = (self.space, self.per_elem, self.rows);
        let upper = self.slots * (nn + 1) / 2;
        // A quarter more slots than inserts bounds the size for tables with few elements per node.
        let mut wanted = (rows * SLOTS).min(upper + upper / 4);
        let (mut failed, mut stats) = ([0u64], MapStats::default());
        for attempt in 0..ATTEMPTS {
            let slots_per_row = wanted.div_ceil(rows.max(1)).max(1);
            let capacity = (slots_per_row * rows).max(PairMap::PROBES);
            // 0 slots per row: the pairs are scattered over the whole table.
            let share = if attempt < BY_ROW { slots_per_row as u32 } else { 0 };
            let mut table = space.zeros::<u64>(capacity)?;
            let mut failures = space.zeros::<u64>(1)?;
            let name = if nn == 8 { "insert_hex" } else { "insert_any" };
            let sizes = (self.slots as u64, nn as u32, rows as u64, capacity as u64);
            let arguments =
                arguments![sizes.0, sizes.1, sizes.2, sizes.3, share, self.nodes, &mut table, &mut failures];
            self.pairs(name, self.slots, arguments)?;
            // The only wait per attempt: the host must know whether to grow the set.
            space.read(&failures, &mut failed)?;
            times.mark(step::COUNT);
            if failed[0] == 0 {
                return Ok((table, MapStats { capacity: capacity as u64, retries: attempt as u64, ..stats }));
            }
            stats.failed += failed[0];
            wanted = grown(capacity, failed[0] as usize);
        }
        Err(Error::MapFull { capacity: wanted, failed: failed[0] as usize, attempts: ATTEMPTS })
    }

    /// Sorts the columns of each row, by the method that fits the longest row.
    fn sort_rows(&self, row_map: &CudaArray<u64>, longest: usize, entries: &mut CudaArray<u32>) -> Result<()> {
        let (rows, nnz) = (self.rows as u64, entries.len());
        if longest <= SHORT {
            let grid = Grid::cover(self.rows, TEAM);
            return self.space.launch(&GRAPH_MAP, "sort_short_rows", grid, arguments![rows, row_map, entries]);
        }
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
        self.items("lower_halves", nnz, arguments![nnz as u64, &keys, entries])
    }
}
