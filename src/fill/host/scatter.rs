//! Strategy `scatter`: elements add to their rows in element order, with atomics only where two threads may meet.
//!
//! Elements are cut into a few long blocks, each processed by one thread. A row whose elements all lie in one block is
//! written by one thread only and takes a plain add. (A locked add costs about 5 ns even without contention.) Rows on
//! the seams between blocks take atomic adds; a single block needs no atomics. The order of the sums in seam rows is
//! not fixed, so their last bits may differ between runs.

use super::kernel::ElementKernel;
use super::sums::{SharedSums, add_elems};
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::atomic::{add, add_unshared, atomic_view};
use crate::space::lanes::LANES;
use crate::space::{HostSpace, even_bounds, zeroed};
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

/// Bounds of the blocks of elements, and the rows that more than one block touches.
#[derive(Debug)]
pub(super) struct Scatter {
    bounds: Vec<usize>,
    on_seam: Vec<u8>,
}

impl Scatter {
    pub(super) fn new<S: HostSpace>(space: &S, elem_node: &ElemNode, rows: usize) -> Self {
        // Four blocks per thread balance the load; more blocks would have more seam rows.
        let blocks = if space.concurrency() == 1 { 1 } else { 4 * space.concurrency() };
        let bounds = even_bounds(elem_node.elem_count(), blocks, LANES);
        let mut on_seam = zeroed::<u8>(rows);
        // First block that reached a row, plus one; zero means none yet.
        let mut claimed = zeroed::<u32>(rows);
        let (seam, claims) = (atomic_view(&mut on_seam), atomic_view(&mut claimed));
        space.for_each((0..bounds.len() - 1).into_par_iter(), |block| {
            let (mine, per_elem) = (block as u32 + 1, elem_node.nodes_per_elem());
            for &row in &elem_node.as_slice()[bounds[block] * per_elem..bounds[block + 1] * per_elem] {
                let Some(claim) = claims.get(row as usize) else { continue };
                // Most rows are claimed already, so a load avoids most of the compare-and-swaps.
                let first = match claim.load(Relaxed) {
                    0 => claim.compare_exchange(0, mine, Relaxed, Relaxed).err().unwrap_or(mine),
                    first => first,
                };
                if first != mine {
                    seam[row as usize].store(1, Relaxed);
                }
            }
        });
        Scatter { bounds, on_seam }
    }

    pub(super) fn assemble<S: HostSpace, const NN: usize>(
        &self,
        space: &S,
        kernel: &impl ElementKernel<NN>,
        elem_node: &ElemNode,
        graph: &Graph,
        values: &mut [f64],
        residual: &mut [f64],
    ) {
        let sums = SharedSums::zeroed(space, &graph.crs, values, residual);
        space.for_each(self.bounds.par_windows(2), |block| {
            add_elems(kernel, block[0]..block[1], elem_node, &graph.elem, sums, |row, cell, term| {
                if self.on_seam[row as usize] == 0 { add_unshared(cell, term) } else { add(cell, term) }
            });
        });
    }
}
