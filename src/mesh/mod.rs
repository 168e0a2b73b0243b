//! Meshes: the element-node table, the box of hexahedra and its partition among ranks.

mod elem_node;

pub use elem_node::ElemNode;
