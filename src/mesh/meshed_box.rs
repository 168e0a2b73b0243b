//! The tables of one rank's mesh, made from its part of the box.
//!
//! Local nodes `[node]` are numbered as [`BoxPart`] says: interior, other owned, ghosts. Corners of an element go around
//! the bottom and then around the top (the order of VTK and Exodus):
//!
//! ```text
//! 0 (0,0,0)  1 (1,0,0)  2 (1,1,0)  3 (0,1,0)  4 (0,0,1)  5 (1,0,1)  6 (1,1,1)  7 (0,1,1)
//! ```
//! Memory: 32 bytes per element and 25 bytes per node.

use super::{BoxPart, CoordinateMap, ElemNode};
use crate::comm::Map;
use crate::space::{ExecutionSpace, HostMemory, MemorySpace};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};

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
    /// Returns whether a node with these bits lies on this face.
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
    /// Faces of the box that each node lies on, by grid index: [`Face`] bits, 0 inside, `[node]`.
    pub node_faces: M::Array<u8>,
    /// Owners of the nodes.
    pub map: Map,
    pub(super) part: BoxPart,
}

impl Mesh {
    /// Copies the tables into the memory of a space.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available,
    /// [`Error::Device`](crate::Error::Device) when a device fails.
    pub fn upload<S: ExecutionSpace>(&self, space: &S) -> Result<Mesh<S::Memory>> {
        Ok(Mesh {
            elem_node: self.elem_node.upload(space)?,
            node_coord: space.upload(&self.node_coord)?,
            node_faces: space.upload(&self.node_faces)?,
            map: self.map.clone(),
            part: self.part.clone(),
        })
    }
}

impl<M: MemorySpace> Mesh<M> {
    /// Copies the tables from the memory of a space to the host.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available,
    /// [`Error::Device`](crate::Error::Device) when a device fails.
    pub fn download<S: ExecutionSpace<Memory = M>>(&self, space: &S) -> Result<Mesh> {
        let (nodes, per_elem) = (space.download(self.elem_node.nodes())?, self.elem_node.nodes_per_elem());
        Ok(Mesh {
            elem_node: ElemNode::trusted(nodes, per_elem, self.elem_node.node_count())?,
            node_coord: space.download(&self.node_coord)?,
            node_faces: space.download(&self.node_faces)?,
            map: self.map.clone(),
            part: self.part.clone(),
        })
    }

    /// Returns the part of the box that this mesh covers.
    pub fn part(&self) -> &BoxPart {
        &self.part
    }

    /// Returns the number of owned nodes that share no element with a ghost. They come first; their rows need no halo.
    pub fn interior_count(&self) -> usize {
        self.part.interior().count() as usize
    }

    /// Returns the number of elements, including those that other ranks have too.
    pub fn elem_count(&self) -> usize {
        self.elem_node.elem_count()
    }

    /// Returns the id of a local element in the whole box (lexicographic, x fastest).
    pub fn global_elem(&self, elem: usize) -> GlobalOrdinal {
        self.part.global_elem(elem)
    }

    /// Returns the id of a local node in the whole box (lexicographic, x fastest).
    pub fn global_node(&self, node: LocalOrdinal) -> GlobalOrdinal {
        self.part.global_node(self.part.node_index(node))
    }

    /// Returns whether a point is in the box; never for a NaN.
    pub(super) fn contains(&self, point: [f64; 3]) -> bool {
        point.iter().zip(self.part.spec().size()).all(|(&x, size)| (0.0..=size).contains(&x))
    }

    /// The error for a local node that lies outside the box.
    pub(super) fn outside(&self, node: usize, [x, y, z]: [f64; 3]) -> Error {
        let ([a, b, c], map) = (self.part.spec().size(), self.coordinate_map());
        let node = self.global_node(node as LocalOrdinal);
        Error::Invalid(format!(
            "node {node}: the map {map} moves it to ({x}, {y}, {z}), out of the box of size {a} x {b} x {c}: expected a \
             smaller amplitude"
        ))
    }

    /// Returns the map that moved the nodes.
    pub fn coordinate_map(&self) -> CoordinateMap {
        self.part.spec().map()
    }
}
