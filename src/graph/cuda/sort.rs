//! Strategy `sort`: every pair of every element as a key, a radix sort, duplicates dropped.
//!
//! Memory for the keys twice, 8 bytes each: 1 KiB an element of 8 nodes. 24 bytes a key are moved for each 8 bits of row and
//! column.

use super::{Builder, Built, bits_of};
use crate::Result;
use crate::space::StepTimes;
use crate::space::cuda::arguments;

impl Builder<'_> {
    pub(super) fn sort(&self, times: &mut StepTimes) -> Result<Built> {
        let (space, rows, pairs) = (self.space, self.rows as u64, self.slots * self.per_elem);
        let column_bits = bits_of(self.elem_node.node_count().saturating_sub(1));
        let mut keys = space.unfilled::<u64>(pairs)?;
        let arguments = arguments![pairs as u64, self.per_elem as u32, rows, column_bits, self.nodes, &mut keys];
        self.items("pair_keys", pairs, arguments)?;
        let keys = space.sort_keys(keys, 0..column_bits + bits_of(self.rows))?;
        let mut starts = space.unfilled::<u64>(self.rows + 1)?;
        let arguments = arguments![rows, pairs as u64, column_bits, &keys, &mut starts];
        self.items("row_starts", self.rows + 1, arguments)?;
        let mut counts = space.unfilled::<u32>(self.rows)?;
        self.warps("count_unique", arguments![rows, &keys, &starts, &mut counts])?;
        self.finish(&mut counts, times, |row_map, _, _, entries| {
            self.warps("fill_unique", arguments![rows, column_bits, &keys, &starts, row_map, entries])
        })
    }
}
