//! The tables of one rank's mesh of the box, for elements of any type.
//!
//! Local nodes `[node]`: interior, other owned, ghosts. Two sources make a mesh: [`MeshSpace::generate_mesh`](super::MeshSpace) that of
//! trilinear hexahedra in the memory of a space, where numbers follow from a few boxes (see [`BoxPart`]), and [`Mesh::of_elements`] that
//! of any element type on the host, where ids are listed. Corners of a hexahedron go around the bottom and then around the top (the
//! order of VTK and Exodus):
//!
//! ```text
//! 0 (0,0,0)  1 (1,0,0)  2 (1,1,0)  3 (0,1,0)  4 (0,0,1)  5 (1,0,1)  6 (1,1,1)  7 (0,1,1)
//! ```
//! Memory: 4 bytes per node of an element and 25 bytes per node; listed ids 8 bytes per node, on the host.

use super::{BoxPart, BoxSpec, ElemNode, IndexBox, Sizes, point};
use crate::comm::Map;
use crate::element::ElementType;
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
    /// All faces.
    pub const ALL: [Face; 6] = [Face::XMin, Face::XMax, Face::YMin, Face::YMax, Face::ZMin, Face::ZMax];

    /// Returns whether a node with these bits lies on this face.
    #[inline(always)]
    pub fn is_in(self, bits: u8) -> bool {
        bits & self as u8 != 0
    }
}

/// One rank's mesh: tables over its elements `[elem]` and its owned and ghost nodes `[node]`.
#[derive(Clone, Debug)]
pub struct Mesh<M: MemorySpace = HostMemory> {
    /// Type of the elements.
    pub element: ElementType,
    /// Nodes of each element.
    pub elem_node: ElemNode<M>,
    /// Coordinates `[node][3]`.
    pub node_coord: M::Array<[f64; 3]>,
    /// Faces of the box that each node lies on, by grid index: [`Face`] bits, 0 inside, `[node]`.
    pub node_faces: M::Array<u8>,
    /// Owners of the nodes.
    pub map: Map,
    /// Grid points of this rank.
    pub(super) part: BoxPart,
    /// `None` where the numbers are those of `part`.
    pub(super) listed: Option<Listed>,
}

/// Numbers of nodes by lists.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// Global id of each node.
    pub ids: Vec<GlobalOrdinal>,
    /// Number of interior nodes.
    pub interior: usize,
}

impl Mesh {
    /// Returns the bytes of the tables of elements and nodes, in the memory of any space.
    pub fn bytes(sizes: &Sizes) -> u64 {
        4 * sizes.nodes * sizes.elems + 25 * sizes.local()
    }

    /// Copies the tables into the memory of a space.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available,
    /// [`Error::Device`](crate::Error::Device) when a device fails.
    pub fn upload<S: ExecutionSpace>(&self, space: &S) -> Result<Mesh<S::Memory>> {
        let (coord, faces) = (space.upload(&self.node_coord)?, space.upload(&self.node_faces)?);
        Ok(self.with_tables(self.elem_node.upload(space)?, coord, faces))
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
        let elem_node = ElemNode::trusted(nodes, per_elem, self.elem_node.node_count())?;
        Ok(self.with_tables(elem_node, space.download(&self.node_coord)?, space.download(&self.node_faces)?))
    }

    /// This mesh with its tables in another memory.
    fn with_tables<N: MemorySpace>(
        &self,
        elem_node: ElemNode<N>,
        node_coord: N::Array<[f64; 3]>,
        node_faces: N::Array<u8>,
    ) -> Mesh<N> {
        let Mesh { element, map, part, listed, .. } = self;
        let (map, part, listed) = (map.clone(), part.clone(), listed.clone());
        Mesh { element: *element, elem_node, node_coord, node_faces, map, part, listed }
    }

    /// Returns the whole box.
    pub fn spec(&self) -> &BoxSpec {
        self.part.spec()
    }

    /// Returns the number of owned nodes that share no element with a ghost. They come first; their rows need no halo.
    pub fn interior_count(&self) -> usize {
        self.listed.as_ref().map_or(self.part.interior().count() as usize, |listed| listed.interior)
    }

    /// Returns the number of elements, including those that other ranks have too.
    pub fn elem_count(&self) -> usize {
        self.elem_node.elem_count()
    }

    /// Returns the id of a local node in the whole box: the lexicographic number of its grid point, x fastest.
    pub fn global_node(&self, node: LocalOrdinal) -> GlobalOrdinal {
        match &self.listed {
            Some(listed) => listed.ids[node as usize],
            None => self.part.global_node(self.part.node_index(node)),
        }
    }

    /// Returns the local index of an owned node by its grid point; of listed nodes in O(log nodes).
    pub(super) fn owned_node(&self, point: [u64; 3]) -> Option<LocalOrdinal> {
        if !self.part.owned().contains(point) {
            return None;
        }
        let Some(Listed { ids, interior }) = &self.listed else { return Some(self.part.local_node(point)) };
        // Interior nodes ascend, and so do the other owned ones behind them.
        let id = IndexBox::whole(self.spec().nodes()).position(point);
        let (inner, outer) = ids[..self.map.owned_count()].split_at(*interior);
        let found = inner.binary_search(&id).or_else(|_| outer.binary_search(&id).map(|at| interior + at));
        found.ok().map(|at| at as LocalOrdinal)
    }

    /// Returns the grid point of a local node.
    pub(super) fn grid_point(&self, node: LocalOrdinal) -> [u64; 3] {
        match &self.listed {
            Some(listed) => IndexBox::whole(self.spec().nodes()).at(listed.ids[node as usize]),
            None => self.part.node_index(node),
        }
    }

    /// Returns coordinates and faces of a local node, computed on the host without the tables.
    pub fn point(&self, node: LocalOrdinal) -> ([f64; 3], u8) {
        let index = self.grid_point(node);
        (self.spec().coordinates(index), point::faces_of(index, self.spec().nodes()))
    }

    /// Lists the local nodes on any of some faces, computed on the host.
    ///
    /// Cost: O(lines along x + nodes on faces), of listed nodes O(nodes).
    pub fn nodes_on(&self, faces: &[Face]) -> Vec<LocalOrdinal> {
        let (whole, mask) = (self.spec().nodes(), faces.iter().fold(0, |mask, &face| mask | face as u8));
        if self.listed.is_some() {
            let is_on = |&node: &LocalOrdinal| point::faces_of(self.grid_point(node), whole) & mask != 0;
            return (0..self.map.local_count() as LocalOrdinal).filter(is_on).collect();
        }
        let IndexBox { low: [first, ..], high: [end, ..] } = *self.part.used();
        let lines = IndexBox::from_axes(|axis| {
            let IndexBox { low, high } = self.part.used();
            (low[axis], if axis == 0 { low[0] + 1 } else { high[axis] })
        });
        let of_line = |[_, j, k]: [u64; 3]| {
            let is_on = move |i: u64| point::faces_of([i, j, k], whole) & mask != 0;
            // Nodes between the ends of a line lie on the same faces.
            let step = if end - first > 2 && !is_on(first + 1) { end - first - 1 } else { 1 };
            (first..end).step_by(step as usize).filter(move |&i| is_on(i)).map(move |i| self.part.local_node([i, j, k]))
        };
        lines.iter().flat_map(of_line).collect()
    }

    /// Returns what [`MeshSpace::scatter_by_id`](super::MeshSpace::scatter_by_id) writes: a pseudo-random number in (-1, 1) for a field of each owned node, `[node][field]`: a function of seed, global id and
    /// field, the same on every partition.
    #[cfg(any(test, feature = "cuda"))]
    pub(super) fn random(&self, seed: u64, fields: usize) -> Vec<f64> {
        let of_node = |node| {
            let first = fields as u64 * self.global_node(node);
            (0..fields as u64).map(move |field| point::number_of(seed, first + field))
        };
        (0..self.map.owned_count() as LocalOrdinal).flat_map(of_node).collect()
    }

    /// Returns whether a point is in the box; never for a NaN.
    pub(super) fn contains(&self, point: [f64; 3]) -> bool {
        point.iter().zip(self.part.spec().size()).all(|(&x, size)| (0.0..=size).contains(&x))
    }

    /// The error for a local node that lies outside the box.
    pub(super) fn outside(&self, node: usize, [x, y, z]: [f64; 3]) -> Error {
        let ([a, b, c], map) = (self.part.spec().size(), self.part.spec().map());
        let node = self.global_node(node as LocalOrdinal);
        Error::Invalid(format!(
            "node {node}: the map {map} moves it to ({x}, {y}, {z}), out of the box of size {a} x {b} x {c}: expected a \
             smaller amplitude"
        ))
    }
}
