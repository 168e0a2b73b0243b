//! Assembly from index pairs (COO, coordinate format): index arrays in, graph out; then values, any number of times. [`Coo`]
//! describes the method and its cost.
//!
//! ```text
//! index           integers of callers, checked
//! table, runs     the input of a plan: element tables; pairs are elements with one row
//! lists, columns  each row's slots; its columns, sorted, and the position of each value
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
mod index;
mod lists;
mod plan;
mod runs;
mod sums;
mod table;
#[cfg(test)]
mod tests;

pub use combinations::{Combinations, ReducedPairs};
#[cfg(feature = "cuda")]
pub use cuda::{CudaCoo, DeviceIndex, DeviceIndices};
pub use distributed::DistributedCoo;
pub use index::CooIndex;
pub use plan::Coo;
pub use table::ElementIndices;
