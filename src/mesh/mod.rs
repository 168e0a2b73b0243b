//! Meshes: the element-node table, the box of hexahedra and its partition among ranks.
//!
//! ```text
//! BoxSpec ----> BoxPart(rank, ranks) ----> Mesh
//! nodes, size,  owned and ghost nodes,     elem_node, node_coord,
//! map           neighbours, numbering      node_faces, Map
//! ```
//! The box is made as a structured grid and kept as an unstructured mesh: whoever uses a [`Mesh`] sees tables only.
//! No rank needs another's help: each computes its own part, in O(log ranks) time and memory beside its nodes.

mod box_part;
mod box_spec;
mod coordinate_map;
#[cfg(feature = "cuda")]
mod cuda;
mod elem_node;
mod index_box;
#[cfg(feature = "cuda")]
mod kernel_files;
mod meshed_box;
mod quality;
mod reorder;
mod split;
#[cfg(test)]
mod tests;

pub use box_part::{BoxPart, PartNeighbour};
pub use box_spec::{BoxSpec, nodes_for_ranks};
pub use coordinate_map::CoordinateMap;
pub use elem_node::ElemNode;
pub use index_box::IndexBox;
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use meshed_box::{Face, Mesh};
pub use quality::{check_folding, longest_edge};
pub use reorder::Numbering;
