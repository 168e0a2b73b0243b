//! Colours for strategy `colour`: blocks of one colour share no node, so they are assembled in parallel without atomics.
//!
//! Colours belong to blocks of consecutive elements rather than to single elements, so that the data of a block stay in
//! cache. Colouring is greedy in block order and depends on the mesh only. Each row receives its terms colour by
//! colour, so its sums do not depend on the number of threads.

use crate::Result;
use crate::mesh::ElemNode;
use crate::space::try_zeroed;
use std::ops::Range;

/// Elements per block.
const BLOCK: usize = 256;

/// Colours that have a bit in a node's mask. A block that finds all of them taken gets a colour of its own.
const MASKED: u32 = 63;

/// Returns the elements of the blocks of each colour.
pub(super) fn coloured(elem_node: &ElemNode) -> Result<Vec<Vec<Range<usize>>>> {
    let mut colours: Vec<Vec<Range<usize>>> = Vec::new();
    let mut alone = Vec::new();
    let mut used = try_zeroed::<u64>("colours of nodes", elem_node.node_count())?;
    for (block, nodes) in elem_node.as_slice().chunks(BLOCK * elem_node.nodes_per_elem()).enumerate() {
        let elems = block * BLOCK..elem_node.elem_count().min((block + 1) * BLOCK);
        // Bit c of a node's mask is set if a block of colour c touches the node.
        let taken = nodes.iter().fold(0, |taken, &node| taken | used[node as usize]);
        let colour = taken.trailing_ones();
        if colour >= MASKED {
            alone.push(vec![elems]);
            continue;
        }
        nodes.iter().for_each(|&node| used[node as usize] |= 1 << colour);
        if colour as usize == colours.len() {
            colours.push(Vec::new());
        }
        colours[colour as usize].push(elems);
    }
    colours.extend(alone);
    Ok(colours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_blocks_of_a_colour_share_a_node() {
        let strip = (0..20_000u32).flat_map(|e| [e, e + 1]).collect();
        let colours = coloured(&ElemNode::new(strip, 2, 20_001).unwrap()).unwrap();
        assert_eq!(colours.len(), 2);
        assert_eq!(colours.concat().len(), 20_000usize.div_ceil(BLOCK));
        let hub = (0..20_000u32).flat_map(|e| [0, e + 1]).collect();
        let colours = coloured(&ElemNode::new(hub, 2, 20_001).unwrap()).unwrap();
        assert!(colours.iter().all(|blocks| blocks.len() == 1));
        assert_eq!(colours.len(), 20_000usize.div_ceil(BLOCK));
    }

    /// Every block has one colour, and the blocks of a colour have no node in common: by a search over all blocks.
    #[test]
    fn a_colouring_is_valid_on_any_table() {
        let strip = (0..5000u32).flat_map(|e| [e, e + 1, e + 2]).collect();
        let folded = (0..5000u32).flat_map(|e| [e % 1300, 1300 + e * 7 % 1300, 2600 + e]).collect();
        let far = (0..5000u32).flat_map(|e| [e, 4999 - e + 5000, 10_000 + e % 600]).collect();
        for (name, nodes) in [("strip", strip), ("folded", folded), ("far", far)] {
            let elem_node = ElemNode::new(nodes, 3, 11_000).unwrap();
            let colours = coloured(&elem_node).unwrap();
            let mut elems: Vec<usize> = colours.concat().into_iter().flatten().collect();
            elems.sort_unstable();
            assert_eq!(elems, (0..5000).collect::<Vec<_>>(), "{name}");
            for blocks in &colours {
                let mut owner = std::collections::HashMap::new();
                for block in blocks {
                    for &node in &elem_node.as_slice()[3 * block.start..3 * block.end] {
                        assert_eq!(*owner.entry(node).or_insert(block), block, "{name}: node {node}");
                    }
                }
            }
        }
    }
}
