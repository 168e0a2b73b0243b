//! Assembly from index pairs (COO, coordinate format): index arrays in, graph out; then values, any number of times.
//!
//! ```text
//! A[r, c] = sum of values[k] over all k with i[k] = r and j[k] = c, in the order of k
//! ```
//! [`Coo`] is for programs that have their own mesh, element loop or dof numbering and pass what they compute as triplets, as to
//! SciPy's `coo_matrix` or PETSc's `MatSetValuesCOO`. The plan holds, for each row, the pairs of the row in the order of the input,
//! and for each pair its position among the sorted columns. [`Coo::set_values`] then lets each row add its values: no atomics, no
//! allocation, and the same bits on any number of threads. Element matrices need no arrays of pairs
//! ([`Coo::from_elements`]).
//!
//! | | bytes read | bytes written |
//! |---|---|---|
//! | plan, per pair of 32-bit indices | 24: rows three times, columns twice, list once | 5: list 4, position 1 |
//! | plan, per entry | 4 | 8 |
//! | sum, per value in f64 | 13: value 8, list 4, position 1 | |
//! | sum, per entry in f64 | 8 | 8 |
//!
//! With element matrices of `b` columns, lists take 4 / b bytes per value. Positions take 2 bytes where a row has more than 255
//! values, 4 bytes beyond 65 535.
//!
//! Three plans have the same calls: [`Coo`] for one rank, [`ConstrainedCoo`] with linear [`Combinations`] of dofs (periodic
//! boundaries, hanging nodes), and [`DistributedCoo`] for pairs in rows of any rank. Values have any type with a zero and an
//! addition ([`Summand`]). On a GPU, `CudaCoo` plans and sums values of f64 and f32 with the same bits.
//!
//! ```
//! use minifenl::contraction::Sum;
//! use minifenl::fill::Coo;
//! use minifenl::space::Threads;
//!
//! let space = Threads::new(2)?;
//! // Two springs in a row; the pair with a negative index is ignored.
//! let i = [0, 0, 1, 1, 1, 1, 2, 2, -1];
//! let j = [0, 1, 0, 1, 1, 2, 1, 2, 0];
//! let plan = Coo::new(&space, 3, 3, &i, &j)?;
//! let mut matrix = plan.matrix::<f64>()?;
//! for stiffness in [1.0, 2.0] {
//!     let values = [1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 7.0].map(|k| stiffness * k);
//!     plan.set_values(&space, &values, Sum::Overwrite, &mut matrix)?;
//! }
//! assert_eq!(matrix.values(), &[2.0, -2.0, -2.0, 4.0, -2.0, -2.0, 2.0]);
//! # Ok::<(), minifenl::Error>(())
//! ```

mod columns;
mod combinations;
mod constrained;
#[cfg(feature = "cuda")]
mod cuda;
mod distributed;
mod gathered;
mod index;
mod lists;
mod pieces;
mod plan;
mod slots;
mod sums;
#[cfg(test)]
mod tests;

pub use combinations::Combinations;
pub use constrained::ConstrainedCoo;
#[cfg(feature = "cuda")]
pub use cuda::{CudaCoo, DeviceIndex, DeviceIndices, DeviceSummand};
pub use distributed::{CooMessages, DistributedCoo, Packed};
pub use index::CooIndex;
pub use plan::{Coo, ElementIndices};
pub use sums::Summand;
