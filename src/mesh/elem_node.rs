//! Element-node connectivity: the table from which a graph is built.
//!
//! The rest of the library needs nothing else of a mesh's topology, so any mesh with one element type can be used.

use crate::space::{ExecutionSpace, HostMemory, MemorySpace};
use crate::{Error, LocalOrdinal, Result};
use std::sync::Arc;

/// Element-node connectivity `[elem, i]` -> local node, packed, `i` fastest. All elements have the same number of
/// nodes. Clones share the nodes, so that graphs and plans of an assembly keep the table that they were made for.
#[derive(Debug)]
pub struct ElemNode<M: MemorySpace = HostMemory> {
    nodes: Arc<M::Array<LocalOrdinal>>,
    elem_count: usize,
    nodes_per_elem: usize,
    node_count: usize,
    /// Whether an element has a node twice.
    has_repeats: bool,
}

impl ElemNode {
    /// Takes a packed table with `nodes_per_elem` nodes per element, each in `0..node_count`.
    ///
    /// # Errors
    /// [`Error::Invalid`], naming the element, when a node is out of range or repeated in its element, and when the
    /// table's length is not a multiple of `nodes_per_elem`. [`Error::TooLarge`] when node ids or table positions
    /// exceed 32 bits.
    pub fn new(nodes: Vec<LocalOrdinal>, nodes_per_elem: usize, node_count: usize) -> Result<Self> {
        let table = Self::with_repeats(nodes, nodes_per_elem, node_count)?;
        let repeated = |nodes: &[u32]| (0..nodes.len()).find(|&i| nodes[..i].contains(&nodes[i]));
        let first = || table.iter().enumerate().find_map(|(elem, nodes)| Some((elem, repeated(nodes)?)));
        match table.has_repeats.then(first).flatten() {
            None => Ok(table),
            Some((elem, i)) => Err(Error::Invalid(format!(
                "elem_node[{elem}, {i}] is {}, which element {elem} already has; ElemNode::with_repeats accepts it",
                table.elem(elem)[i]
            ))),
        }
    }

    /// Takes a packed table as [`new`](Self::new), allowing repeated nodes in an element: collapsed elements (a wedge
    /// as a hexahedron of 6 different nodes) and elements that meet themselves in a periodic mesh. The terms of a
    /// repeated node are added, as if the element matrix had been summed over equal rows and columns. Hosts only: a
    /// GPU refuses such a table.
    ///
    /// # Errors
    /// [`Error::Invalid`], naming the element, when a node is out of range, and when the table's length is not a multiple of
    /// `nodes_per_elem`. [`Error::TooLarge`] when node ids or table positions exceed 32 bits.
    pub fn with_repeats(nodes: Vec<LocalOrdinal>, nodes_per_elem: usize, node_count: usize) -> Result<Self> {
        let mut table = Self::trusted(nodes, nodes_per_elem, node_count)?;
        let mut has_repeats = false;
        for (elem, nodes) in table.iter().enumerate() {
            for (i, &node) in nodes.iter().enumerate() {
                if node as usize >= node_count {
                    return Err(Error::Invalid(format!(
                        "elem_node[{elem}, {i}] is {node}, expected a node in 0..{node_count}"
                    )));
                }
                has_repeats |= nodes[..i].contains(&node);
            }
        }
        table.has_repeats = has_repeats;
        Ok(table)
    }

    /// Takes a table without checking each node, for tables that this crate builds.
    pub(crate) fn trusted(nodes: Vec<LocalOrdinal>, nodes_per_elem: usize, node_count: usize) -> Result<Self> {
        if nodes_per_elem == 0 || !nodes.len().is_multiple_of(nodes_per_elem) {
            let length = nodes.len();
            return Err(Error::Invalid(format!(
                "elem_node has {length} items, expected a multiple of {nodes_per_elem} nodes per element"
            )));
        }
        for (what, count) in [("nodes", node_count), ("element-node table entries", nodes.len())] {
            if count >= LocalOrdinal::MAX as usize {
                return Err(Error::TooLarge {
                    what: format!("local {what}"),
                    needed: format!("{count} ids"),
                    limit: format!("{} (32 bits)", LocalOrdinal::MAX - 1),
                });
            }
        }
        let elem_count = nodes.len() / nodes_per_elem;
        Ok(ElemNode::from_parts(nodes, elem_count, nodes_per_elem, node_count))
    }

    /// Returns the table with `ids` other ids for each node; different nodes have different ids.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when ids or table positions exceed 32 bits.
    pub(crate) fn with_ids(&self, nodes: Vec<LocalOrdinal>, ids: usize) -> Result<Self> {
        let table = ElemNode::trusted(nodes, self.nodes_per_elem * ids, self.node_count * ids)?;
        Ok(ElemNode { has_repeats: self.has_repeats, ..table })
    }

    /// Returns the nodes of one element.
    #[inline(always)]
    pub fn elem(&self, elem: usize) -> &[LocalOrdinal] {
        &self.nodes[elem * self.nodes_per_elem..][..self.nodes_per_elem]
    }

    /// Iterates over the nodes of each element, in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, LocalOrdinal> {
        self.nodes.chunks_exact(self.nodes_per_elem)
    }

    /// Returns the packed table `[elem, i]`.
    pub fn as_slice(&self) -> &[LocalOrdinal] {
        &self.nodes
    }

    /// Copies the table into the memory of a space.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available, [`Error::Device`] when a device fails.
    pub fn upload<S: ExecutionSpace>(&self, space: &S) -> Result<ElemNode<S::Memory>> {
        let nodes = space.upload(&self.nodes)?;
        let table = ElemNode::from_parts(nodes, self.elem_count, self.nodes_per_elem, self.node_count);
        Ok(ElemNode { has_repeats: self.has_repeats, ..table })
    }
}

impl<M: MemorySpace> ElemNode<M> {
    /// Takes a table of `elem_count` elements. The caller guarantees what [`ElemNode::new`] checks.
    pub(crate) fn from_parts(
        nodes: M::Array<LocalOrdinal>,
        elem_count: usize,
        nodes_per_elem: usize,
        node_count: usize,
    ) -> Self {
        ElemNode { nodes: Arc::new(nodes), elem_count, nodes_per_elem, node_count, has_repeats: false }
    }

    /// Returns the packed table `[elem, i]` as an array of its memory space.
    pub fn nodes(&self) -> &M::Array<LocalOrdinal> {
        &self.nodes
    }

    /// Returns whether both are copies of one table.
    pub(crate) fn is_copy_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.nodes, &other.nodes)
    }

    /// Returns the number of elements.
    pub fn elem_count(&self) -> usize {
        self.elem_count
    }

    /// Returns the number of nodes per element (8 for a linear hexahedron).
    pub fn nodes_per_elem(&self) -> usize {
        self.nodes_per_elem
    }

    /// Refuses elements that have a node several times, for a GPU.
    #[cfg(feature = "cuda")]
    pub(crate) fn check_distinct(&self, name: &str) -> Result<()> {
        if self.has_repeats {
            let advice = "an element has a node several times, which hosts accept: expected different nodes on a GPU";
            return Err(Error::Invalid(format!("{name}: {advice}")));
        }
        Ok(())
    }

    /// Returns the number of nodes, owned and ghost; ids in the table are below it.
    pub fn node_count(&self) -> usize {
        self.node_count
    }
}

impl<M: MemorySpace> Clone for ElemNode<M> {
    fn clone(&self) -> Self {
        ElemNode { nodes: self.nodes.clone(), ..*self }
    }
}

impl PartialEq for ElemNode {
    fn eq(&self, other: &Self) -> bool {
        let is_same = Arc::ptr_eq(&self.nodes, &other.nodes);
        (self.nodes_per_elem, self.node_count) == (other.nodes_per_elem, other.node_count)
            && (is_same || self.nodes == other.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_tables_name_the_element() {
        let refused = |nodes: Vec<u32>| ElemNode::new(nodes, 3, 5).unwrap_err().to_string();
        assert!(refused(vec![0, 1, 2, 2, 5, 3]).contains("elem_node[1, 1] is 5"));
        assert!(refused(vec![0, 1, 2, 4, 3, 4]).contains("elem_node[1, 2] is 4, which element 1 already has"));
        let repeated = ElemNode::with_repeats(vec![0, 1, 2, 4, 3, 4], 3, 5).unwrap();
        assert!(repeated.has_repeats && !ElemNode::with_repeats(vec![0, 1, 2], 3, 5).unwrap().has_repeats);
        assert!(ElemNode::with_repeats(vec![0, 1, 5], 3, 5).unwrap_err().to_string().contains("elem_node[0, 2] is 5"));
        assert!(refused(vec![0, 1]).contains("expected a multiple of 3"));
        assert_eq!(ElemNode::new(vec![], 3, 0).unwrap().elem_count(), 0);
    }
}
