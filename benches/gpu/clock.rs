//! The library's clock, under its name here.

pub use minifenl::run::clock::{Timing, median};
