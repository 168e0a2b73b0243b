//! Meshes: the element-node table, the box of hexahedra and its partition among ranks, parts of any other mesh.
//!
//! ```text
//! BoxSpec ----> BoxPart(rank, ranks) ----> Mesh
//! nodes, size,  owned and ghost nodes,     elem_node, node_coord,
//! map           neighbours, numbering      node_faces, Map
//! ```
//! The box is generated as a structured grid and stored as an unstructured mesh: users of a [`Mesh`] see tables only. Each
//! rank computes its own part without communication, in O(log ranks) time and memory beside its nodes. [`MeshSpace`] makes
//! and checks meshes on every space.
//!
//! A mesh of another program, with a partition of its own, enters as a [`MeshPart`]: tables in global node ids become local ones.
//!
//! ```
//! use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
//! use minifenl::space::Serial;
//!
//! let spec = BoxSpec::new([5, 4, 3], [1.0; 3], CoordinateMap::None)?;
//! // The second of two ranks: its own nodes first, then the ghosts that its elements reach.
//! let mesh = Mesh::new(&Serial, BoxPart::new(&spec, 1, 2)?)?;
//! assert_eq!((mesh.map.owned_count(), mesh.map.ghost_count(), mesh.elem_count()), (36, 12, 18));
//! assert_eq!(mesh.elem_node.elem(0).len(), 8);
//! // Each coordinate belongs to a node of the whole box: x = 1 is the last of five nodes along x.
//! let last = mesh.node_coord.iter().position(|x| *x == [1.0; 3]).expect("a corner");
//! assert_eq!(mesh.global_node(last as u32), 5 * 4 * 3 - 1);
//! # Ok::<(), minifenl::Error>(())
//! ```

mod boundary;
mod box_part;
mod box_spec;
mod cell_elements;
mod coordinate_map;
#[cfg(feature = "cuda")]
mod cuda;
mod elem_node;
mod element_part;
mod grid_columns;
mod grid_matrix;
mod grid_product;
mod host;
mod index_box;
#[cfg(feature = "cuda")]
mod kernel_files;
mod lattice;
#[cfg(test)]
mod many_ranks_tests;
mod mesh_part;
mod meshed_box;
mod point;
mod reorder;
mod sizes;
mod split;
mod stencil;
#[cfg(test)]
mod tests;
mod vtu;

pub use boundary::{BoundaryFaces, boundary_faces};
pub use box_part::{BoxPart, BoxParts, PartNeighbour};
pub use box_spec::{BoxSpec, nodes_for_ranks};
pub use coordinate_map::CoordinateMap;
pub use elem_node::ElemNode;
pub use grid_matrix::GridMatrix;
pub use index_box::IndexBox;
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use mesh_part::{MeshPart, Origin};
pub use meshed_box::{Face, Mesh};
pub use reorder::Numbering;
pub use sizes::Sizes;
pub use stencil::Stencil;
#[cfg(all(test, feature = "cli"))]
pub(crate) use vtu::tests::numbers as vtu_numbers;
#[cfg(feature = "cli")]
pub(crate) use vtu::{HEAD as VTU_HEAD, vtu_files};
pub use vtu::{Vtu, VtuField, check_vtu};

use crate::comm::{Communicator, Map};
use crate::error::{check_at_least, check_length};
use crate::space::{Array, ExecutionSpace, MemorySpace, Slice};
use crate::{LocalOrdinal, Result};

/// An execution space that makes the tables of a box and works on them.
///
/// Each operation reads or writes its arrays once. Results do not depend on the number of threads.
pub trait MeshSpace: ExecutionSpace {
    /// Makes the tables of one rank's part of the box. Does not check the elements' shape: see
    /// [`check_folding`](Self::check_folding).
    ///
    /// Cost: writes 32 bytes per element and 25 bytes per node, in the memory of the space; the lists of nodes to send are made
    /// on the host. The tables are the same on every space, except for the last bit of a twisted box's coordinates on a GPU,
    /// whose sine differs from the host's.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    fn generate_mesh(&self, part: BoxPart) -> Result<Mesh<Self::Memory>>;

    /// Takes a mesh that was made on the host into the memory of the space; on a host without a copy.
    ///
    /// # Errors
    /// Those of [`Mesh::upload`].
    fn take_mesh(&self, mesh: Mesh) -> Result<Mesh<Self::Memory>>;

    /// Rejects a mesh with a node, owned or ghost, that its map has moved out of the box. The error names the lowest such node
    /// by its global id.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid).
    fn check_inside(&self, mesh: &Mesh<Self::Memory>) -> Result<()>;

    /// Rejects a mesh with an element whose Jacobian determinant is not shown to be positive everywhere, see
    /// [`fold`](crate::element::fold). The error names the lowest such element of this rank by its global id.
    ///
    /// # Errors
    /// [`Error::Folded`](crate::Error::Folded); [`Error::Shape`](crate::Error::Shape) unless elements have 8 nodes.
    fn check_folding(&self, mesh: &Mesh<Self::Memory>) -> Result<()>;

    /// Returns the spacing h of this rank's elements along a coordinate axis, for the interpolation error of a function of that
    /// coordinate alone: h^2 = max over elements of the sum, over the three directions of an element, of the largest squared
    /// difference of the coordinate along the four edges in that direction. A brick has its edge along the axis.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless elements have 8 nodes.
    fn spacing(&self, mesh: &Mesh<Self::Memory>, axis: usize) -> Result<f64>;

    /// Writes pseudo-random numbers in (-1, 1), functions of `seed`, a node's global id and a field, to the items of the owned nodes,
    /// `[node][field]`. The same on every space and partition.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the vector is shorter.
    fn scatter_by_id(
        &self,
        mesh: &Mesh<Self::Memory>,
        seed: u64,
        fields: usize,
        vector: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// Writes `value` to the items of `vector` (at least one per node, owned and ghost) whose nodes lie on a face.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the vector is shorter.
    fn set_on_face(
        &self,
        mesh: &Mesh<Self::Memory>,
        face: Face,
        value: f64,
        vector: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// Writes `values[i][field]` to `vector[nodes[i]][field]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless each node has a value per field, and when the vector ends before a node.
    fn set_nodes(&self, nodes: &[LocalOrdinal], values: &[f64], vector: &mut Slice<Self, f64>) -> Result<()>;

    /// Makes this rank's rows of the matrix of three stencils between two meshes of one box, rows and columns, for `dofs` interleaved
    /// unknowns per node; and the map of its columns, with ghosts. Without a communicator rows and columns
    /// are this rank's own nodes, whoever else has them. Collective with one.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for stencils of other grids, [`Error::Invalid`](crate::Error::Invalid) unless `dofs` is 1 to 512,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), on one rank with
    /// [`Error::Elsewhere`](crate::Error::Elsewhere) on all others.
    fn grid_matrix(
        &self,
        comm: Option<&dyn Communicator>,
        meshes: [&Mesh<Self::Memory>; 2],
        stencils: &[Stencil; 3],
        dofs: usize,
    ) -> Result<(GridMatrix<Self::Memory>, Map)>;

    /// Computes y = A x with such a matrix for vectors of at least its columns and rows: reads and writes each once beside its tables.
    ///
    /// # Errors
    /// The failure of a device.
    fn grid_product(
        &self,
        matrix: &GridMatrix<Self::Memory>,
        x: &Slice<Self, f64>,
        y: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// Returns 1 for each node, owned and ghost, that lies on one of the faces, and 0 for the others, `[node]`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    fn on_faces(&self, mesh: &Mesh<Self::Memory>, faces: impl IntoIterator<Item = Face>) -> Result<Array<Self, u8>>;
}

/// Returns the fields per node of [`MeshSpace::set_nodes`], and checks lengths.
fn fields_to_set(nodes: &[LocalOrdinal], values: &[f64], len: usize) -> Result<usize> {
    let fields = (values.len() / nodes.len().max(1)).max(1);
    check_length("set_nodes", "values", values.len(), fields * nodes.len())?;
    let end = nodes.iter().max().map_or(0, |&last| fields * (last as usize + 1));
    check_at_least("set_nodes", "vector", len, end)?;
    Ok(fields)
}

impl<M: MemorySpace> Mesh<M> {
    /// Makes the tables of a part of the box as [`MeshSpace::generate_mesh`].
    ///
    /// # Errors
    /// Those of [`MeshSpace::generate_mesh`].
    pub fn new<S: MeshSpace<Memory = M>>(space: &S, part: BoxPart) -> Result<Self> {
        space.generate_mesh(part)
    }
}
