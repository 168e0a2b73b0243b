//! Algebraic multigrid by smoothed aggregation, for symmetric positive definite matrices on any number of ranks.
//!
//! ```text
//! strong connections -> aggregates -> P0 from near-null vectors -> P = (I - omega D^-1 A) P0 -> A' = P^T A P -> next level
//! nodes.rs              aggregates.rs tentative.rs                 coarsening.rs                sparse::Spgemm
//! ```
//! (Vanek, Mandel and Brezina 1996.) A node is a group of unknowns with consecutive numbers, on coarse levels those of an aggregate, one
//! per near-null vector. Aggregates stay on their rank; P is smoothed across ranks. Fixed rows take no part. Of a small level every rank has
//! all rows, and so of coarser ones, whose aggregates are then those of one rank.
//!
//! All steps run on the space of the matrix ([`Aggregate`]), cycles as those of any [`Hierarchy`](super::Hierarchy); ranks exchange rows through
//! hosts when they plan, values by the transport of the run. The result does not depend on the number of threads, and a GPU makes the
//! aggregates of a host; aggregates, and with them iterations, depend on the number of ranks.

mod aggregates;
mod coarsening;
#[cfg(feature = "cuda")]
mod cuda;
mod gathered;
mod ghost_rows;
mod near_null;
mod nodes;
mod rows;
mod setup;
mod smoothed;
mod space;
mod tentative;
#[cfg(test)]
mod tests;

pub use near_null::NearNull;
pub use smoothed::SmoothedAggregation;
pub use space::Aggregate;

/// Least |A_ij| / sqrt(|A_ii| |A_jj|) of a strong connection.
const STRONG: f64 = 0.01;
