//! The functions of the loops, each stated once: hosts run them, GPUs their translation.

mod forces;
mod lists;
mod motion;

pub use forces::force_functions::{Energy, Full, Half, HalfSlabs};
pub use lists::list_functions::{Largest, List};
pub use motion::motion_functions::{Both, End, Ghosts, Squares, Start, Sums};
