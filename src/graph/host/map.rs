//! Strategy `map`: finds the unique pairs with the fixed-capacity table, which grows and is filled again until no
//! insert fails.
//!
//! Cost: 8 bytes per slot, 7/6 slots per expected pair, and one random access per pair of each element. The number of
//! attempts may depend on the order of the inserts; the graph does not.

use super::pair_insert::{HashPlacement, Inserted, ProbeStart};
use super::pair_map::PairMap;
use super::pairs;
use crate::graph::growth::{ATTEMPTS, BY_ROW, grown};
use crate::graph::{MapCounts, MapStats, step};
use crate::mesh::ElemNode;
use crate::space::atomic::atomic_view;
use crate::space::{HostSpace, StepTimes, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{Error, Result};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Elements per task.
const BLOCK: usize = 512;

pub(super) fn build<S: HostSpace>(
    space: &S,
    elem_node: &ElemNode,
    rows: usize,
    times: &mut StepTimes,
) -> Result<(CrsGraph, MapStats)> {
    // An inner node of a box of hexahedra has 27 neighbours and 14 undirected pairs. A sixth more slots keeps probe
    // sequences short.
    let per_elem = elem_node.nodes_per_elem();
    // A small table has fewer pairs than the estimate; more slots than inserts would be wasted.
    let upper = elem_node.elem_count() * per_elem * (per_elem + 1) / 2;
    let mut capacity = (rows * 14).min(upper) * 7 / 6;
    let (mut failed, mut stats) = (0, MapStats::default());
    for attempt in 0..ATTEMPTS {
        let placement = if attempt < BY_ROW { HashPlacement::ByRow } else { HashPlacement::Scattered };
        let mut map = PairMap::new(capacity, rows, placement)?;
        let mut counts = try_zeroed::<u32>("row lengths", rows)?;
        let tally = insert_all(space, elem_node, &mut map, &mut counts);
        failed = tally.failed;
        times.mark(step::COUNT);
        if failed == 0 {
            let (capacity, retries, start) = (map.capacity() as u64, attempt as u64, map.start());
            let mut keys = map.into_keys();
            let longest_probe = to_keys(space, &mut keys, start);
            let graph = pairs::to_graph(space, elem_node, counts, &keys, ABSENT_KEY, times)?;
            let counted = MapCounts { stored: tally.first as u64, duplicates: tally.existing as u64, longest_probe };
            return Ok((graph, MapStats { capacity, retries, counted: Some(counted), ..stats }));
        }
        stats.failed += failed as u64;
        capacity = grown(map.capacity(), failed);
    }
    Err(Error::MapFull { capacity, failed, attempts: ATTEMPTS })
}

/// Key of an empty slot.
const ABSENT_KEY: u64 = PairMap::ABSENT.wrapping_sub(1);

/// Turns slots, which hold a key plus one, into keys. Returns the number of slots that the longest probe sequence reads.
fn to_keys<S: HostSpace>(space: &S, slots: &mut [u64], start: ProbeStart) -> u64 {
    let (longest, length) = (AtomicUsize::new(0), slots.len());
    space.for_each(slots.par_chunks_mut(S::CHUNK).enumerate(), |(chunk, slots)| {
        let mut far = 0;
        for (at, slot) in (chunk * S::CHUNK..).zip(slots) {
            *slot = slot.wrapping_sub(1);
            if *slot != ABSENT_KEY {
                let (low, high) = pairs::nodes(*slot);
                let first = start.of(low, high);
                // A sequence that passes the last slot goes on at the first.
                let first = if first < length { first } else { first % length };
                far = far.max(if at >= first { at - first } else { at + length - first } + 1);
            }
        }
        longest.fetch_max(far, Relaxed);
    });
    longest.into_inner() as u64
}

/// Outcomes of the inserts of an attempt.
#[derive(Clone, Copy, Default)]
struct Tally {
    first: usize,
    existing: usize,
    failed: usize,
}

/// Inserts all pairs and counts the new ones in their rows.
fn insert_all<S: HostSpace>(space: &S, elem_node: &ElemNode, map: &mut PairMap, counts: &mut [u32]) -> Tally {
    let rows = counts.len();
    let (first, existing, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let (view, cells) = (map.view(), atomic_view(counts));
    let per_elem = elem_node.nodes_per_elem();
    space.for_each(elem_node.as_slice().par_chunks(BLOCK * per_elem), |elems| {
        let mut tally = Tally::default();
        for nodes in elems.chunks_exact(per_elem) {
            pairs::for_each_pair(nodes, rows, |key| {
                let (low, high) = pairs::nodes(key);
                match view.insert(low, high) {
                    // Only the thread that stores a pair counts it, so each pair is counted once.
                    Inserted::First => {
                        tally.first += 1;
                        cells[low as usize].fetch_add(1, Relaxed);
                        if high != low && (high as usize) < rows {
                            cells[high as usize].fetch_add(1, Relaxed);
                        }
                    }
                    Inserted::Existing => tally.existing += 1,
                    Inserted::Failed => tally.failed += 1,
                }
            });
        }
        // One addition per task and outcome, so that counting causes no contention.
        for (sum, part) in [(&first, tally.first), (&existing, tally.existing), (&failed, tally.failed)] {
            sum.fetch_add(part, Relaxed);
        }
    });
    Tally { first: first.into_inner(), existing: existing.into_inner(), failed: failed.into_inner() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    /// A share of 6 slots holds the beginnings of 64 sequences, so the last pair lies 58 slots or more behind its first slot.
    #[test]
    fn the_longest_probe_is_measured_from_the_first_slot() {
        let probes = |keys: u32| {
            let mut map = PairMap::new(0, 10, HashPlacement::ByRow).unwrap();
            let view = map.view();
            (1..=keys).for_each(|high| assert_eq!(view.insert(0, high), Inserted::First));
            let start = map.start();
            let mut slots = map.into_keys();
            let longest = to_keys(&Serial, &mut slots, start);
            assert_eq!(slots.iter().filter(|&&key| key != ABSENT_KEY).count(), keys as usize);
            assert!(slots.contains(&pairs::key(0, keys)));
            longest
        };
        assert_eq!(probes(1), 1);
        assert!((59..=64).contains(&probes(64)), "{}", probes(64));
    }

    /// Node 0 has 300 neighbours: its share of the map overflows, and a larger map is filled again.
    #[test]
    fn inserts_are_counted_over_all_attempts() {
        let nodes: Vec<u32> = (1..=300).flat_map(|other| [0, other]).collect();
        let elem_node = ElemNode::new(nodes, 2, 301).unwrap();
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let (_, stats) = build(&space, &elem_node, 301, &mut StepTimes::default()).unwrap();
            let counts = stats.counted.unwrap();
            // Each element inserts (0, 0), (0, i) and (i, i).
            assert_eq!((counts.stored, counts.duplicates), (601, 900 - 601), "{stats:?}");
            assert!(stats.retries > 0 && stats.failed >= 200 && stats.capacity > 601, "{stats:?}");
            assert!((2..=64).contains(&counts.longest_probe), "{stats:?}");
        }
    }
}
