//! Strategies `scatter` and `colour`: blocks of elements whose threads add to shared rows.
//!
//! ```text
//! scatter   few long blocks, all at once     every addition is atomic
//! colour    short blocks, colour by colour   plain: blocks of a colour share no node
//! ```
//! A locked addition costs about 5 ns even without contention. Its order is not fixed, so the last bits of sums may differ between runs. Scatter's blocks with plain additions lose terms; they measure what atomics cost (Hoemmen and Edwards 2014).

use super::colour::coloured;
use super::sums::Adds;
use crate::Result;
use crate::fill::Strategy;
use crate::mesh::ElemNode;
use crate::space::lanes::LANES;
use crate::space::{Threads, even_bounds};
use rayon::prelude::*;
use std::ops::Range;

/// Blocks of elements that a fill assembles, and the phases in which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCounts {
    /// Phases, one after the other: one per colour, or one in all.
    pub phases: usize,
    /// Blocks of all phases; those of a phase are assembled in parallel.
    pub blocks: usize,
}

/// How a strategy sums: blocks of elements add to rows, or rows gather what `G` stores.
#[derive(Debug)]
pub(super) enum Method<G> {
    Blocks(Blocks),
    Gather(G),
}

impl<G> Method<G> {
    /// Prepares a strategy. Without one, the blocks of `Scatter` add without atomicity.
    pub(super) fn of(
        space: &Threads,
        strategy: Option<Strategy>,
        elem_node: &ElemNode,
        gather: impl FnOnce() -> Result<G>,
    ) -> Result<Self> {
        Ok(Method::Blocks(match strategy {
            Some(Strategy::Gather) => return gather().map(Method::Gather),
            Some(Strategy::Scatter) => Blocks::at_once(space, elem_node, Adds::Atomic),
            // Blocks of a colour share no node.
            Some(Strategy::Colour) => Blocks { phases: coloured(elem_node)?, adds: Adds::Plain },
            None => Blocks::at_once(space, elem_node, Adds::Plain),
        }))
    }
}

/// Elements by phase and block, and how threads add to their rows.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Blocks of a phase run in parallel, phases one after the other.
    phases: Vec<Vec<Range<usize>>>,
    pub adds: Adds,
}

impl Blocks {
    /// Cuts all elements into blocks of one phase.
    fn at_once(space: &Threads, elem_node: &ElemNode, adds: Adds) -> Self {
        // Four blocks per thread balance the load.
        let blocks = if space.concurrency() == 1 { 1 } else { 4 * space.concurrency() };
        let bounds = even_bounds(elem_node.elem_count(), blocks, LANES);
        Blocks { phases: vec![bounds.windows(2).map(|ends| ends[0]..ends[1]).collect()], adds }
    }

    pub(super) fn counts(&self) -> BlockCounts {
        BlockCounts { phases: self.phases.len(), blocks: self.phases.iter().map(Vec::len).sum() }
    }

    /// Calls `work` with the elements of each block, phase by phase. One copy for all kernels.
    pub(super) fn for_each(&self, space: &Threads, work: &(dyn Fn(Range<usize>) -> Result<()> + Sync)) -> Result<()> {
        // The end of try_for_each separates the phases.
        self.phases.iter().try_for_each(|blocks| space.try_for_each(blocks.par_iter(), |elems| work(elems.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fill::{Fill, element_fn};
    use crate::graph;
    use crate::space::{Serial, Threads};
    use crate::sparse::CrsMatrix;

    #[test]
    fn blocks_and_phases_are_counted() {
        let strip = ElemNode::new((0..20_000u32).flat_map(|e| [e, e + 1]).collect(), 2, 20_001).unwrap();
        // All blocks share a node.
        let hub = ElemNode::new((0..20_000u32).flat_map(|e| [0, e + 1]).collect(), 2, 20_001).unwrap();
        let space = Threads::new(2).unwrap();
        let counts = |elem_node: &ElemNode, strategy| {
            let graph = graph::build(&space, elem_node, 20_001, graph::Strategy::default()).unwrap();
            let counts = Fill::<2>::new(&space, strategy, &graph).unwrap().blocks();
            counts.map(|BlockCounts { phases, blocks }| [phases, blocks])
        };
        assert_eq!(counts(&strip, Strategy::Gather), None);
        assert_eq!(counts(&strip, Strategy::Scatter), Some([1, 8]));
        assert_eq!(counts(&strip, Strategy::Colour), Some([2, 79]));
        assert_eq!(counts(&hub, Strategy::Colour), Some([79, 79]));
    }

    /// All elements add to one row at the same time: a plain addition there would lose terms.
    #[test]
    fn sums_of_a_row_that_all_elements_share_lose_no_term() {
        const ELEMS: u32 = 200_000;
        let elem_node = ElemNode::new((1..=ELEMS).flat_map(|ray| [ray, 0]).collect(), 2, ELEMS as usize + 1).unwrap();
        let graph = graph::build(&Serial, &elem_node, 1, graph::Strategy::Gather).unwrap();
        let space = Threads::new(4).unwrap();
        let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), [f64::NAN]);
        let ones = element_fn(|_| ([[1.0; 2]; 2], [1.0; 2]));
        let mut fill = Fill::<2>::new(&space, Strategy::Scatter, &graph).unwrap();
        for _ in 0..3 {
            fill.assemble(&space, &ones, &mut matrix, &mut residual).unwrap();
            let values = matrix.values();
            assert_eq!((values[0], residual[0]), (f64::from(ELEMS), f64::from(ELEMS)));
            assert!(values[1..].iter().all(|&value| value == 1.0));
        }
    }
}
