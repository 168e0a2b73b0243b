//! The tables of one rank's mesh, made from its part of the box.
//!
//! Local nodes `[node]` are numbered as [`BoxPart`] says: interior, other owned, ghosts. Corners of an element go around
//! the bottom and then around the top (the order of VTK and Exodus):
//!
//! ```text
//! 0 (0,0,0)  1 (1,0,0)  2 (1,1,0)  3 (0,1,0)  4 (0,0,1)  5 (1,0,1)  6 (1,1,1)  7 (0,1,1)
//! ```
//! Cost: 57 bytes an element and node, written once; a table of 4 bytes a node is read meanwhile. Tables do not depend on
//! the space.

use super::{BoxPart, CoordinateMap, ElemNode};
use crate::comm::Map;
use crate::space::{HostMemory, HostSpace, MemorySpace, zeroed};
use crate::{GlobalOrdinal, LocalOrdinal, Result};
use rayon::prelude::*;

/// Corners of an element, from its lowest.
pub(super) const CORNERS: [[u64; 3]; 8] =
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];

/// A face of the box, as a bit of [`Mesh::node_faces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Face {
    /// x = 0.
    XMin = 1,
    /// x = the edge length.
    XMax = 2,
    /// y = 0.
    YMin = 4,
    /// y = the edge length.
    YMax = 8,
    /// z = 0.
    ZMin = 16,
    /// z = the edge length.
    ZMax = 32,
}

impl Face {
    /// Whether a node with these bits lies on this face.
    #[inline(always)]
    pub fn is_in(self, bits: u8) -> bool {
        bits & self as u8 != 0
    }
}

/// One rank's mesh: tables over its elements `[elem]` and its owned and ghost nodes `[node]`.
#[derive(Clone, Debug)]
pub struct Mesh<M: MemorySpace = HostMemory> {
    /// Nodes of each element, `[elem, 8]`.
    pub elem_node: ElemNode<M>,
    /// Coordinates `[node][3]`.
    pub node_coord: M::Array<[f64; 3]>,
    /// Faces of the box that each node lies on, by grid index and not by coordinate: [`Face`] bits, 0 inside, `[node]`.
    pub node_faces: M::Array<u8>,
    /// Who owns which node.
    pub map: Map,
    pub(super) part: BoxPart,
}

impl Mesh {
    /// Makes the tables, unless the run would need more than `available` bytes (this rank's part of the free memory).
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) as [`BoxPart::check_memory`].
    pub fn new<S: HostSpace>(space: &S, part: BoxPart, available: u64) -> Result<Self> {
        part.check_memory(available)?;
        let map = part.map()?;
        let nodes = map.local_count();
        Ok(Mesh {
            elem_node: ElemNode::trusted(elem_node(space, &part), CORNERS.len(), nodes)?,
            node_coord: node_coord(space, &part, nodes),
            node_faces: space.map(nodes, |node| faces(&part, node)),
            map,
            part,
        })
    }

    /// `f` at the coordinates of each owned node, `[node]`.
    pub fn sample<S: HostSpace>(&self, space: &S, f: impl Fn([f64; 3]) -> f64 + Send + Sync) -> Vec<f64> {
        space.map(self.map.owned_count(), |node| f(self.node_coord[node]))
    }

    /// Writes `value` to the items of `vector` (one a node, owned and ghost) whose nodes lie on a face.
    pub fn set_on_face(&self, face: Face, value: f64, vector: &mut [f64]) {
        let on_face = vector.iter_mut().zip(&self.node_faces).filter(|(_, bits)| face.is_in(**bits));
        on_face.for_each(|(item, _)| *item = value);
    }

    /// Whether each owned or ghost node lies on one of two faces, `[node]`.
    pub fn on_faces(&self, faces: [Face; 2]) -> Vec<bool> {
        self.node_faces.iter().map(|&bits| faces.iter().any(|face| face.is_in(bits))).collect()
    }
}

impl<M: MemorySpace> Mesh<M> {
    /// The part of the box that this mesh covers.
    pub fn part(&self) -> &BoxPart {
        &self.part
    }

    /// Owned nodes `0..interior_count` share no element with a ghost: their rows need no halo.
    pub fn interior_count(&self) -> usize {
        self.part.interior().count() as usize
    }

    /// Number of elements, those that other ranks have too included.
    pub fn elem_count(&self) -> usize {
        self.elem_node.elem_count()
    }

    /// Id of a local element in the whole box (lexicographic, x fastest).
    pub fn global_elem(&self, elem: usize) -> GlobalOrdinal {
        self.part.global_elem(elem)
    }

    /// Id of a local node in the whole box (lexicographic, x fastest).
    pub fn global_node(&self, node: LocalOrdinal) -> GlobalOrdinal {
        self.part.global_node(self.part.node_index(node))
    }

    /// The map that moved the nodes.
    pub fn coordinate_map(&self) -> CoordinateMap {
        self.part.spec().map()
    }
}

fn elem_node<S: HostSpace>(space: &S, part: &BoxPart) -> Vec<LocalOrdinal> {
    let (used, elements) = (part.used(), part.elements());
    let local: Vec<LocalOrdinal> =
        space.map(used.count() as usize, |position| part.local_node(used.at(position as u64)));
    let mut table = zeroed::<LocalOrdinal>(CORNERS.len() * elements.count() as usize);
    space.for_each(table.par_chunks_mut(CORNERS.len() * S::CHUNK).enumerate(), |(chunk, table)| {
        for (i, nodes) in table.chunks_exact_mut(CORNERS.len()).enumerate() {
            let lowest = elements.at((chunk * S::CHUNK + i) as u64);
            for (node, corner) in nodes.iter_mut().zip(CORNERS) {
                *node = local[used.position([0, 1, 2].map(|axis| lowest[axis] + corner[axis])) as usize];
            }
        }
    });
    table
}

fn node_coord<S: HostSpace>(space: &S, part: &BoxPart, nodes: usize) -> Vec<[f64; 3]> {
    let mut coord = vec![[0.0; 3]; nodes];
    space.for_each(coord.par_chunks_mut(S::CHUNK).enumerate(), |(chunk, coord)| {
        for (i, coord) in coord.iter_mut().enumerate() {
            *coord = part.spec().coordinates(part.node_index((chunk * S::CHUNK + i) as LocalOrdinal));
        }
    });
    coord
}

fn faces(part: &BoxPart, node: usize) -> u8 {
    let (index, counts) = (part.node_index(node as LocalOrdinal), part.spec().nodes());
    let bits = |axis: usize| u8::from(index[axis] == 0) | u8::from(index[axis] + 1 == counts[axis]) << 1;
    bits(0) | bits(1) << 2 | bits(2) << 4
}
