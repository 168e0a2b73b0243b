//! Strategy `sort`: writes each pair of each element as a key, sorts the keys by radix and drops duplicates.
//!
//! Memory: two arrays of 8-byte keys, 1 KiB per element of 8 nodes. The sort moves 24 bytes per key for every 8 bits of
//! row and column.

use super::builder::{Builder, Built, WARP};
use crate::Result;
use crate::mesh::Sizes;
use crate::space::StepTimes;
use crate::space::cuda::{arguments, bits_of};

/// Bytes, `kept` of them of the graph.
pub(super) fn bytes(sizes: &Sizes, kept: u64) -> u64 {
    let pairs = sizes.nodes * sizes.nodes * sizes.elems;
    (pairs * 67 / 4).max(8 * pairs + 12 * sizes.owned + kept)
}

impl Builder<'_> {
    pub(super) fn sort(&self, times: &mut StepTimes) -> Result<Built> {
        let (space, rows, pairs) = (self.space, self.rows as u64, self.slots * self.per_elem);
        // Packing row and column without a gap saves radix passes: each covers 8 bits.
        let column_bits = bits_of(self.elem_node.node_count().saturating_sub(1));
        let mut keys = space.unfilled::<u64>(pairs)?;
        let arguments = arguments![pairs as u64, self.per_elem as u32, rows, column_bits, self.nodes, &mut keys];
        space.graph_items("pair_keys", pairs, arguments)?;
        let keys = space.sort_keys(keys, 0..column_bits + bits_of(self.rows))?;
        // Row starts by binary search in the sorted keys replace a count with atomics.
        let mut starts = space.unfilled::<u64>(self.rows + 1)?;
        let arguments = arguments![rows, pairs as u64, column_bits, &keys, &mut starts];
        space.graph_items("row_starts", self.rows + 1, arguments)?;
        let mut counts = space.unfilled::<u32>(self.rows)?;
        space.graph_items("count_unique", self.rows * WARP, arguments![rows, &keys, &starts, &mut counts])?;
        self.finish(&counts, times, |row_map, _, entries| {
            space.graph_items(
                "fill_unique",
                self.rows * WARP,
                arguments![rows, column_bits, &keys, &starts, row_map, entries],
            )
        })
    }
}
