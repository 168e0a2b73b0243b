//! A matrix in its storage format, with positions of elements and boundary conditions.

use super::Dirichlet;
use crate::graph::ElemGraph;
use crate::sparse::Formats;

/// A matrix and what addresses its values.
#[derive(Debug)]
pub struct StoredSystem<S: Formats> {
    /// The matrix; the space's products read it.
    pub matrix: S::Matrix,
    /// Of each element-matrix entry: on a GPU its place in its row as it is stored, on a host its position in CRS.
    pub places: ElemGraph<S::Memory>,
    /// Boundary conditions, by index in the stored values.
    pub conditions: Dirichlet<S::Memory>,
}
