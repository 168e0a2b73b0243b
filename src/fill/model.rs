//! Assembly of the program's equations on any element type: what a space does for a run that is not the heat equation on `hex8`.

use super::{StoredSystem, Strategy};
use crate::Result;
use crate::element::ElementType;
use crate::element::equations::Model;
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::{HostMemory, MemorySpace, Slice};
use crate::sparse::Formats;
use std::fmt::Debug;

/// A vector field as a function of the point; scalar fields are its first component.
pub type Sample<'a> = &'a (dyn Fn([f64; 3]) -> [f64; 3] + Sync);

/// Errors of a discrete field at the elements' quadrature points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FieldErrors {
    /// Largest |u - exact|.
    pub max: f64,
    /// Largest |interpolant of the exact field - exact|.
    pub interpolation: f64,
    /// Largest |exact|.
    pub scale: f64,
    /// Integral of |u - exact|^2.
    pub square: f64,
    /// Integral of |exact|^2.
    pub scale_square: f64,
}

/// A rank's elements with the coordinates of their nodes.
#[derive(Debug)]
pub struct FieldOn<'a, M: MemorySpace> {
    /// Type of the elements.
    pub element: ElementType,
    /// Nodes of each element.
    pub elem_node: &'a ElemNode<M>,
    /// Coordinates of each node.
    pub node_coord: &'a M::Slice<[f64; 3]>,
}

impl<M: MemorySpace> Clone for FieldOn<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: MemorySpace> Copy for FieldOn<'_, M> {}

/// An execution space that assembles a [`Model`] on elements of any volume type.
pub trait AssembleModel: Formats {
    /// Tables of a strategy for a model and an element type, and their working memory; made once per mesh.
    type ModelAssembly: Debug;

    /// Compiles and loads the kernels of a model on an element type, where that takes time.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) when NVRTC is missing or refuses the text.
    fn load_model(&self, _model: &Model, _element: ElementType) -> Result<()> {
        Ok(())
    }

    /// Expands a graph of nodes to `dofs` interleaved unknowns per node.
    ///
    /// # Errors
    /// Those of [`Graph::with_dofs`].
    fn dof_graph(&self, nodes: Graph<Self::Memory>, dofs: usize) -> Result<Graph<Self::Memory>>;

    /// Prepares a strategy for a system of the model's dofs on elements of this type.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the elements have another number of nodes,
    /// [`Error::Invalid`](crate::Error::Invalid) for a two-dimensional type.
    fn model_assembly(
        &self,
        strategy: Strategy,
        model: &Model,
        on: FieldOn<'_, Self::Memory>,
        system: &StoredSystem<Self>,
    ) -> Result<Self::ModelAssembly>;

    /// Overwrites the values of the system's matrix with the Jacobian at `unknowns` `[node, component]`, owned and ghosts, and
    /// `residual` with the residual. The promises about bits are those of the strategy.
    ///
    /// # Errors
    /// Those of [`Fill::assemble`](super::Fill::assemble) and [`EquationKernel::new`](super::EquationKernel::new).
    fn assemble_model(
        &self,
        assembly: &mut Self::ModelAssembly,
        node_coord: &Slice<Self, [f64; 3]>,
        unknowns: &Slice<Self, f64>,
        system: &mut StoredSystem<Self>,
        residual: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// Returns the bytes of element matrices and residuals that one assembly writes to memory and reads back.
    fn model_stored_bytes(assembly: &Self::ModelAssembly) -> u64;

    /// Refuses a mesh with an element whose Jacobian determinant is not positive at its nodes and at the points of its cubature
    /// rule. Elsewhere it is not looked at: an element of degree 2 may fold between them. Threads of the host do it, beside a GPU those
    /// of all cores allowed.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with the lowest such element of this rank.
    fn check_elements(&self, on: FieldOn<'_, HostMemory>) -> Result<()>;

    /// Returns the errors of a field of `dofs` components over the elements whose first node is one of the first `owned`, so that each
    /// element is counted on one rank. The sums do not depend on the number of threads, which are those of `check_elements`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless `field` has an item per node and component.
    fn field_errors(
        &self,
        on: FieldOn<'_, HostMemory>,
        owned: usize,
        dofs: usize,
        field: &Slice<Self, f64>,
        exact: Sample<'_>,
    ) -> Result<FieldErrors>;
}
