//! Strategy `map`: finds the unique pairs with the fixed-capacity table, which grows and is filled again until no
//! insert fails.
//!
//! Cost: 8 bytes per slot, 7/6 slots per expected pair, and one random access per pair of each element. The number of
//! attempts may depend on the order of the inserts; the graph does not.

use super::pair_insert::{HashPlacement, Inserted};
use super::pair_map::PairMap;
use super::pairs;
use crate::graph::growth::{ATTEMPTS, BY_ROW, grown};
use crate::graph::step;
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
) -> Result<CrsGraph> {
    // An inner node of a box of hexahedra has 27 neighbours and 14 undirected pairs. A sixth more slots keeps probe
    // sequences short.
    let per_elem = elem_node.nodes_per_elem();
    // A small table has fewer pairs than the estimate; more slots than inserts would be wasted.
    let upper = elem_node.elem_count() * per_elem * (per_elem + 1) / 2;
    let mut capacity = (rows * 14).min(upper) * 7 / 6;
    let mut failed = 0;
    for attempt in 0..ATTEMPTS {
        let placement = if attempt < BY_ROW { HashPlacement::ByRow } else { HashPlacement::Scattered };
        let mut map = PairMap::new(capacity, rows, placement)?;
        let mut counts = try_zeroed::<u32>("row lengths", rows)?;
        failed = insert_all(space, elem_node, &mut map, &mut counts);
        times.mark(step::COUNT);
        if failed == 0 {
            // Slots hold the key plus one; to_graph expects keys.
            let mut keys = map.into_keys();
            space.for_each(keys.par_chunks_mut(S::CHUNK), |keys| {
                keys.iter_mut().for_each(|key| *key = key.wrapping_sub(1))
            });
            return pairs::to_graph(space, elem_node, counts, &keys, PairMap::ABSENT.wrapping_sub(1), times);
        }
        capacity = grown(map.capacity(), failed);
    }
    Err(Error::MapFull { capacity, failed, attempts: ATTEMPTS })
}

/// Inserts all pairs, counts the new ones in their rows and returns the number of failed inserts.
fn insert_all<S: HostSpace>(space: &S, elem_node: &ElemNode, map: &mut PairMap, counts: &mut [u32]) -> usize {
    let rows = counts.len();
    let failed = AtomicUsize::new(0);
    let (view, cells) = (map.view(), atomic_view(counts));
    let per_elem = elem_node.nodes_per_elem();
    space.for_each(elem_node.as_slice().par_chunks(BLOCK * per_elem), |elems| {
        let mut failures = 0;
        for nodes in elems.chunks_exact(per_elem) {
            pairs::for_each_pair(nodes, rows, |key| {
                let (low, high) = pairs::nodes(key);
                match view.insert(low, high) {
                    // Only the thread that stores a pair counts it, so each pair is counted once.
                    Inserted::First => {
                        cells[low as usize].fetch_add(1, Relaxed);
                        if high != low && (high as usize) < rows {
                            cells[high as usize].fetch_add(1, Relaxed);
                        }
                    }
                    Inserted::Existing => {}
                    Inserted::Failed => failures += 1,
                }
            });
        }
        // One addition per task, so that failures cause no contention.
        failed.fetch_add(failures, Relaxed);
    });
    failed.into_inner()
}
