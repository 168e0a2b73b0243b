//! The contraction sweep: kernel x variant x layout x precision x extents x memory size, measured and drawn.
//!
//! A [`SweepDeck`] asks, [`measure`] answers with a [`Table`]; [`claims`] holds what the clinic report says in text against
//! it. Every result is compared before it is timed, and the ceilings that it is held against are of the same run.

mod call;
pub mod case;
mod ceilings;
mod check;
#[cfg(feature = "cuda")]
mod check_gpu;
pub mod claims;
pub mod deck;
pub mod jobs;
#[cfg(feature = "cuda")]
mod kernel_files;
#[cfg(feature = "cuda")]
mod learn;
mod loops;
mod measure;
mod mistakes;
mod names;
mod peers;
mod read;
pub mod table;

pub use ceilings::Ceilings;
pub use deck::SweepDeck;
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
#[cfg(feature = "cuda")]
pub use learn::learned;
pub use measure::{Setting, Step, measure};
pub use peers::{NoPeers, Peers};
pub use table::Table;
