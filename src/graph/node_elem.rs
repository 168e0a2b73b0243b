//! Row -> slot lists: for a mesh, node -> element lists, the transpose of the element-node table.
//!
//! Gathering strategies, of the graph and of the assembly, read them to find the elements of a row; sums of index pairs, the pairs.

use crate::space::{HostMemory, MemorySpace};
use crate::{LocalOrdinal, RowOffset};

/// The *slots* of the element-node table that contain each row's node, in ascending order. Slot
/// `e * nodes_per_elem + i` is node `i` of element `e`. Uses 4 bytes per slot and 8 per row.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeElem<M: MemorySpace = HostMemory> {
    rows: usize,
    row_map: M::Array<RowOffset>,
    slots: M::Array<LocalOrdinal>,
}

impl NodeElem {
    /// Returns the slots of the element-node table that contain `node`, in ascending order.
    #[inline(always)]
    pub fn slots(&self, node: usize) -> &[LocalOrdinal] {
        &self.slots[self.row_map[node] as usize..self.row_map[node + 1] as usize]
    }

    /// Returns the bytes of the lists.
    pub fn bytes(rows: u64, slots: u64) -> u64 {
        8 * rows + 4 * slots
    }

    /// Returns the slots of `node` and of all nodes after it.
    #[inline(always)]
    pub(crate) fn slots_from(&self, node: usize) -> &[LocalOrdinal] {
        &self.slots[self.row_map[node] as usize..]
    }
}

impl<M: MemorySpace> NodeElem<M> {
    /// Takes the lists of `rows` nodes. The caller guarantees that they are ascending.
    pub(crate) fn from_parts(rows: usize, row_map: M::Array<RowOffset>, slots: M::Array<LocalOrdinal>) -> Self {
        NodeElem { rows, row_map, slots }
    }

    /// Returns the number of nodes with a list.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the offsets of the lists in [`slots_array`](Self::slots_array), of length rows + 1.
    pub fn row_map(&self) -> &M::Array<RowOffset> {
        &self.row_map
    }

    /// Returns the lists, one after the other.
    pub fn slots_array(&self) -> &M::Array<LocalOrdinal> {
        &self.slots
    }
}
