//! Parallel assembly and solution of finite-element linear systems.

pub mod blas;
pub mod comm;
pub mod contraction;
pub mod element;
pub mod error;
pub mod fill;
pub mod graph;
pub mod mesh;
#[cfg(feature = "cli")]
pub mod run;
pub mod solve;
pub mod space;
pub mod sparse;

pub use error::{Error, Result};

/// Index of a row, column, node or element that this rank holds. 32 bits: half the traffic of a matrix is column indices.
pub type LocalOrdinal = u32;
/// Index of a node or element of the whole problem, over all ranks.
pub type GlobalOrdinal = u64;
/// Offset into the entries of a compressed-row structure (may pass 2^32 where rows may not).
pub type RowOffset = u64;
