//! Assembly of the program's equations on any element type: what every space offers to a run.

use super::{ContractionCalls, Dirichlet, Kernel, StoredSystem, Strategy, Workset};
use crate::Result;
use crate::element::equations::Model;
use crate::element::{Analytic, ElementType};
use crate::graph::Graph;
use crate::mesh::{ElemNode, Sizes};
use crate::space::{Array, MemorySpace, Slice};
use crate::sparse::{Formats, MatrixStorage};
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

/// Additions of one assembly of matrix and residual to sums that elements share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Atomic ones.
    pub atomic: u64,
    /// The others: load, add, store.
    pub plain: u64,
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

/// How a space assembles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssemblyChoice {
    /// Sums element matrices; `None`: [`Strategy::Scatter`] with plain additions in place of atomic ones, to measure what atomics cost. Its
    /// sums are wrong where threads meet: each loses terms of the others.
    pub strategy: Option<Strategy>,
    /// Computes element matrices.
    pub kernel: Kernel,
    /// Read by [`Kernel::Intrepid`] alone.
    pub workset: Workset,
}

impl From<(Strategy, Kernel)> for AssemblyChoice {
    fn from((strategy, kernel): (Strategy, Kernel)) -> Self {
        AssemblyChoice { strategy: Some(strategy), kernel, workset: Workset::default() }
    }
}

/// An execution space that assembles a [`Model`] on elements of any volume type. Each space has a gallery of element kernels:
/// [`assembly`](Self::assembly) takes from it what suits equation, element and [`Kernel`].
pub trait Assemble: Formats {
    /// The strategy that `auto` selects on this space.
    const STRATEGY: Strategy;

    /// Tables of a strategy, the element kernel and their working memory; made once per mesh.
    type Assembly: Debug;

    /// Compiles and loads the element kernels of a model on an element type, where that takes time.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) when NVRTC is missing or refuses the text.
    fn load_assembly(&self, _choice: AssemblyChoice, _model: &Model, _element: ElementType) -> Result<()> {
        Ok(())
    }

    /// Expands a graph of nodes to `dofs` interleaved unknowns per node.
    ///
    /// # Errors
    /// Those of [`Graph::with_dofs`].
    fn dof_graph(&self, nodes: Graph<Self::Memory>, dofs: usize) -> Result<Graph<Self::Memory>>;

    /// Returns a matrix of a graph in a storage, as suits the strategy; its values are arbitrary until they are assembled.
    /// Takes the graph and conditions on it; what the format does not need of them is freed.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when pattern and elements are of two graphs or the space has no products with the
    /// storage, [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    fn stored_system(
        &self,
        strategy: Strategy,
        storage: MatrixStorage,
        graph: Graph<Self::Memory>,
        conditions: Dirichlet<Self::Memory>,
    ) -> Result<StoredSystem<Self>>;

    /// Prepares a strategy and an element kernel for a system of the model's dofs, which was made for the same strategy.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the elements have another number of nodes,
    /// [`Error::Invalid`](crate::Error::Invalid) for a two-dimensional type, for a kernel that the gallery lacks for the model, and on a
    /// GPU for [`Strategy::Colour`],
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    fn assembly(
        &self,
        choice: AssemblyChoice,
        model: &Model,
        on: FieldOn<'_, Self::Memory>,
        system: &StoredSystem<Self>,
    ) -> Result<Self::Assembly>;

    /// Overwrites the values of the system's matrix with the Jacobian at `unknowns` `[node, component]`, owned and ghosts, and
    /// the first items of `residual`, one per row, with the residual. A host refuses a longer residual. The system is the one that
    /// the assembly was made for, or one of an equal graph where that can be compared on a host. The table of [`fill`](super) says
    /// which strategies give the same bits in every run.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Invalid`](crate::Error::Invalid) when an array does not fit the tables
    /// or the system is another one,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when memory for element matrices is not available, which a GPU allocates in its first call;
    /// on a host [`Error::Folded`](crate::Error::Folded) where det J is not positive at a point, but for [`Kernel::Fused`]; a device's failure.
    fn assemble(
        &self,
        assembly: &mut Self::Assembly,
        node_coord: &Slice<Self, [f64; 3]>,
        unknowns: &Slice<Self, f64>,
        system: &mut StoredSystem<Self>,
        residual: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// Overwrites the first items of `residual` as [`assemble`](Self::assemble), without the matrix; returns whether the space does that.
    ///
    /// # Errors
    /// Those of [`assemble`](Self::assemble).
    fn residual(
        &self,
        _assembly: &mut Self::Assembly,
        _node_coord: &Slice<Self, [f64; 3]>,
        _unknowns: &Slice<Self, f64>,
        _residual: &mut Slice<Self, f64>,
    ) -> Result<bool> {
        Ok(false)
    }

    /// Overwrites the first items of `inverse`, one per row, with the reciprocals of the diagonal of the assembled matrix; NaN where an entry is
    /// not positive. A host searches each row for its diagonal; a GPU reads a table of its positions.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for a short array, [`Error::Invalid`](crate::Error::Invalid) on a host for a row without a diagonal.
    fn inverse_diagonal(&self, system: &StoredSystem<Self>, inverse: &mut Slice<Self, f64>) -> Result<()>;

    /// Returns the bytes in use while [`stored_system`](Self::stored_system) makes the system, and then, of pattern and matrix: `pattern`
    /// are those of the pattern before.
    fn system_bytes(strategy: Strategy, storage: MatrixStorage, sizes: &Sizes, pattern: u64) -> [u64; 2];

    /// Returns the bytes that a strategy keeps of so many rows, slots of their lists, columns and elements, and those that only its
    /// preparation needs.
    fn strategy_bytes(strategy: Strategy, sizes: [u64; 4]) -> [u64; 2];

    /// Returns the bytes of element matrices, symmetric or not, and worksets that an assembly with `threads` threads keeps, at first and
    /// from its first use.
    fn matrices_bytes(choice: (AssemblyChoice, bool), sizes: &Sizes, threads: u64) -> [u64; 2];

    /// Returns the bytes of element matrices and residuals that one assembly writes to memory and reads back. It is 0
    /// where they stay in registers and caches.
    fn stored_bytes(assembly: &Self::Assembly) -> u64;

    /// Returns the calls of contractions by all assemblies so far; none unless the kernel is [`Kernel::Intrepid`].
    fn contractions(assembly: &Self::Assembly) -> ContractionCalls;

    /// Returns the additions of one assembly, as the plan counted them in its table: d n + 1 per dof of an element of n nodes at a row;
    /// `None` with [`Strategy::Gather`], which writes each sum once.
    fn additions(assembly: &Self::Assembly) -> Option<Additions>;

    /// Returns the exact temperature at the first `count` nodes.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when there are fewer nodes, [`Error::OutOfMemory`](crate::Error::OutOfMemory) when
    /// the memory is not available.
    fn sample(&self, exact: &Analytic, node_coord: &Slice<Self, [f64; 3]>, count: usize) -> Result<Array<Self, f64>>;
}
