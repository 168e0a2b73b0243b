//! Compressed-row graphs and matrices, and products with them.
//!
//! Rows and columns are local ids (32 bits), row offsets 64 bits. Columns of a row are sorted and unique, so a graph has
//! one representation and two graphs are equal when their arrays are.

mod crs_graph;
mod crs_matrix;
mod exchange;
mod format;
#[cfg(feature = "cuda")]
mod slices;
mod spmv;
#[cfg(feature = "cuda")]
mod storage;

pub use crs_graph::CrsGraph;
pub use crs_matrix::CrsMatrix;
pub use exchange::{read_matrix_market, write_matrix_market};
pub use format::Format;
#[cfg(feature = "cuda")]
pub use slices::Slices;
pub use spmv::Spmv;
#[cfg(feature = "cuda")]
pub use spmv::{DeviceValue, Lanes, ProductDot};
#[cfg(feature = "cuda")]
pub use storage::{Storage, Stored};
