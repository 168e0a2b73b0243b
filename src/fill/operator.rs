//! The Jacobian of a model as an operator without a matrix: y = J(u) v by elements.
//!
//! ```text
//! y_i = v_i                                   for unknowns i that boundary conditions fix
//! y_i = sum over elements of (J_e P_e v)_i    for the others; P_e v has 0 at fixed unknowns
//! ```
//! An assembled matrix with eliminated conditions gives the same y, but for its diagonal at fixed unknowns. Element vectors are summed
//! by the strategies of an assembly: with [`Strategy::Gather`] and [`Strategy::Colour`] y has the same bits in every run, on any number
//! of threads. Nothing of the matrix is stored: of the mesh 4 bytes per node of an element and 24 per node are read, and the geometry is
//! computed anew.

use super::{FieldOn, Strategy};
use crate::Result;
use crate::blas::{Blas, Reductions};
use crate::element::ElementType;
use crate::element::equations::Model;
use crate::mesh::Sizes;
use crate::space::{Array, Slice};
use std::fmt::Debug;

/// Bytes and flops of one application of an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyCost {
    /// Bytes read and written: each array once per pass.
    pub bytes: u64,
    /// Floating-point operations.
    pub flops: u64,
}

/// A space that applies the Jacobian of a [`Model`] by elements.
pub trait ApplyModel: Blas {
    /// A model on a mesh, with its conditions and working memory.
    type ModelOperator: Debug;

    /// Compiles and loads the kernels of a model's operator on an element type, where that takes time.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) when NVRTC is missing or refuses the text.
    fn load_operator(&self, _model: &Model, _element: ElementType) -> Result<()> {
        Ok(())
    }

    /// Prepares the operator of a model on a rank's elements, which owns the first `owned` nodes. `fixed` is 0 for each free unknown,
    /// `[node][component]`, owned and ghosts.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when an array does not fit the elements, [`Error::Invalid`](crate::Error::Invalid) for a
    /// two-dimensional type and on a GPU for [`Strategy::Colour`], [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    fn model_operator(
        &self,
        strategy: Strategy,
        model: &Model,
        on: FieldOn<'_, Self::Memory>,
        owned: usize,
        fixed: Array<Self, u8>,
    ) -> Result<Self::ModelOperator>;

    /// Sets the unknowns u of J(u), owned and ghosts, and overwrites `residual` with the residual at them, 0 at fixed unknowns. Keeps a
    /// copy of u if J depends on it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for arrays of other lengths, and a device's failure.
    fn linearise(
        &self,
        operator: &mut Self::ModelOperator,
        node_coord: &Slice<Self, [f64; 3]>,
        unknowns: &Slice<Self, f64>,
        residual: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// Overwrites y with J(u) x over the owned unknowns. The ghosts of x must be fresh. Does nothing once `sums` is stopped. On a GPU it
    /// only enqueues work.
    ///
    /// # Errors
    /// As [`linearise`](Self::linearise).
    fn apply_model(
        &self,
        operator: &mut Self::ModelOperator,
        node_coord: &Slice<Self, [f64; 3]>,
        x: &Slice<Self, f64>,
        y: &mut Slice<Self, f64>,
        sums: Option<&Reductions<Self>>,
    ) -> Result<()>;

    /// Returns what an application moves and computes.
    fn apply_cost(operator: &Self::ModelOperator) -> ApplyCost;
}

/// Returns the bytes of an operator's element vectors, and of the unknowns that it keeps, at most: equations of several unknowns are
/// linear and keep none.
pub fn operator_bytes(strategy: Strategy, sizes: &Sizes) -> [u64; 2] {
    let vectors = if strategy == Strategy::Gather { 8 * sizes.per_elem() * sizes.elems } else { 0 };
    [vectors, if sizes.dofs == 1 { 8 * sizes.columns() } else { 0 }]
}

/// Sizes on which the bytes of an application depend.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApplySizes {
    pub elems: usize,
    /// Nodes of an element.
    pub nodes: usize,
    pub dofs: usize,
    /// Owned nodes; all nodes.
    pub owned: usize,
    pub local: usize,
    /// Whether u is read.
    pub reads_unknowns: bool,
}

impl ApplySizes {
    /// Table 4 per node of an element; coordinates 24, x 8 per dof, its condition 1, u 8. Then y: written and added to (24), or
    /// written once (8) from element vectors, written and read (16 per dof of an element), by lists of 4 per slot and 8 per node.
    pub fn cost(self, strategy: Strategy, flops: usize) -> ApplyCost {
        let ApplySizes { elems, nodes, dofs, owned, local, reads_unknowns } = self;
        let inputs = 4 * nodes * elems + (24 + 9 * dofs + if reads_unknowns { 8 * dofs } else { 0 }) * local;
        let sums = match strategy {
            Strategy::Scatter | Strategy::Colour => 24 * dofs * owned,
            Strategy::Gather => (16 * dofs + 4) * nodes * elems + (8 + 8 * dofs) * owned,
        };
        ApplyCost { bytes: (inputs + sums) as u64, flops: (elems * flops) as u64 }
    }
}
