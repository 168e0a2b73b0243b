//! Node -> element lists on a GPU.
//!
//! | lists | method | cost |
//! |---|---|---|
//! | of at most 8 hexahedra | 8 places per row, filled by atomic counters, then sorted in registers | reads the table once |
//! | of at most 256 slots | count, scan, fill, then each slot counts the smaller ones of its list | reads the table twice or thrice |
//! | longer | one radix sort of all slots | 24 bytes per slot and 8 bits of a node |

use crate::Result;
use crate::error::check_at_least;
use crate::graph::NodeElem;
use crate::mesh::ElemNode;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, arguments, bits_of};

/// Longest list whose slots are ranked: each slot counts the smaller slots of its list, which costs the square of the
/// length.
const RANKED: usize = 256;
/// Nodes of a hexahedron, and the longest list that is sorted in registers.
pub(super) const HEX: usize = 8;
/// Words of the state of `short_lists`, as in `kernels/graph.cu`: ticket, total, rows that do not fit, overlong list, columns far apart.
/// Not read here.
pub(super) const STATE: usize = 5;

impl NodeElem<CudaMemory> {
    /// Builds the lists of nodes `0..rows` in ascending order. The result does not depend on the order of the threads. Waits once,
    /// for the sizes.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when `rows` exceeds the number of nodes,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn on_device(space: &Cuda, elem_node: &ElemNode<CudaMemory>, rows: usize) -> Result<Self> {
        Ok(Self::with_longest(space, elem_node, rows)?.0)
    }

    /// Builds the lists as [`on_device`](Self::on_device) and also returns the length of the longest one.
    pub(in crate::graph) fn with_longest(
        space: &Cuda,
        elem_node: &ElemNode<CudaMemory>,
        rows: usize,
    ) -> Result<(Self, usize)> {
        check_at_least("NodeElem", "elem_node (its nodes)", elem_node.node_count(), rows)?;
        let slots = elem_node.elem_count() * elem_node.nodes_per_elem();
        check_at_least("NodeElem", "elem_node", elem_node.nodes().len(), slots)?;
        let (nodes, sizes) = (elem_node.nodes(), (slots as u64, rows as u64));
        let mut counts = space.zeros::<u32>(rows)?;
        let is_hex = elem_node.nodes_per_elem() == HEX;
        let short = is_hex.then(|| short_lists(space, elem_node, &mut counts, &mut space.zeros(STATE)?)).transpose()?;
        if short.is_none() {
            space.graph_items("count_slots", slots, arguments![sizes.0, sizes.1, nodes, &mut counts])?;
        }
        let map = space.offsets(rows, &counts)?;
        let mut ascending = space.unfilled::<u32>(map.total)?;
        if let Some(lists) = short.filter(|_| map.longest <= HEX) {
            let arguments = arguments![sizes.1, &map.offsets, &lists, &mut ascending];
            space.graph_items("pack_lists", rows, arguments)?;
        } else if map.longest > RANKED {
            let mut keys = space.unfilled::<u64>(slots)?;
            space.graph_items("slot_keys", slots, arguments![sizes.0, sizes.1, nodes, &mut keys])?;
            // Only the node's bits are sorted: the sort is stable and slots are ascending already.
            let keys = space.sort_keys(keys, 32..32 + bits_of(rows))?;
            space.graph_items("lower_halves", map.total, arguments![map.total as u64, &keys, &mut ascending])?;
        } else {
            let mut lists = space.unfilled::<u32>(map.total)?;
            let offsets = &map.offsets;
            let arguments = arguments![sizes.0, sizes.1, nodes, offsets, &mut counts, &mut lists];
            space.graph_items("fill_slots", slots, arguments)?;
            let arguments = arguments![sizes.0, sizes.1, nodes, offsets, &lists, &mut ascending];
            space.graph_items("rank_slots", slots, arguments)?;
        }
        Ok((NodeElem::from_parts(rows, map.offsets, ascending), map.longest))
    }
}

/// Counts the slots of each row and lists the first 8 of them, in any order, at 8 places per row. Counts and state are 0 on entry.
pub(super) fn short_lists(
    space: &Cuda,
    elem_node: &ElemNode<CudaMemory>,
    counts: &mut CudaArray<u32>,
    state: &mut CudaArray<u64>,
) -> Result<CudaArray<u32>> {
    let (elems, rows) = (elem_node.elem_count(), counts.len());
    let mut lists = space.unfilled::<u32>(rows * HEX)?;
    let arguments = arguments![elems as u64, rows as u64, elem_node.nodes(), counts, &mut lists, state];
    space.graph_items("short_lists", elems, arguments)?;
    Ok(lists)
}
