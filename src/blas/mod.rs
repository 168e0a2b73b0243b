//! Vector operations.

mod triad;

pub use triad::{Triad, triad, triad_length};
