//! Parallel assembly and solution of finite-element linear systems: on threads, on GPUs, and on MPI ranks of either.
//!
//! The steps from a mesh to a solution are public functions: [`graph::build`] makes a graph from element-node tables,
//! [`fill::Fill`] sums element matrices, [`sparse::Spmv`] multiplies, and [`solve::solve()`] solves. The program `minifenl` applies them
//! to problems on a box.
//!
//! This example solves -u'' = 1 on a line with u = 0 at both ends:
//!
//! ```
//! use minifenl::fill::{self, Dirichlet, Fill, element_fn};
//! use minifenl::solve::{Options, solve};
//! use minifenl::{graph, mesh::ElemNode, space::Threads, sparse::CrsMatrix};
//!
//! // Four segments on five nodes; any element-node table will do. Connectivity in, graph out.
//! let (space, h) = (Threads::new(2)?, 0.25);
//! let elem_node = ElemNode::new(vec![0, 1, 1, 2, 2, 3, 3, 4], 2, 5)?;
//! let graph = graph::build(&space, &elem_node, 5, graph::Strategy::default())?;
//! // Element matrices and loads in, matrix and right-hand side out.
//! let kernel = element_fn(|_elem| ([[1.0 / h, -1.0 / h], [-1.0 / h, 1.0 / h]], [h / 2.0; 2]));
//! let (mut matrix, mut rhs) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; 5]);
//! let mut fill = Fill::<2>::new(&space, fill::Strategy::Gather, &graph)?;
//! fill.assemble(&space, &kernel, &mut matrix, &mut rhs)?;
//! Dirichlet::new(&space, &graph.crs, &[1, 0, 0, 0, 1])?.apply(&space, &mut matrix, &mut rhs)?;
//! // K u = b by conjugate gradients.
//! let mut u = vec![0.0; 5];
//! solve(&space, &matrix, &rhs, &mut u, Options { rtol: 1e-12, ..Options::default() })?;
//! assert!(u.iter().zip([0.0, 0.75, 1.0, 0.75, 0.0]).all(|(u, exact)| (8.0 * u - exact).abs() < 1e-12));
//! # Ok::<(), minifenl::Error>(())
//! ```
//!
//! `examples/` has a mesh of tetrahedra, a mesh of several element types, elasticity, a bar in the plane that is pulled at its end, your
//! own equation, time steps that refill one graph, a GPU, and a mesh that another program has partitioned. `docs/own_mesh.md` states the cost of each call.
//!
//! Features: `cli` (default) enables the module [`run`] and the program; `cuda` (default) enables `space::Cuda`, which loads driver and
//! runtime compiler when it is created; `mpi` enables `comm::Mpi`; `complex` enables arrays of complex numbers, which `fill::Coo` sums. `sprs` and `dashmap` (default) add matrices from and
//! to sprs, and the graph strategy of that name. Results are the same bits for any number of threads, unless
//! an item's documentation says otherwise.

pub mod blas;
pub mod comm;
pub mod contraction;
pub mod element;
pub mod error;
#[cfg(feature = "faults")]
pub mod faults;
#[cfg(not(feature = "faults"))]
#[allow(dead_code)]
mod faults;
pub mod files;
pub mod fill;
pub mod graph;
pub mod mesh;
#[cfg(feature = "cli")]
pub mod run;
pub mod solve;
pub mod space;
pub mod sparse;

// The names that `device` writes begin with `::minifenl`, here too; so do those in files that unit tests share with other tests.
#[cfg(any(test, feature = "cuda"))]
extern crate self as minifenl;

pub use error::{Error, FoldPlace, Result};
/// Translates a module of Rust functions to CUDA C++: see [`space::DeviceText`] and docs/own_equation.md.
#[cfg(feature = "cuda")]
pub use minifenl_device::device;

/// Returns all CUDA kernel files except those compiled for the sizes of a call.
#[cfg(feature = "cuda")]
pub fn kernel_files() -> Vec<&'static space::cuda::KernelFile> {
    let mut files = vec![&space::cuda::SPACE, &space::cuda::remap::REMAP];
    files.extend(blas::KERNEL_FILES);
    files.extend(comm::KERNEL_FILES);
    files.extend(contraction::KERNEL_FILES);
    files.extend(sparse::KERNEL_FILES);
    files.extend(mesh::KERNEL_FILES);
    files.extend(graph::KERNEL_FILES);
    files.extend(fill::KERNEL_FILES);
    files.extend(solve::KERNEL_FILES);
    files
}

/// Index of a row, column, node or element that this rank holds. 32 bits: half the traffic of a matrix is column indices.
pub type LocalOrdinal = u32;
/// Index of a node or element of the whole problem, over all ranks.
pub type GlobalOrdinal = u64;
/// Offset into the entries of a compressed-row structure (may pass 2^32 where rows may not).
pub type RowOffset = u64;

/// The README's example, as a test.
#[cfg(all(doctest, feature = "sprs"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The example of docs/own_mesh.md, as a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/own_mesh.md")]
struct OwnMesh;

/// The examples of docs/own_equation.md, as tests.
#[cfg(all(doctest, feature = "cuda"))]
#[doc = include_str!("../docs/own_equation.md")]
struct OwnEquation;

/// The recipes of docs/interop.md, as tests.
#[cfg(all(doctest, feature = "sprs"))]
#[doc = include_str!("../docs/interop.md")]
struct Interop;
