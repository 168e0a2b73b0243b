//! Strategy `sort`: lists all pairs of all elements, sorts them and drops duplicates.
//!
//! Cost: 8 bytes per pair, which is 512 bytes per hexahedron of 8 nodes.

use crate::graph::step;
use crate::mesh::{ElemNode, Sizes};
use crate::space::{StepTimes, Threads, even_bounds, offsets, split_at, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;

/// Key of a pair whose row is not owned; it sorts behind all other keys.
const NO_ROW: u64 = u64::MAX;

/// Bytes beside the pattern.
pub(super) fn bytes(sizes: &Sizes) -> u64 {
    4 * sizes.owned + 8 * sizes.nodes * sizes.nodes * sizes.elems
}

pub(super) fn build(space: &Threads, elem_node: &ElemNode, rows: usize, times: &mut StepTimes) -> Result<CrsGraph> {
    let per_elem = elem_node.nodes_per_elem();
    let mut keys = try_zeroed::<u64>("keys of all pairs", elem_node.as_slice().len() * per_elem)?;
    let table = elem_node.as_slice().par_chunks(per_elem * 64).zip(keys.par_chunks_mut(per_elem * per_elem * 64));
    space.for_each(table, |(elems, keys)| {
        for (nodes, keys) in elems.chunks_exact(per_elem).zip(keys.chunks_exact_mut(per_elem * per_elem)) {
            for (&row, keys) in nodes.iter().zip(keys.chunks_exact_mut(per_elem)) {
                // All pairs get a key, so that each element writes to a fixed place without a scan.
                let owned = (row as usize) < rows;
                let pair = |&column: &u32| if owned { u64::from(row) << 32 | u64::from(column) } else { NO_ROW };
                keys.iter_mut().zip(nodes).for_each(|(key, column)| *key = pair(column));
            }
        }
    });
    times.mark(step::PAIRS);
    space.sort(&mut keys);
    keys.truncate(keys.partition_point(|&key| key != NO_ROW));
    times.mark(step::SORT);
    // Pieces end at row boundaries, so that one task counts and copies a whole row.
    let row_start = |row: usize| keys.partition_point(|&key| key < (row as u64) << 32);
    let bounds = even_bounds(rows, 8 * space.concurrency(), 1);
    let starts: Vec<usize> = bounds.iter().map(|&row| row_start(row)).collect();
    let unique = |piece: usize| {
        let keys = &keys[starts[piece]..starts[piece + 1]];
        keys.iter().enumerate().filter(|&(i, key)| i == 0 || keys[i - 1] != *key).map(|(_, &key)| key)
    };
    let mut counts = try_zeroed::<u32>("row lengths", rows)?;
    let pieces = split_at(&mut counts, bounds.iter().copied());
    space.for_each(pieces.into_par_iter().enumerate(), |(piece, counts)| {
        unique(piece).for_each(|key| counts[(key >> 32) as usize - bounds[piece]] += 1);
    });
    times.mark(step::COUNT);
    let row_map = offsets(space, &counts)?;
    times.mark(step::SCAN);
    let mut entries = try_zeroed::<LocalOrdinal>("columns", row_map[rows] as usize)?;
    let pieces = split_at(&mut entries, bounds.iter().map(|&row| row_map[row] as usize));
    space.for_each(pieces.into_par_iter().enumerate(), |(piece, entries)| {
        entries.iter_mut().zip(unique(piece)).for_each(|(entry, key)| *entry = key as LocalOrdinal);
    });
    times.mark(step::COLUMNS);
    Ok(CrsGraph::trusted(row_map, entries, elem_node.node_count()))
}
