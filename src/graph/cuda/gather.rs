//! Strategy `gather`: short rows in one pass where [`short`](super::short) applies; otherwise node -> element lists,
//! then rows of up to 1024 gathered nodes sorted in shared memory, one warp per row.
//!
//! Longer rows go to strategy `sort`. The limit of 1024 keys keeps a block of four warps at 16 KiB of shared memory.

use super::builder::{Builder, Built, SHARED_KEYS};
use crate::Result;
use crate::graph::NodeElem;
use crate::graph::kernel_files::GRAPH;
use crate::graph::step;
use crate::mesh::Sizes;
use crate::space::StepTimes;
use crate::space::cuda::arguments;

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
