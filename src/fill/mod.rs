//! Sums element matrices and residuals into the values of a CRS matrix and a residual, and imposes boundary conditions.
//!
//! Both operations have one interface on every space: [`Assemble`] for the program's equations and [`Boundary`] for
//! [`Dirichlet`] conditions. A user's equations use the host's [`Fill`] with an [`ElementKernel`] (or [`element_fn`]), a [`MatrixFill`]
//! or a [`Coo`] where element matrices are stored and the number of nodes per element is known at run time only, or a GPU's `CudaFill` with an `EquationText` or
//! stored element matrices. Assembly offers these strategies:
//!
//! | strategy | method | same bits on any number of threads | memory, bytes per element of `NN` nodes |
//! |---|---|---|---|
//! | [`Scatter`](Strategy::Scatter) | each element adds every entry to its rows atomically | no | 0 |
//! | [`Gather`](Strategy::Gather) | element matrices are computed first, then each row sums its own, elements ascending | yes | 4 NN, and a window or 8 NN (NN + 1) |
//! | [`Colour`](Strategy::Colour), hosts only | blocks of elements that share no node run in parallel, without atomics | yes | 0 |
//!
//! `fill/cuda` describes the same strategies on a GPU. Sources: Kokkos MiniFENL (scatter, gather); Hoemmen and Edwards
//! 2014, slides 12-14. What scatter's atomics cost, `minifenl strategies` shows: there is a row `unsafe` with plain additions. Cost of every strategy: reads 4 NN + 32 NN bytes of connectivity, coordinates and unknowns per
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

mod assemble;
mod coo;
#[cfg(feature = "cuda")]
mod cuda;
mod dirichlet;
mod given;
mod host;
#[cfg(feature = "cuda")]
mod kernel_files;
mod norms;
mod operator;
mod same_graph;
mod stored_system;
mod workset;

pub use crate::graph::CooIndex;
pub use assemble::{Additions, Assemble, AssemblyChoice, FieldErrors, FieldOn, Sample};
pub use coo::{Combinations, Coo, DistributedCoo, ElementIndices, ReducedPairs};
#[cfg(feature = "cuda")]
pub use coo::{CudaCoo, DeviceIndices};
#[cfg(feature = "cuda")]
pub use cuda::{
    CudaAssembly, CudaEquationKernel, CudaFill, CudaGiven, CudaModelOperator, ElementMatrices, EquationInput,
    EquationText,
};
pub use dirichlet::{Boundary, Dirichlet};
pub use host::{
    BlockCounts, ElementBatch, ElementKernel, ElementProduct, EquationKernel, Evaluate, Fill, FusedKernel, Given,
    GivenAssembly, HostAssembly, HostOperator, IntrepidKernel, MatrixFill, Parts, Wanted, WeakForm, WithGiven,
    Worksets, element_fn,
};
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use norms::{check_elements, field_errors};
pub use operator::{ApplyCost, ApplyModel, operator_bytes};
pub use stored_system::StoredSystem;
pub use workset::{ContractionCalls, Workset};

use crate::Error;
use crate::element::ElementType;
use crate::element::equations::{Heat, Jacobian, Model, ModelEquation, Scalar};

crate::space::named_choice! { "fill strategy";
    /// Method that sums element matrices into rows. The default is reproducible and needs no memory of its own; measured on
    /// the host, it equals the others on few threads and is faster on many.
    #[derive(Default)]
    pub enum Strategy {
        /// Elements add every entry to their rows atomically.
        Scatter = "scatter",
        /// Rows sum their elements in a fixed order.
        Gather = "gather",
        /// Elements of one colour add to their rows without atomics; on hosts.
        #[default]
        Colour = "colour",
    }
}

impl Strategy {
    /// Returns the strategies of a GPU, with their names.
    pub fn on_gpu() -> impl Iterator<Item = (Self, &'static str)> {
        Self::ALL.into_iter().filter(|(strategy, _)| *strategy != Strategy::Colour)
    }

    /// Returns whether sums have the same bits in every run, on any number of threads.
    pub fn is_reproducible(self) -> bool {
        self != Strategy::Scatter
    }

    /// Returns whether a GPU assembles a system of `rows` rows in slices. The additions of other strategies than `Gather` go to
    /// neighbouring columns together, which are adjacent in CRS only.
    #[cfg(feature = "cuda")]
    pub(crate) fn assembles_in_slices(self, rows: usize) -> bool {
        self == Strategy::Gather && rows > crate::sparse::SMALL_ON_GPU
    }
}

/// Returns how many of `elems` elements a GPU computes at a time, unless it adds by the fused kernel: an eighth, from 2^20 to 2^22. On an H200, 2^20
/// elements are 0.4 ms of work, so that launches and half-filled waves of blocks cost 3 %; with 2^22 they cost nothing. A
/// multiple of 2^16, so that each step begins at a cache line of every array: otherwise stores cost 9 % of the assembly.
#[cfg(feature = "cuda")]
pub(crate) fn step_of(elems: usize) -> usize {
    (elems / 8).clamp(1 << 20, 1 << 22).next_multiple_of(1 << 16)
}

crate::space::named_choice! { "element kernel";
    /// Method that computes element matrices and residuals.
    #[derive(Default)]
    pub enum Kernel {
        /// Intrepid's pipeline over worksets of cells: geometry and transformed basis, then [contractions](crate::contraction).
        Intrepid = "intrepid",
        /// Geometry, then sums over products of values at the points with a table that all elements share, for any equation and element.
        Table = "table",
        /// Sum-factorised moments in one pass, for [`heat_on_hex8`] only.
        #[default]
        Fused = "fused",
    }
}

/// Returns the equation of the model if the gallery has kernels of its own for it: heat on `hex8` with derivatives by hand.
pub fn heat_on_hex8(model: &Model, element: ElementType) -> Option<Heat> {
    match (model.equation, model.jacobian, element) {
        (ModelEquation::Scalar(Scalar::Heat(heat)), Jacobian::Analytic, ElementType::Hex8) => Some(heat),
        _ => None,
    }
}

/// Refuses an element of fewer than three dimensions.
fn no_volume(name: &'static str, element: ElementType) -> Error {
    Error::Invalid(format!("{name}: {element} has {} dimensions, expected an element of 3", element.dim()))
}

/// Refuses a kernel for a model that it cannot compute.
fn no_kernel(kernel: Kernel, element: ElementType) -> Error {
    let expected = match kernel {
        Kernel::Fused => "the heat equation on hex8, or table",
        Kernel::Intrepid | Kernel::Table => "table",
    };
    Error::Invalid(format!("assembly: kernel {kernel} on {element}: expected {expected}"))
}
