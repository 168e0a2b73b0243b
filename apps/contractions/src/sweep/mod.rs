//! The contraction sweep: kernel x variant x layout x precision x extents x memory size, measured and drawn.
//!
//! A [`SweepDeck`] asks, [`measure`] answers with a [`Table`]; [`claims`] holds what the clinic report says in text against
//! it. Every result is compared before it is timed, and the ceilings that it is held against are of the same run.

mod call;
pub mod case;
pub mod ceilings;
mod check;
pub mod claims;
pub mod deck;
#[cfg(all(test, feature = "cuda"))]
mod fuzz;
pub mod jobs;
mod loops;
mod measure;
mod peers;
pub mod table;
#[cfg(all(test, feature = "cuda"))]
mod tests_gpu;
#[cfg(test)]
mod tests_host;
mod validate;

pub use deck::SweepDeck;
pub use measure::{Setting, Step, measure};
#[cfg(test)]
pub use peers::NoPeers;
pub use peers::Peers;
pub use table::Table;
