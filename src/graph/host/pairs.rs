//! Steps shared by the pair strategies: from unique node pairs to a sorted CRS graph.

use crate::graph::step;
use crate::mesh::ElemNode;
use crate::space::atomic::atomic_view;
use crate::space::{HostSpace, StepTimes, even_bounds, offsets, split_at, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

/// Returns the key of an undirected node pair. The smaller node is in the upper half, so that keys sort by row.
#[inline(always)]
pub(super) fn key(a: u32, b: u32) -> u64 {
    u64::from(a.min(b)) << 32 | u64::from(a.max(b))
}

/// Returns the two nodes of a key, smaller node first.
#[inline(always)]
pub(super) fn nodes(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// Calls `insert` for each undirected pair of an element's nodes that has a row.
#[inline(always)]
pub(super) fn for_each_pair(nodes: &[LocalOrdinal], rows: usize, mut insert: impl FnMut(u64)) {
    for (i, &a) in nodes.iter().enumerate() {
        for &b in &nodes[i..] {
            if (a.min(b) as usize) < rows {
                insert(key(a, b));
            }
        }
    }
}

/// Scans, allocates, fills and sorts, from the entries per row and the unique keys. `absent` marks an empty slot among
/// the keys.
///
/// Each pair stores each of its nodes in the other's row. An atomic counter per row gives the place; sorting the row
/// then makes the result independent of the order of the threads.
pub(super) fn to_graph<S: HostSpace>(
    space: &S,
    elem_node: &ElemNode,
    mut counts: Vec<u32>,
    keys: &[u64],
    absent: u64,
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
    space.for_each(keys.par_chunks(S::CHUNK), |keys| {
        for (low, high) in keys.iter().filter(|&&key| key != absent).map(|&key| nodes(key)) {
            put(low, high);
            if low != high {
                put(high, low);
            }
        }
    });
    times.mark(step::COLUMNS);
    let bounds = even_bounds(rows, 8 * space.concurrency(), 1);
    let pieces = split_at(&mut entries, bounds.iter().map(|&row| row_map[row] as usize));
    space.for_each(pieces.into_par_iter().enumerate(), |(piece, mut entries)| {
        for row in bounds[piece]..bounds[piece + 1] {
            let (columns, rest) = entries.split_at_mut((row_map[row + 1] - row_map[row]) as usize);
            columns.sort_unstable();
            entries = rest;
        }
    });
    times.mark(step::SORT);
    Ok(CrsGraph::trusted(row_map, entries, elem_node.node_count()))
}
