//! Parallel assembly and solution of finite-element linear systems: on threads, on a GPU, and on MPI ranks of threads.
//!
//! One straight line leads from a mesh to a solution, and every stage of it is a public primitive: connectivity in, graph
//! out ([`graph::build`]); element matrices in, matrix out ([`fill::Fill`]); products ([`sparse::Spmv`]) and conjugate
//! gradients ([`solve::cg()`]) on it. The program `minifenl` walks the same line for a nonlinear heat problem on a box.
//!
//! Nothing below `run` knows of boxes. Here a cube of tetrahedra, whose matrix must reproduce a linear field exactly:
//!
//! ```
//! use minifenl::comm::{Communicator, Solo};
//! use minifenl::fill::{self, Dirichlet, Fill, element_fn};
//! use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
//! use minifenl::{graph, mesh::ElemNode, space::Threads, sparse::CrsMatrix};
//!
//! // 3 x 3 x 3 nodes, 8 cubes of 6 tetrahedra each: all paths along edges to the far corner.
//! let id = |p: [u32; 3]| p[0] + 3 * p[1] + 9 * p[2];
//! let at = |n: u32| [n % 3, n / 3 % 3, n / 9].map(f64::from);
//! let coord: Vec<[f64; 3]> = (0..27).map(at).collect();
//! let mut nodes = Vec::new();
//! for cube in 0..8 {
//!     for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
//!         let mut corner = [cube % 2, cube / 2 % 2, cube / 4];
//!         nodes.push(id(corner));
//!         for axis in order {
//!             corner[axis] += 1;
//!             nodes.push(id(corner));
//!         }
//!     }
//! }
//! let elem_node = ElemNode::new(nodes, 4, 27)?;
//!
//! // Connectivity in, graph out.
//! let space = Threads::new(2)?;
//! let graph = graph::build(&space, &elem_node, 27, graph::Strategy::default())?;
//!
//! // u = x + 2 y + 3 z on the boundary, 0 at the one node inside.
//! let exact = |n: usize| coord[n][0] + 2.0 * coord[n][1] + 3.0 * coord[n][2];
//! let fixed: Vec<u8> = coord.iter().map(|x| x.iter().any(|&x| x != 1.0).into()).collect();
//! let mut u: Vec<f64> = (0..27).map(|n| if fixed[n] == 1 { exact(n) } else { 0.0 }).collect();
//!
//! // Element matrices in, matrix and residual out: volume grad phi_i . grad phi_j, and K u.
//! let kernel = element_fn(|e| {
//!     let nodes: Vec<usize> = elem_node.elem(e).iter().map(|&node| node as usize).collect();
//!     let edge = |i: usize| [0, 1, 2].map(|d| coord[nodes[i]][d] - coord[nodes[0]][d]);
//!     let [a, b, c] = [1, 2, 3].map(edge);
//!     let cross = |p: [f64; 3], q: [f64; 3]| {
//!         [[1, 2], [2, 0], [0, 1]].map(|[i, j]| p[i] * q[j] - p[j] * q[i])
//!     };
//!     let dot = |p: [f64; 3], q: [f64; 3]| p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
//!     let det = dot(a, cross(b, c));
//!     let grad = [cross(b, c), cross(c, a), cross(a, b)].map(|g| g.map(|x| x / det));
//!     let first = [0, 1, 2].map(|d| -grad[0][d] - grad[1][d] - grad[2][d]);
//!     let grad = [first, grad[0], grad[1], grad[2]];
//!     let matrix = grad.map(|gi| grad.map(|gj| det.abs() / 6.0 * dot(gi, gj)));
//!     let residual = matrix.map(|row| (0..4).map(|j| row[j] * u[nodes[j]]).sum());
//!     (matrix, residual)
//! });
//! let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; 27]);
//! let mut fill = Fill::<4>::new(&space, fill::Strategy::Gather, &elem_node, &graph)?;
//! fill.assemble(&space, &kernel, &elem_node, &graph, &mut matrix, &mut residual)?;
//! Dirichlet::new(&space, &graph.crs, &fixed)?.apply(&space, &mut matrix, &mut residual)?;
//!
//! // K delta = K u, u -= delta.
//! let comm: &dyn Communicator = &Solo;
//! let mut work = CgWorkspace::new(&space, 27, 27)?;
//! let mut delta = vec![0.0; 27];
//! let params = CgParams { tolerance: 1e-12, max_iterations: 10 };
//! let mut system = LinearSystem { operator: &matrix, preconditioner: Identity, comm, rhs: &residual };
//! cg(&space, &mut system, &mut delta, params, &mut work, &mut |_, _| {})?;
//! for (n, delta) in delta.iter().enumerate() {
//!     u[n] -= delta;
//!     assert!((u[n] - exact(n)).abs() < 1e-12);
//! }
//! # Ok::<(), minifenl::Error>(())
//! ```
//!
//! Features: `cli` (default) has [`run`] and the program, `cuda` (default) has `space::Cuda`, which looks for driver and
//! runtime compiler when it is asked for; `mpi` has `comm::Mpi`. Results are the same bits for any number of threads, unless
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

pub use error::{Error, FoldPlace, Result};

/// Returns the CUDA kernel files of all modules, without those that are compiled for the sizes of a call.
#[cfg(feature = "cuda")]
pub fn kernel_files() -> Vec<&'static space::cuda::KernelFile> {
    let mut files = vec![&space::cuda::SPACE];
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
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
