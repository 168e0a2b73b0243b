//! The functions of the loops, each stated once: hosts run them, GPUs their translation.

mod bins;
mod borders;
mod forces;
mod lists;
mod motion;
mod owners;

pub use bins::bin_functions::{CountBins, KeepBins, PlaceAtoms, Reorder, SortBin, Sum};
pub use borders::border_functions::{CountGhosts, ListGhosts};
pub use forces::force_functions::{Energy, Full, Half, HalfSlabs};
pub use lists::list_functions::{Largest, List};
pub use motion::motion_functions::{Both, End, Ghosts, Squares, Start, Sums};
pub use owners::owner_functions::{Leaves, Lost, Pack, Split, Unpack, Wrap, part, wrapped};
