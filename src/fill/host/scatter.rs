//! Strategy `scatter`: elements add to their rows in element order, with atomics only where two threads may meet.
//!
//! Elements are cut into a few long blocks, each processed by one thread. A row whose elements all lie in one block is
//! written by one thread only and takes a plain add. (A locked add costs about 5 ns even without contention.) Rows on
//! the seams between blocks take atomic adds; a single block needs no atomics. The order of the sums in seam rows is
//! not fixed, so their last bits may differ between runs.

use super::kernel::ElementKernel;
use super::parts::{Output, Pattern};
use super::seam::claim_row;
use super::sums::{SharedSums, add_elems};
use crate::mesh::ElemNode;
use crate::space::atomic::{AtomicF64, add, add_unshared, atomic_view};
use crate::space::lanes::LANES;
use crate::space::{HostSpace, even_bounds, try_zeroed};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Bounds of the blocks of elements, and the rows that more than one block touches.
#[derive(Debug)]
pub(super) struct Scatter {
    bounds: Vec<usize>,
    on_seam: Vec<u8>,
}

impl Scatter {
    pub(super) fn new<S: HostSpace>(space: &S, elem_node: &ElemNode, rows: usize) -> Result<Self> {
        // Four blocks per thread balance the load; more blocks would have more seam rows.
        let blocks = if space.concurrency() == 1 { 1 } else { 4 * space.concurrency() };
        let bounds = even_bounds(elem_node.elem_count(), blocks, LANES);
        let mut on_seam = try_zeroed::<u8>("seam rows", rows)?;
        // First block that reached a row, counted from 1; zero means none yet.
        let mut claimed = try_zeroed::<u32>("first blocks of rows", rows)?;
        let (seam, claims) = (atomic_view(&mut on_seam), atomic_view(&mut claimed));
        space.for_each((0..bounds.len() - 1).into_par_iter(), |block| {
            let (mine, per_elem) = (block as u32 + 1, elem_node.nodes_per_elem());
            for &row in &elem_node.as_slice()[bounds[block] * per_elem..bounds[block + 1] * per_elem] {
                let Some(claim) = claims.get(row as usize) else { continue };
                claim_row(claim, &seam[row as usize], mine);
            }
        });
        Ok(Scatter { bounds, on_seam })
    }

    pub(super) fn assemble<S: HostSpace, const NN: usize>(
        &self,
        space: &S,
        kernel: &dyn ElementKernel<NN>,
        graph: Pattern<'_>,
        output: Output<'_>,
    ) -> Result<()> {
        let sums = SharedSums::new(space, graph.crs, output);
        self.for_blocks(space, |elems| {
            add_elems(kernel, elems, graph, sums, |row, cell, term| {
                self.add(row, cell, term);
            })
        })
    }

    /// Calls `work` with the elements of each block.
    pub(super) fn for_blocks<S: HostSpace>(
        &self,
        space: &S,
        work: impl Fn(Range<usize>) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        space.try_for_each(self.bounds.par_windows(2), |block| work(block[0]..block[1]))
    }

    /// Adds a term of a row to one of the row's cells.
    #[inline(always)]
    pub(super) fn add(&self, row: LocalOrdinal, cell: &AtomicF64, term: f64) {
        if self.on_seam[row as usize] == 0 { add_unshared(cell, term) } else { add(cell, term) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contraction::Sum;
    use crate::fill::Wanted;
    use crate::fill::host::element_fn;
    use crate::graph;
    use crate::space::{Serial, Threads};

    /// A row is on a seam if two blocks touch it, found by a search of the whole table.
    fn check(elem_node: &ElemNode, rows: usize) {
        for threads in [2, 3, 7] {
            let scatter = Scatter::new(&Threads::new(threads).unwrap(), elem_node, rows).unwrap();
            let bounds = &scatter.bounds;
            assert_eq!((bounds[0], bounds[bounds.len() - 1]), (0, elem_node.elem_count()));
            assert!(bounds.windows(2).all(|block| block[0] <= block[1]), "{bounds:?}");
            let mut blocks_of = vec![std::collections::BTreeSet::new(); rows];
            for (elem, nodes) in elem_node.iter().enumerate() {
                let block = bounds.iter().filter(|&&bound| bound <= elem).count();
                nodes.iter().filter(|&&n| (n as usize) < rows).for_each(|&n| _ = blocks_of[n as usize].insert(block));
            }
            assert_eq!(scatter.on_seam.len(), rows);
            for (row, blocks) in blocks_of.iter().enumerate() {
                assert_eq!(scatter.on_seam[row] != 0, blocks.len() > 1, "row {row}, {threads} threads, {blocks:?}");
            }
        }
    }

    #[test]
    fn seams_are_the_rows_that_two_blocks_touch() {
        check(&ElemNode::new((0..3000u32).flat_map(|e| [e, e + 1]).collect(), 2, 3001).unwrap(), 2500);
        check(&ElemNode::new((0..900u32).flat_map(|e| [2 * e, 1800, 2 * e + 1]).collect(), 3, 1801).unwrap(), 1801);
        check(
            &ElemNode::new((0..5000u32).flat_map(|e| [e % 97, 97 + e * 31 % 4000]).collect(), 2, 4097).unwrap(),
            4097,
        );
        check(&ElemNode::new(vec![0, 1, 2], 3, 3).unwrap(), 3);
        check(&ElemNode::new(vec![], 3, 3).unwrap(), 3);
        let alone = Scatter::new(&Serial, &ElemNode::new(vec![0, 1, 1, 2], 2, 3).unwrap(), 3).unwrap();
        assert!(alone.on_seam.iter().all(|&seam| seam == 0));
    }

    /// All elements add to one row at the same time: a plain add there would lose terms.
    #[test]
    fn sums_at_a_seam_lose_no_term() {
        const ELEMS: u32 = 200_000;
        let elem_node = ElemNode::new((1..=ELEMS).flat_map(|ray| [ray, 0]).collect(), 2, ELEMS as usize + 1).unwrap();
        let graph = graph::build(&Serial, &elem_node, 1, graph::Strategy::Gather).unwrap();
        let space = Threads::new(4).unwrap();
        let scatter = Scatter::new(&space, &elem_node, 1).unwrap();
        let (mut values, mut residual) = (vec![f64::NAN; graph.crs.nnz()], [f64::NAN]);
        let pattern = Pattern { crs: &graph.crs, elem: &graph.elem, is_scattered: false };
        let ones = element_fn(|_| ([[1.0; 2]; 2], [1.0; 2]));
        for _ in 0..3 {
            let output = Output {
                values: &mut values,
                residual: &mut residual,
                sum: Sum::Overwrite,
                wanted: Wanted { matrix: true, residual: true },
            };
            scatter.assemble::<_, 2>(&space, &ones, pattern, output).unwrap();
            assert_eq!((values[0], residual[0]), (f64::from(ELEMS), f64::from(ELEMS)));
            assert!(values[1..].iter().all(|&value| value == 1.0));
        }
    }
}
