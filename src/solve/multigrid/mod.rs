//! Multigrid V-cycles as preconditioners of CG, written once for every space and any number of ranks.
//!
//! ```text
//! level 0      x = 0, smooth, r = b - A x ----> R r ......... b of level 1            P = R^T interpolates corrections
//! level 1                        ...                                                  A of each level: any operator
//! last level   x = A^-1 b, from the dense inverse
//! level 0      x += P e, smooth
//! ```
//! The smoother is Chebyshev's iteration for D^-1 A on the upper part of its spectrum (Adams, Brezina, Hu and Tuminaro 2003), the same
//! polynomial before and after, so that the cycle is symmetric positive definite. Without coarser levels the smoother is the whole
//! preconditioner; of degree 1 that is Jacobi's.
//!
//! A cycle costs 2 x degree products on each level, and the transfers. Level l has about 8^-l of the unknowns. Ranks share the rows of a level,
//! or, from a small level on, each has all of them: a restriction that is gathered ([`DistributedMatrix::gathered`]) is the last message of a
//! cycle until the finer levels are smoothed again.

mod bottom;
mod chebyshev;
mod cycle;
mod distributed_matrix;
mod gather;
mod lanczos;
mod level;

pub use bottom::MOST_INVERTED;
pub(super) use chebyshev::Chebyshev;
pub use chebyshev::Smoothing;
pub use cycle::{Cycle, Hierarchy};
pub use distributed_matrix::DistributedMatrix;
pub(super) use gather::MOST_GATHERED;
pub use gather::gathers;
pub(super) use lanczos::largest_eigenvalue;
pub use level::{Level, Transfer};
