//! Strategy `dashmap`: finds the unique pairs with the concurrent map of crate dashmap.
//!
//! This strategy is the baseline: what a Rust user would try first. The map grows under locks and stores 8 bytes per
//! pair plus the map's own overhead.

use super::pairs;
use crate::Result;
use crate::graph::step;
use crate::mesh::ElemNode;
use crate::space::atomic::atomic_view;
use crate::space::{HostSpace, StepTimes, admit, try_reserve, try_zeroed};
use crate::sparse::CrsGraph;
use ::dashmap::DashMap;
use foldhash::fast::FixedState;
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

/// Number of locks in the map. With fewer shards, one preempted lock holder stalls all threads.
const SHARDS: usize = 1024;

/// Elements per task: enough inserts to hide the cost of starting a task.
const BLOCK: usize = 512;

/// Bytes of a slot: a key and a byte of the table's own.
const SLOT: usize = 9;

pub(super) fn build<S: HostSpace>(
    space: &S,
    elem_node: &ElemNode,
    rows: usize,
    times: &mut StepTimes,
) -> Result<CrsGraph> {
    // The crate aborts when its memory is not available. Its tables are powers of two, at most 7/8 full.
    admit("pairs of dashmap", (rows * 14 * 8 / 7).next_power_of_two() * SLOT)?;
    // Capacity for 14 pairs per row, as in strategy `map`, so that growth under locks is rare.
    let map = DashMap::with_capacity_and_hasher_and_shard_amount(rows * 14, FixedState::default(), SHARDS);
    let mut counts = try_zeroed::<u32>("row lengths", rows)?;
    let cells = atomic_view(&mut counts);
    let per_elem = elem_node.nodes_per_elem();
    space.for_each(elem_node.as_slice().par_chunks(BLOCK * per_elem), |elems| {
        for nodes in elems.chunks_exact(per_elem) {
            pairs::for_each_pair(nodes, rows, |key| {
                // The insert is atomic, so exactly one thread counts each pair.
                if map.insert(key, ()).is_none() {
                    let (low, high) = pairs::nodes(key);
                    cells[low as usize].fetch_add(1, Relaxed);
                    if high != low && (high as usize) < rows {
                        cells[high as usize].fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    let mut keys: Vec<u64> = Vec::new();
    try_reserve("keys of all pairs", &mut keys, map.len())?;
    keys.extend(map.into_iter().map(|(key, ())| key));
    times.mark(step::COUNT);
    pairs::to_graph(space, elem_node, counts, &keys, u64::MAX, times)
}
