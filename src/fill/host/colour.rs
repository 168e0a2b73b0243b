//! Strategy `colour`: blocks of one colour share no node, so they are assembled in parallel without atomics.
//!
//! Colours belong to blocks of consecutive elements rather than to single elements, so that the data of a block stay in
//! cache. Colouring is greedy in block order and depends on the mesh only. Each row receives its terms colour by
//! colour, so its sums do not depend on the number of threads.

use super::kernel::ElementKernel;
use super::parts::{Output, Pattern};
use super::sums::{SharedSums, add_elems};
use crate::Result;
use crate::mesh::ElemNode;
use crate::space::atomic::{AtomicF64, add_unshared};
use crate::space::{HostSpace, try_zeroed};
use rayon::prelude::*;
use std::ops::Range;

/// Elements per block.
const BLOCK: usize = 256;

/// Colours that have a bit in a node's mask. A block that finds all of them taken gets a colour of its own.
const MASKED: u32 = 63;

/// Blocks of each colour.
#[derive(Debug)]
pub(super) struct Colour {
    colours: Vec<Vec<usize>>,
}

impl Colour {
    pub(super) fn new(elem_node: &ElemNode) -> Result<Self> {
        let mut colours: Vec<Vec<usize>> = Vec::new();
        let mut alone = Vec::new();
        let mut used = try_zeroed::<u64>("colours of nodes", elem_node.node_count())?;
        for (block, nodes) in elem_node.as_slice().chunks(BLOCK * elem_node.nodes_per_elem()).enumerate() {
            // Bit c of a node's mask is set if a block of colour c touches the node.
            let taken = nodes.iter().fold(0, |taken, &node| taken | used[node as usize]);
            let colour = taken.trailing_ones();
            if colour >= MASKED {
                alone.push(vec![block]);
                continue;
            }
            nodes.iter().for_each(|&node| used[node as usize] |= 1 << colour);
            if colour as usize == colours.len() {
                colours.push(Vec::new());
            }
            colours[colour as usize].push(block);
        }
        colours.extend(alone);
        Ok(Colour { colours })
    }

    pub(super) fn assemble<S: HostSpace, const NN: usize>(
        &self,
        space: &S,
        kernel: &dyn ElementKernel<NN>,
        graph: Pattern<'_>,
        output: Output<'_>,
    ) -> Result<()> {
        let sums = SharedSums::new(space, graph.crs, output);
        let add = |_, cell: &AtomicF64, term| add_unshared(cell, term);
        self.for_blocks(space, graph.elem.elem_node(), |elems| add_elems(kernel, elems, graph, sums, add))
    }

    /// Calls `work` with the elements of each block of a table, colour by colour.
    pub(super) fn for_blocks<S: HostSpace>(
        &self,
        space: &S,
        elem_node: &ElemNode,
        work: impl Fn(Range<usize>) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        // Colours run one after the other; the end of try_for_each separates them.
        self.colours.iter().try_for_each(|blocks| {
            space.try_for_each(blocks.par_iter(), |&block| {
                work(block * BLOCK..elem_node.elem_count().min((block + 1) * BLOCK))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_blocks_of_a_colour_share_a_node() {
        let strip = (0..20_000u32).flat_map(|e| [e, e + 1]).collect();
        let colouring = Colour::new(&ElemNode::new(strip, 2, 20_001).unwrap()).unwrap();
        assert_eq!(colouring.colours.len(), 2);
        assert_eq!(colouring.colours.iter().map(Vec::len).sum::<usize>(), 20_000usize.div_ceil(BLOCK));
        let hub = (0..20_000u32).flat_map(|e| [0, e + 1]).collect();
        let colouring = Colour::new(&ElemNode::new(hub, 2, 20_001).unwrap()).unwrap();
        assert!(colouring.colours.iter().all(|blocks| blocks.len() == 1));
        assert_eq!(colouring.colours.len(), 20_000usize.div_ceil(BLOCK));
    }

    /// Every block has one colour, and the blocks of a colour have no node in common: by a search over all blocks.
    #[test]
    fn a_colouring_is_valid_on_any_table() {
        let strip = (0..5000u32).flat_map(|e| [e, e + 1, e + 2]).collect();
        let folded = (0..5000u32).flat_map(|e| [e % 1300, 1300 + e * 7 % 1300, 2600 + e]).collect();
        let far = (0..5000u32).flat_map(|e| [e, 4999 - e + 5000, 10_000 + e % 600]).collect();
        for (name, nodes) in [("strip", strip), ("folded", folded), ("far", far)] {
            let elem_node = ElemNode::new(nodes, 3, 11_000).unwrap();
            let colouring = Colour::new(&elem_node).unwrap();
            let mut blocks: Vec<usize> = colouring.colours.concat();
            blocks.sort_unstable();
            assert_eq!(blocks, (0..5000usize.div_ceil(BLOCK)).collect::<Vec<_>>(), "{name}");
            for blocks in &colouring.colours {
                let mut owner = std::collections::HashMap::new();
                for &block in blocks {
                    for &node in &elem_node.as_slice()[3 * BLOCK * block..15_000.min(3 * BLOCK * (block + 1))] {
                        assert_eq!(*owner.entry(node).or_insert(block), block, "{name}: node {node}");
                    }
                }
            }
        }
    }
}
