//! Sums element matrices and residuals into the values of a CRS matrix and a residual, and imposes boundary conditions.
//!
//! Both operations have one interface on every space: [`Assemble`] for the heat equation and [`Boundary`] for
//! [`Dirichlet`] conditions. [`AssembleModel`] has the program's other problems. A user's equations use the host's [`Fill`] with an
//! [`ElementKernel`] (or [`element_fn`]), a [`Coo`] where the number of nodes per element is known at run time only, or a GPU's `CudaFill` with an `EquationText` or
//! stored element matrices. Assembly offers three strategies:
//!
//! | strategy | method | same bits on any number of threads | memory, bytes per element of `NN` nodes |
//! |---|---|---|---|
//! | [`Scatter`](Strategy::Scatter) | each element adds to its rows, atomically in rows that several blocks of elements share | no | 0 |
//! | [`Gather`](Strategy::Gather) | element matrices are computed first, then each row sums its own, elements ascending | yes | 4 NN, and a window or 8 NN (NN + 1) |
//! | [`Colour`](Strategy::Colour) | blocks of elements that share no node run in parallel, without atomics | yes | 0 |
//!
//! `fill/cuda` describes the same strategies on a GPU. Sources: Kokkos MiniFENL (scatter, gather); Hoemmen and Edwards
//! 2014, slides 12-14. Cost of every strategy: reads 4 NN + 32 NN bytes of connectivity, coordinates and unknowns per
//! element (less what neighbours share) and NN^2 bytes of positions. Scatter and colour zero and update each value (24
//! bytes per entry); gather writes it once.
//!
//! ```
//! use minifenl::fill::{Fill, Strategy, element_fn};
//! use minifenl::{graph, mesh::ElemNode, space::Threads, sparse::CrsMatrix};
//!
//! let space = Threads::new(2)?;
//! let elem_node = ElemNode::new(vec![0, 1, 1, 2], 2, 3)?;
//! let graph = graph::build(&space, &elem_node, 3, graph::Strategy::default())?;
//! // The second segment is twice as stiff.
//! let kernel = element_fn(|elem| {
//!     let k = [1.0, 2.0][elem];
//!     ([[k, -k], [-k, k]], [0.5; 2])
//! });
//! for (strategy, name) in Strategy::ALL {
//!     let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![f64::NAN; 3]);
//!     let mut fill = Fill::<2>::new(&space, strategy, &graph)?;
//!     fill.assemble(&space, &kernel, &mut matrix, &mut residual)?;
//!     assert_eq!(matrix.values(), &[1.0, -1.0, -1.0, 3.0, -2.0, -2.0, 2.0], "{name}");
//!     assert_eq!(residual, [0.5, 1.0, 0.5], "{name}");
//! }
//! # Ok::<(), minifenl::Error>(())
//! ```

mod coo;
#[cfg(feature = "cuda")]
mod cuda;
mod dirichlet;
mod host;
#[cfg(feature = "cuda")]
mod kernel_files;
mod model;
mod norms;
mod operator;
mod parts;
mod same_graph;
mod stored_system;

pub use coo::{Combinations, Coo, CooIndex, DistributedCoo, ElementIndices, ReducedPairs};
#[cfg(feature = "cuda")]
pub use coo::{CudaCoo, DeviceIndex, DeviceIndices};
#[cfg(feature = "cuda")]
pub use cuda::{
    CudaEquationKernel, CudaFill, CudaHeatAssembly, CudaModelAssembly, CudaModelOperator, ElementMatrices,
    EquationInput, EquationText,
};
pub use dirichlet::{Boundary, Dirichlet};
pub use host::{
    ContractionKernel, ElementBatch, ElementFn, ElementKernel, Elements, EquationKernel, EquationScratch, Fill,
    FusedKernel, HostHeatAssembly, HostOperator, element_fn,
};
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use model::{AssembleModel, FieldErrors, FieldOn, Sample};
pub use operator::{ApplyCost, ApplyModel};
pub use parts::{Parts, Wanted};
pub use stored_system::StoredSystem;

use crate::Result;
use crate::element::Analytic;
use crate::element::equations::Heat;
use crate::graph::Graph;
use crate::space::{Array, MemorySpace, Slice};
use crate::sparse::{Formats, MatrixStorage};
use std::fmt::Debug;

/// Method that sums element matrices into rows. The default is reproducible and needs no memory of its own; measured on
/// the host, it equals the others on few threads and is faster on many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Elements add to their rows, atomically in shared rows.
    Scatter,
    /// Rows sum their elements in a fixed order.
    Gather,
    /// Elements of one colour add to their rows without atomics.
    #[default]
    Colour,
}

impl Strategy {
    /// All strategies with their names.
    pub const ALL: [(Strategy, &'static str); 3] =
        [(Strategy::Scatter, "scatter"), (Strategy::Gather, "gather"), (Strategy::Colour, "colour")];
}

crate::space::named_choice!(Strategy, "fill strategy");

#[cfg(any(feature = "cli", feature = "cuda"))]
impl Strategy {
    /// Returns whether a GPU assembles a system of `rows` rows in slices. The additions of other strategies than `Gather` go to
    /// neighbouring columns together, which are adjacent in CRS only.
    pub(crate) fn assembles_in_slices(self, rows: usize) -> bool {
        self == Strategy::Gather && rows > crate::sparse::SMALL_ON_GPU
    }
}

/// Returns how many of `elems` elements a GPU's `Gather` computes at a time: an eighth, from 2^20 to 2^22. On an H200, 2^20
/// elements are 0.4 ms of work, so that launches and half-filled waves of blocks cost 3 %; with 2^22 they cost nothing. A
/// multiple of 2^16, so that each step begins at a cache line of every array: otherwise stores cost 9 % of the assembly.
#[cfg(any(feature = "cli", feature = "cuda"))]
pub(crate) fn step_of(elems: usize) -> usize {
    (elems / 8).clamp(1 << 20, 1 << 22).next_multiple_of(1 << 16)
}

/// Method that computes element matrices and residuals of the heat equation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// Geometry, then Intrepid contractions over worksets of cells; on a GPU both in one pass on tensor cores.
    Contraction,
    /// Sum-factorised moments in one pass.
    #[default]
    Fused,
}

impl Kernel {
    /// All kernels with their names.
    pub const ALL: [(Kernel, &'static str); 2] = [(Kernel::Contraction, "contraction"), (Kernel::Fused, "fused")];
}

crate::space::named_choice!(Kernel, "element kernel");

/// The input of the heat equation's element kernels beside the table of trilinear hexahedra: coordinates and temperatures.
#[derive(Debug)]
pub struct HeatInput<'a, M: MemorySpace> {
    /// Coordinates of each node, owned and ghost, `[node][3]`.
    pub node_coord: &'a M::Slice<[f64; 3]>,
    /// Temperature T of each node, owned and ghost, `[node]`.
    pub temperature: &'a M::Slice<f64>,
    /// The equation.
    pub heat: Heat,
}

// Derived implementations would demand that arrays are `Copy`.
impl<M: MemorySpace> Clone for HeatInput<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: MemorySpace> Copy for HeatInput<'_, M> {}

/// An execution space that assembles the heat equation -K laplace(T) + T^2 = 0.
pub trait Assemble: Formats {
    /// The strategy that `auto` selects on this space.
    const STRATEGY: Strategy;

    /// Tables of a strategy, the element kernel and their working memory; made once per mesh.
    type HeatAssembly: Debug;

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

    /// Prepares a strategy and an element kernel for a system, which was made for the same strategy.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when elements do not have 8 nodes,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    fn heat_assembly(
        &self,
        strategy: Strategy,
        kernel: Kernel,
        system: &StoredSystem<Self>,
    ) -> Result<Self::HeatAssembly>;

    /// Overwrites the values of the system's matrix with the Jacobian and the first items of `residual`, one per row, with the
    /// residual. A host refuses a longer residual. The system is the one that the assembly was made for, or one of an equal
    /// graph where that can be compared on a host. The table above says which strategies give the same bits in every run.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Invalid`](crate::Error::Invalid) when an array does not fit the tables
    /// or the system is another one,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when memory for element matrices, which a GPU's `Gather` allocates in
    /// its first call, is not available.
    fn assemble_heat(
        &self,
        assembly: &mut Self::HeatAssembly,
        input: HeatInput<'_, Self::Memory>,
        system: &mut StoredSystem<Self>,
        residual: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// Returns the bytes of element matrices and residuals that one assembly writes to memory and reads back. It is 0
    /// where they stay in registers and caches.
    fn stored_bytes(assembly: &Self::HeatAssembly) -> u64;

    /// Returns the exact temperature at the first `count` nodes.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when there are fewer nodes, [`Error::OutOfMemory`](crate::Error::OutOfMemory) when
    /// the memory is not available.
    fn sample(&self, exact: &Analytic, node_coord: &Slice<Self, [f64; 3]>, count: usize) -> Result<Array<Self, f64>>;
}
