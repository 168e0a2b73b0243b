//! Strategy `map`: finds the unique pairs with the set of fixed capacity. Count, allocate, fill.
//!
//! A row has a slot for each insert into it: n - 1 per element of n nodes, and one for the row's own column. So no insert
//! fails, whatever the mesh and however it is distributed. Cost: 4 bytes per slot, 12 per row, and one access to the
//! slots of a row per pair of each element.

use super::pair_insert::{ABSENT, Inserted, home};
use super::pair_map::PairMap;
use super::smaller::sort_row;
use crate::graph::{MapCounts, MapStats, step};
use crate::mesh::{ElemNode, Sizes};
use crate::space::atomic::atomic_view;
use crate::space::{StepTimes, Threads, even_bounds, offsets, split_at, try_reserve, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
use multiversion::multiversion;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Elements per task.
const BLOCK: usize = 512;

pub(super) fn build(
    space: &Threads,
    elem_node: &ElemNode,
    rows: usize,
    times: &mut StepTimes,
) -> Result<(CrsGraph, MapStats)> {
    let mut counts = room(space, elem_node, rows)?;
    let map = PairMap::new(space, &counts)?;
    let (map, stats) = insert_all(space, elem_node, map, &mut counts)?;
    let longest_probe = count(space, &map, &mut counts);
    times.mark(step::COUNT);
    let row_map = offsets(space, &counts)?;
    times.mark(step::SCAN);
    let mut entries = try_zeroed::<LocalOrdinal>("columns", row_map[rows] as usize)?;
    times.mark(step::ALLOCATE);
    let bounds = even_bounds(rows, 8 * space.concurrency(), 1);
    let pieces = split_at(&mut entries, bounds.iter().map(|&row| row_map[row] as usize));
    space.try_for_each(pieces.into_par_iter().enumerate(), |(piece, entries)| {
        let rows = bounds[piece]..bounds[piece + 1];
        let longest = rows.clone().map(|row| map.slots_of(row).len()).max().unwrap_or(0);
        let mut columns = Vec::new();
        try_reserve("columns of a row", &mut columns, longest + 1)?;
        columns.resize(longest + 1, 0);
        fill(&map, &row_map, rows, &mut columns, entries);
        Ok(())
    })?;
    times.mark(step::COLUMNS);
    let stored = row_map[rows];
    let counted = MapCounts { stored, longest_probe, ..stats.counted.unwrap_or_default() };
    let graph = CrsGraph::trusted(row_map, entries, elem_node.node_count());
    Ok((graph, MapStats { counted: Some(counted), ..stats }))
}

/// Bytes beside the pattern.
pub(super) fn bytes(sizes: &Sizes) -> u64 {
    let slots = sizes.corners * (sizes.nodes - 1) + sizes.owned;
    12 * sizes.owned + 4 * slots
}

/// Returns the number of slots for each row, in which all its columns fit.
fn room(space: &Threads, elem_node: &ElemNode, rows: usize) -> Result<Vec<u32>> {
    let mut counts = try_zeroed::<u32>("row lengths", rows)?;
    let cells = atomic_view(&mut counts);
    space.for_each(elem_node.as_slice().par_chunks(Threads::CHUNK), |nodes| {
        nodes.iter().filter_map(|&node| cells.get(node as usize)).for_each(|cell| _ = cell.fetch_add(1, Relaxed));
    });
    let (others, columns) = (elem_node.nodes_per_elem() as u64 - 1, elem_node.node_count() as u64);
    space.for_each(counts.par_chunks_mut(Threads::CHUNK), |counts| {
        // A row without elements has no columns.
        let room = |elems: u32| if elems == 0 { 0 } else { (u64::from(elems) * others + 1).min(columns) };
        counts.iter_mut().for_each(|count| *count = room(*count) as u32);
    });
    Ok(counts)
}

/// Inserts the pairs of all elements. When inserts fail, a larger map keeps the pairs and all are inserted again.
fn insert_all(
    space: &Threads,
    elem_node: &ElemNode,
    mut map: PairMap,
    room: &mut [u32],
) -> Result<(PairMap, MapStats)> {
    let (mut failed, mut retries) = (0, 0);
    loop {
        let duplicates = insert(space, elem_node, &mut map);
        if map.failed() == 0 {
            let counted = Some(MapCounts { duplicates, ..MapCounts::default() });
            let capacity = map.capacity() as u64;
            return Ok((map, MapStats { capacity, retries, failed, counted }));
        }
        (failed, retries) = (failed + map.failed(), retries + 1);
        room.iter_mut().for_each(|room| *room = room.saturating_mul(2).max(1));
        map = map.rehash(space, room)?;
    }
}

/// Inserts the pairs of all elements once and returns how many the map had already.
fn insert(space: &Threads, elem_node: &ElemNode, map: &mut PairMap) -> u64 {
    let (rows, view, duplicates) = (map.rows(), map.view(), AtomicU64::new(0));
    let per_elem = elem_node.nodes_per_elem();
    space.for_each(elem_node.as_slice().par_chunks(BLOCK * per_elem), |elems| {
        let mut existing = 0;
        for nodes in elems.chunks_exact(per_elem) {
            for &row in nodes.iter().filter(|&&row| (row as usize) < rows) {
                let slots = view.row(row);
                nodes.iter().for_each(|&column| existing += u64::from(slots.insert(column) == Inserted::Existing));
            }
        }
        // One addition per task, so that counting causes no contention.
        duplicates.fetch_add(existing, Relaxed);
    });
    duplicates.into_inner()
}

/// Counts the columns of each row. Returns the number of slots that the longest search for a pair reads.
fn count(space: &Threads, map: &PairMap, counts: &mut [u32]) -> u64 {
    let longest = AtomicU64::new(0);
    space.for_each(counts.par_chunks_mut(Threads::CHUNK).enumerate(), |(chunk, counts)| {
        longest.fetch_max(count_rows(map, chunk * Threads::CHUNK, counts).into(), Relaxed);
    });
    longest.into_inner()
}

/// As [`count`], for the rows from `first` on.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
fn count_rows(map: &PairMap, first: usize, counts: &mut [u32]) -> u32 {
    let mut longest = 0;
    for (row, count) in (first..).zip(counts) {
        let slots = map.slots_of(row);
        *count = 0;
        // Without branches, as vectors.
        for (at, &slot) in slots.iter().enumerate() {
            let from_home = (at as u32).wrapping_sub(home(row as u32, slot.wrapping_sub(1), slots.len()) as u32);
            // A search that passes the last slot goes on at the first.
            let reads = from_home.min(from_home.wrapping_add(slots.len() as u32)) + 1;
            *count += u32::from(slot != ABSENT);
            longest = longest.max(if slot != ABSENT { reads } else { 0 });
        }
    }
    longest
}

/// Writes the sorted columns of some rows. `columns` has room for one more than the slots of a row.
#[multiversion(targets("x86_64+avx2"))]
fn fill(map: &PairMap, row_map: &[u64], rows: Range<usize>, columns: &mut [u32], mut entries: &mut [u32]) {
    for row in rows {
        let mut count = 0;
        for &slot in map.slots_of(row) {
            // Written in any case, since a branch would often be predicted wrongly; the next column replaces it.
            columns[count] = slot.wrapping_sub(1);
            count += usize::from(slot != ABSENT);
        }
        let (own, rest) = entries.split_at_mut((row_map[row + 1] - row_map[row]) as usize);
        sort_row(&mut columns[..count]);
        own.copy_from_slice(&columns[..count]);
        entries = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Communicator;
    use crate::comm::ranks::on_ranks;
    use crate::element::ElementType;
    use crate::graph::{Strategy, build as graph};
    use crate::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
    use crate::space::{Serial, Threads};

    #[test]
    fn the_longest_probe_is_measured_from_the_first_slot() {
        let longest = |room: u32, columns: u32| {
            let mut map = PairMap::new(&Serial, &[0, room]).unwrap();
            let view = map.view();
            (0..columns).for_each(|column| assert_eq!(view.insert(1, column), Inserted::First));
            let mut counts = [7; 2];
            let longest = count(&Serial, &map, &mut counts);
            assert_eq!(counts, [0, columns]);
            longest
        };
        assert_eq!((longest(64, 1), longest(1, 1), longest(64, 0)), (1, 1, 0));
        assert!((2..=64).contains(&longest(64, 64)), "{}", longest(64, 64));
        // By hand: in 2 slots, two columns begin at the same one, or each at its own.
        let at = |column: u32| home(1, column, 2);
        assert_eq!(longest(2, 2), if at(0) == at(1) { 2 } else { 1 });
    }

    /// With room for one column per row, maps grow until all fit, and every failure is counted.
    #[test]
    fn a_map_that_is_too_small_grows_and_the_graph_is_the_same() {
        let nodes: Vec<u32> = (1..=300).flat_map(|other| [0, other]).collect();
        let elem_node = ElemNode::new(nodes, 2, 302).unwrap();
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let mut room = vec![1; 302];
            let map = PairMap::new(&space, &room).unwrap();
            let (map, stats) = insert_all(&space, &elem_node, map, &mut room).unwrap();
            // Row 0 has 301 columns in 512 slots after 9 retries; the first map takes one of them, the second two.
            let failed = (0..9).map(|retry| 300 - (1 << retry) + 1).sum::<u64>();
            assert_eq!((stats.retries, map.len(&space)), (9, 901));
            assert!(stats.failed >= failed, "{stats:?}, at least {failed}");
            assert!((1..=300).all(|row| map.contains(row, 0) && map.contains(0, row) && map.contains(row, row)));
        }
    }

    /// Eight hubs, each joined twice to 300 of 1000 nodes: 601 slots for 301 columns.
    #[test]
    fn free_slots_of_long_rows_are_not_counted() {
        let nodes = (0..8).flat_map(|hub| (8..308).flat_map(move |node| [hub, node, hub, node])).collect();
        let elem_node = ElemNode::new(nodes, 2, 1000).unwrap();
        let [map, sort] = [Strategy::Map, Strategy::Sort].map(|by| graph(&Serial, &elem_node, 308, by).unwrap());
        assert!(map.crs == sort.crs && map.elem == sort.elem);
    }

    /// Room for each insert: no mesh of any element type on any number of ranks fails to insert.
    #[test]
    fn no_insert_fails_on_any_element_type_and_number_of_ranks() {
        for (element, name) in ElementType::volumes() {
            let spec = BoxSpec::new([9, 7, 11], [1.0; 3], CoordinateMap::None).unwrap();
            for ranks in 1..=8 {
                on_ranks(ranks, |comm| {
                    let part = BoxPart::new(&spec, comm.rank(), ranks).unwrap();
                    let mesh = Mesh::of_elements(comm, element, &part).unwrap();
                    let rows = mesh.map.owned_count();
                    let found = graph(&Serial, &mesh.elem_node, rows, Strategy::Map).unwrap();
                    let stats = found.map_stats.unwrap();
                    let expected = graph(&Serial, &mesh.elem_node, rows, Strategy::Sort).unwrap();
                    assert_eq!((stats.failed, stats.retries), (0, 0), "{name}, rank {} of {ranks}", comm.rank());
                    assert!(found.crs == expected.crs && found.elem == expected.elem, "{name}");
                    let corners =
                        mesh.elem_node.as_slice().iter().filter(|&&node| (node as usize) < rows).count() as u64;
                    let counts = stats.counted.unwrap();
                    let inserts = corners * mesh.elem_node.nodes_per_elem() as u64;
                    assert_eq!((counts.stored, counts.stored + counts.duplicates), (found.crs.nnz() as u64, inserts));
                });
            }
        }
    }
}
