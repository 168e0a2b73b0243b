//! Assembly from index pairs (COO, coordinate format): index arrays in, graph out; then values, any number of times. [`Coo`]
//! describes the method and its cost.
//!
//! ```text
//! indices, runs   integers of callers, checked; pairs are elements with one row
//! columns         each row's columns, sorted, and the position of each value
//! sums            values into entries or rows
//! plan            Coo
//! combinations    pairs of C^T A C
//! gathered        pairs and values of other ranks;  distributed: DistributedCoo
//! cuda            CudaCoo: the same graph and the same bits on a GPU
//! ```

mod columns;
mod combinations;
#[cfg(feature = "cuda")]
mod cuda;
mod distributed;
mod gathered;
mod indices;
mod plan;
mod runs;
mod sums;
#[cfg(test)]
mod tests;

pub use combinations::{Combinations, ReducedPairs};
#[cfg(feature = "cuda")]
pub use cuda::{CudaCoo, DeviceIndices};
pub use distributed::DistributedCoo;
pub use indices::ElementIndices;
pub use plan::Coo;
