//! One rank's part of any mesh, from global node ids: the table in local indices, the [`GlobalMap`], interior nodes first.
//!
//! ```text
//! global    elem_node[elem, i]           a partition by METIS or another program: owned nodes and elements of each rank
//! local     0 .. interior                owned nodes that share no element with a ghost, in the order given
//!           interior .. owned            the other owned nodes, in the order given
//!           owned .. owned + ghosts      by owner, lowest rank first, ascending ids
//! ```
//! Rows of interior nodes read no ghost, so that their products overlap the halo exchange
//! ([`DistributedOperator::new`](crate::solve::DistributedOperator::new)). Rows of owned nodes are complete if the table has all
//! elements that contain them: [`MeshPart::new`] takes such tables, [`MeshPart::from_elements`] completes a partition in which
//! each element is on one rank.

use super::ElemNode;
use crate::comm::{Communicator, GlobalMap, Message, agree};
use crate::space::{try_collect, try_push, try_reserve, try_zeroed};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};
use std::collections::BTreeMap;

/// Origin of an element: a rank, and the index in its table.
pub type Origin = (usize, u64);

/// Local tables of one rank's elements and nodes.
#[derive(Clone, Debug)]
pub struct MeshPart {
    /// Nodes of each element in local indices, `[elem, nodes_per_elem]`, elements in the order given.
    pub elem_node: ElemNode,
    /// Owned and ghost nodes.
    pub nodes: GlobalMap,
    /// Elements of other ranks, behind those that this rank gave.
    pub copies: Vec<Origin>,
    interior: usize,
}

impl MeshPart {
    /// Numbers the nodes of a part. `owned` are the nodes whose rows this rank owns, `elem_node` is the table
    /// `[elem, nodes_per_elem]` of all elements that contain one of them; other elements are allowed. Owned nodes may be in no
    /// element. Collective; costs a [`GlobalMap`] and two passes over the table.
    ///
    /// # Errors
    /// On one rank, with [`Error::Elsewhere`] on all others: those of [`GlobalMap::new`]; [`Error::Invalid`] for an element that
    /// has a node twice, by its place and the node's id, and for a table whose length is not a multiple of `nodes_per_elem`. On
    /// each rank that meets it, a failure of [`Communicator::send_all`].
    pub fn new(
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        elem_node: &[GlobalOrdinal],
        nodes_per_elem: usize,
    ) -> Result<Self> {
        let mut nodes = GlobalMap::new(comm, owned, elem_node)?;
        agree(comm, {
            local_table(comm.rank(), &nodes, elem_node, nodes_per_elem).and_then(|table| {
                let (new_of_old, interior) = interior_first(&table, owned.len())?;
                nodes.reorder_owned(&new_of_old)?;
                // Ghosts keep their numbers.
                let new = |&old: &LocalOrdinal| new_of_old.get(old as usize).copied().unwrap_or(old);
                let table = try_collect("element-node table", table.as_slice().iter().map(new))?;
                let elem_node = ElemNode::trusted(table, nodes_per_elem, nodes.ids().len())?;
                Ok(MeshPart { elem_node, nodes, copies: Vec::new(), interior })
            })
        })
    }

    /// Numbers the nodes of a part when exactly one rank gives each element: `elem_node` has the elements of this
    /// rank, `owned` its nodes. Elements of other ranks that contain an owned node are appended as
    /// [`copies`](Self::copies), by rank and place there; sums over all elements of a mesh leave them out.
    /// Collective; besides [`new`](Self::new) costs another [`GlobalMap`], which tells where elements go, and 8
    /// (nodes_per_elem + 1) bytes sent per copy.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); [`Error::Mpi`] for messages of another number of nodes per element, as of ranks that give another one.
    pub fn from_elements(
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        elem_node: &[GlobalOrdinal],
        nodes_per_elem: usize,
    ) -> Result<Self> {
        let nodes = GlobalMap::new(comm, owned, elem_node)?;
        let messages = agree(comm, elements_for_others(comm.rank(), &nodes, elem_node, nodes_per_elem))?;
        drop(nodes);
        let received = comm.send_all(messages)?;
        let (table, copies) = agree(comm, with_copies(elem_node, &received, nodes_per_elem))?;
        drop(received);
        Ok(MeshPart { copies, ..Self::new(comm, owned, &table, nodes_per_elem)? })
    }

    /// Returns the number of owned nodes that share no element with a ghost. They come first; their rows need no halo.
    pub fn interior_count(&self) -> usize {
        self.interior
    }
}

/// The table in local indices. The error of an element that has a node twice names the global id.
fn local_table(rank: usize, nodes: &GlobalMap, elem_node: &[GlobalOrdinal], nodes_per_elem: usize) -> Result<ElemNode> {
    let table = ElemNode::trusted(nodes.renumber(elem_node)?, nodes_per_elem, nodes.ids().len())?;
    for (elem, nodes) in elem_node.chunks_exact(nodes_per_elem).enumerate() {
        if let Some((_, id)) = nodes.iter().enumerate().find(|(i, id)| nodes[..*i].contains(id)) {
            return Err(Error::Invalid(format!(
                "rank {rank}, element {elem} has global node {id} twice, expected different nodes"
            )));
        }
    }
    Ok(table)
}

/// The number of each owned node, where interior ones come first and both groups keep their order; and how many are interior.
fn interior_first(elem_node: &ElemNode, owned: usize) -> Result<(Vec<LocalOrdinal>, usize)> {
    let mut at_ghost = try_zeroed::<u8>("nodes beside ghosts", owned)?;
    let is_owned = |&node: &LocalOrdinal| (node as usize) < owned;
    for nodes in elem_node.iter().filter(|nodes| !nodes.iter().all(is_owned)) {
        nodes.iter().copied().filter(is_owned).for_each(|node| at_ghost[node as usize] = 1);
    }
    let interior = at_ghost.iter().filter(|&&at_ghost| at_ghost == 0).count();
    let mut next = [0, interior as LocalOrdinal];
    let number = |&at_ghost: &u8| {
        let next = &mut next[usize::from(at_ghost)];
        *next += 1;
        *next - 1
    };
    Ok((try_collect("numbers of owned nodes", at_ghost.iter().map(number))?, interior))
}

/// To each rank the elements that contain one of its nodes: place in this rank's table, then the nodes.
fn elements_for_others(
    rank: usize,
    nodes: &GlobalMap,
    elem_node: &[GlobalOrdinal],
    nodes_per_elem: usize,
) -> Result<Vec<Message>> {
    let neighbours = nodes.map().neighbours();
    let owned = nodes.map().owned_count();
    let owner = |ghost: LocalOrdinal| neighbours[neighbours.partition_point(|other| other.receive.end <= ghost)].rank;
    let table = local_table(rank, nodes, elem_node, nodes_per_elem)?;
    let mut owners = Vec::with_capacity(nodes_per_elem);
    let mut outbox: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (elem, (local, global)) in table.iter().zip(elem_node.chunks_exact(nodes_per_elem)).enumerate() {
        owners.clear();
        owners.extend(local.iter().filter(|&&node| node as usize >= owned).map(|&ghost| owner(ghost)));
        owners.sort_unstable();
        owners.dedup();
        for &owner in &owners {
            let message = outbox.entry(owner).or_default();
            try_push("elements for another rank", message, elem as u64)?;
            global.iter().try_for_each(|&node| try_push("elements for another rank", message, node))?;
        }
    }
    Ok(outbox.into_iter().collect())
}

/// The table with the elements received behind it, and where these came from.
fn with_copies(
    elem_node: &[GlobalOrdinal],
    received: &[Message],
    nodes_per_elem: usize,
) -> Result<(Vec<GlobalOrdinal>, Vec<Origin>)> {
    let count: usize = received.iter().map(|(_, numbers)| numbers.len() / (1 + nodes_per_elem)).sum();
    let (mut table, mut copies) = (Vec::new(), Vec::new());
    try_reserve("element-node table", &mut table, elem_node.len() + count * nodes_per_elem)?;
    try_reserve("copied elements", &mut copies, count)?;
    table.extend(elem_node);
    for (rank, numbers) in received {
        if numbers.len() % (1 + nodes_per_elem) != 0 {
            return Err(Error::Mpi(format!(
                "rank {rank} has elements of another number of nodes than {nodes_per_elem}"
            )));
        }
        for element in numbers.chunks_exact(1 + nodes_per_elem) {
            copies.push((*rank, element[0]));
            table.extend(&element[1..]);
        }
    }
    Ok((table, copies))
}
