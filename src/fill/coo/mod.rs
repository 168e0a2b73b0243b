//! Assembly from index pairs (COO, coordinate format): index arrays in, graph out; then values, any number of times. [`Coo`]
//! describes the method and its cost.
//!
//! ```text
//! index               integers of callers, checked
//! runs, slots         what a plan is made from: pairs, runs of pairs, element tables
//! lists, columns      each row's slots; its columns, sorted, and the position of each value
//! sums, pieces        values into entries or rows, piece by piece of the rows
//! plan                Coo
//! combinations        C of C^T A C;  constrained: ConstrainedCoo
//! gathered, messages  pairs and values of other ranks;  distributed: DistributedCoo
//! cuda                CudaCoo: the same graph and, in f64 and f32, the same bits on a GPU
//! shared_terms        combinations over ranks;  constrained_distributed: DistributedConstrainedCoo
//! ```

mod columns;
mod combinations;
mod constrained;
mod constrained_distributed;
#[cfg(feature = "cuda")]
mod cuda;
mod distributed;
mod gathered;
mod index;
mod lists;
mod messages;
mod pieces;
mod plan;
mod runs;
mod shared_terms;
mod slots;
mod sums;
#[cfg(test)]
mod tests;

pub use combinations::Combinations;
pub use constrained::ConstrainedCoo;
pub use constrained_distributed::DistributedConstrainedCoo;
#[cfg(feature = "cuda")]
pub use cuda::{CudaCoo, DeviceIndex, DeviceIndices, DeviceSummand};
pub use distributed::DistributedCoo;
pub use index::CooIndex;
pub use messages::{CooMessages, Packed};
pub use plan::{Coo, ElementIndices};
pub use sums::Summand;
