//! A matrix in its storage format, with positions of elements and boundary conditions.

use super::Dirichlet;
use crate::graph::ElemGraph;
use crate::sparse::Formats;

/// A matrix and what addresses its values.
#[derive(Debug)]
pub struct StoredSystem<S: Formats> {
    /// The matrix; the space's products read it.
    pub matrix: S::Matrix,
    /// Place of each element-matrix entry in its row as it is stored; on hosts in CRS, from which the rows of the matrix know the place.
    pub places: ElemGraph<S::Memory>,
    /// Boundary conditions, by index in the stored values.
    pub conditions: Dirichlet<S::Memory>,
}
