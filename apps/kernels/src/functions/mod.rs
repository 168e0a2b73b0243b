//! The functions of the kernels, each stated once: hosts run them, GPUs their translation.

mod cells;
mod forces;
mod rows;
mod streams;
mod tiles;
mod vectors;

pub use cells::cell_functions::{Add, AddByExchange, AddUnshared};
pub use forces::force_functions::{Full, Half, HalfUnshared};
pub use rows::row_functions::RowProduct;
pub use streams::stream_functions::{Normalise, Project, Series};
pub use tiles::tile_functions::Gram;
pub use vectors::vector_functions::{Axpby, Centroid, Dot, Prefix, Ramp, Scale, Triad};

/// Vectors of [`Gram`].
pub const VECTORS: usize = 16;
/// Items of a team of [`Gram`].
pub const ITEMS_OF_TEAM: usize = tiles::tile_functions::WIDTH * tiles::tile_functions::TILES;
