//! Strategy `dashmap`: finds the unique undirected pairs with the concurrent map of crate dashmap.
//!
//! This strategy is the baseline: what a Rust user would try first. The map grows under locks and stores 8 bytes per
//! pair plus the map's own overhead.

use super::smaller::sort_row;
use crate::graph::step;
use crate::mesh::{ElemNode, Sizes};
use crate::space::atomic::atomic_view;
use crate::space::{StepTimes, Threads, admit, offsets, try_reserve, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
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

/// Bytes with those of the pattern. The keys are listed before the tables are dropped.
pub(super) fn bytes(sizes: &Sizes, pattern: u64) -> u64 {
    let pairs = sizes.nnz.div_ceil(2) + sizes.owned.div_ceil(2);
    let expected = sizes.corners * (sizes.nodes - 1) / 2 + sizes.owned;
    let part = pairs.max(expected).div_ceil(SHARDS as u64).max(1);
    let tables = (SHARDS * SLOT) as u64 * (part * 8).div_ceil(7).next_power_of_two().max(4);
    4 * sizes.owned + 8 * pairs + tables.max(pattern)
}

pub(super) fn build(space: &Threads, elem_node: &ElemNode, rows: usize, times: &mut StepTimes) -> Result<CrsGraph> {
    let expected = expected_pairs(elem_node, rows);
    // The crate aborts when its memory is not available. Its tables are powers of two, at most 7/8 full.
    admit("pairs of dashmap", (expected * 8 / 7).next_power_of_two() * SLOT)?;
    let map = DashMap::with_capacity_and_hasher_and_shard_amount(expected, FixedState::default(), SHARDS);
    let mut counts = try_zeroed::<u32>("row lengths", rows)?;
    let cells = atomic_view(&mut counts);
    let per_elem = elem_node.nodes_per_elem();
    space.for_each(elem_node.as_slice().par_chunks(BLOCK * per_elem), |elems| {
        for nodes in elems.chunks_exact(per_elem) {
            for_each_pair(nodes, rows, |low, high| {
                // The insert is atomic, so exactly one thread counts each pair.
                if map.insert(u64::from(low) << 32 | u64::from(high), ()).is_none() {
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
    to_graph(space, elem_node, counts, &keys, times)
}

/// Returns how many pairs the map holds without growing: an upper bound, the pairs of all elements' nodes that have a row,
/// and each row with itself.
fn expected_pairs(elem_node: &ElemNode, rows: usize) -> usize {
    let of_elem = |nodes: &[LocalOrdinal]| {
        let owned = nodes.iter().filter(|&&node| (node as usize) < rows).count();
        owned * (nodes.len() - owned) + owned * owned.saturating_sub(1) / 2
    };
    elem_node.iter().map(of_elem).sum::<usize>() + rows
}

/// Calls `insert` with each undirected pair of an element's nodes that has a row, the smaller node first.
#[inline(always)]
fn for_each_pair(nodes: &[LocalOrdinal], rows: usize, mut insert: impl FnMut(u32, u32)) {
    for (i, &a) in nodes.iter().enumerate() {
        for &b in &nodes[i..] {
            if (a.min(b) as usize) < rows {
                insert(a.min(b), a.max(b));
            }
        }
    }
}

/// Scans, allocates, fills and sorts, from the entries per row and the unique keys.
///
/// Each pair stores each of its nodes in the other's row. An atomic counter per row gives the place; sorting the row
/// then makes the result independent of the order of the threads.
fn to_graph(
    space: &Threads,
    elem_node: &ElemNode,
    mut counts: Vec<u32>,
    keys: &[u64],
    times: &mut StepTimes,
) -> Result<CrsGraph> {
    let rows = counts.len();
    let row_map = offsets(space, &counts)?;
    times.mark(step::SCAN);
    let mut entries = try_zeroed::<LocalOrdinal>("columns", row_map[rows] as usize)?;
    times.mark(step::ALLOCATE);
    let (places, cells) = (atomic_view(&mut counts), atomic_view(&mut entries));
    // Counting down from the row's length reuses the counts as fill positions.
    let put = |row: u32, column: u32| {
        // Ghost nodes have no row, and their counter does not exist.
        if let Some(left) = places.get(row as usize) {
            let place = left.fetch_sub(1, Relaxed) - 1;
            cells[(row_map[row as usize] + u64::from(place)) as usize].store(column, Relaxed);
        }
    };
    space.for_each(keys.par_chunks(Threads::CHUNK), |keys| {
        for (low, high) in keys.iter().map(|&key| ((key >> 32) as u32, key as u32)) {
            put(low, high);
            if low != high {
                put(high, low);
            }
        }
    });
    times.mark(step::COLUMNS);
    space.for_rows(8 * space.concurrency(), &row_map, &mut entries, |_, columns| sort_row(columns));
    times.mark(step::SORT);
    Ok(CrsGraph::trusted(row_map, entries, elem_node.node_count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Communicator;
    use crate::comm::ranks::on_ranks;
    use crate::element::ElementType;
    use crate::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
    use crate::space::Serial;

    /// The pairs of no mesh are more than the map expects, which expects less than six times as many.
    #[test]
    fn the_pairs_of_any_element_type_and_number_of_ranks_are_expected() {
        for (element, name) in ElementType::volumes() {
            let spec = BoxSpec::new([9, 7, 11], [1.0; 3], CoordinateMap::None).unwrap();
            for ranks in [1, 2, 3, 8] {
                on_ranks(ranks, |comm| {
                    let part = BoxPart::new(&spec, comm.rank(), ranks).unwrap();
                    let mesh = Mesh::of_elements(comm, element, &part).unwrap();
                    let rows = mesh.map.owned_count();
                    let crs = build(&Serial, &mesh.elem_node, rows, &mut StepTimes::default()).unwrap();
                    let above = |row: usize| crs.row(row).iter().filter(|&&column| column as usize >= row).count();
                    let (pairs, expected) =
                        ((0..rows).map(above).sum::<usize>(), expected_pairs(&mesh.elem_node, rows));
                    assert!((pairs..6 * pairs).contains(&expected), "{name}, {ranks} ranks: {pairs}, {expected}");
                });
            }
        }
    }
}
