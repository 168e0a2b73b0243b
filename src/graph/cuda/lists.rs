//! Node -> element lists on a GPU.

use super::bits_of;
use crate::Result;
use crate::error::check_at_least;
use crate::graph::NodeElem;
use crate::mesh::ElemNode;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaMemory, arguments};

/// Slots of a node up to which each slot looks for its place in the node's list by itself.
const RANKED: usize = 256;

impl NodeElem<CudaMemory> {
    /// Lists of nodes `0..rows`, ascending: count, scan, fill by atomic counters, put in order. A node of very many elements
    /// has the lists sorted instead. The result does not depend on chance. Waits once, for the sizes.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when `rows` passes the table's nodes,
    /// [`Error::TooLarge`](crate::Error::TooLarge) where the memory cannot be had.
    pub fn on_device(space: &Cuda, elem_node: &ElemNode<CudaMemory>, rows: usize) -> Result<Self> {
        Ok(Self::with_longest(space, elem_node, rows)?.0)
    }

    /// [`on_device`](Self::on_device), and the length of the longest list.
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
        space.graph_items("count_slots", slots, arguments![sizes.0, sizes.1, nodes, &mut counts])?;
        let map = space.offsets(rows, &counts)?;
        let mut ascending = space.unfilled::<u32>(map.total)?;
        if map.longest > RANKED {
            let mut keys = space.unfilled::<u64>(slots)?;
            space.graph_items("slot_keys", slots, arguments![sizes.0, sizes.1, nodes, &mut keys])?;
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
