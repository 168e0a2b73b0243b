//! Compressed-row graphs and matrices, and products with them.
//!
//! Rows and columns are local ids (32 bits), row offsets 64 bits. Columns of a row are sorted and unique, so a graph has
//! one representation and two graphs are equal when their arrays are. Every space multiplies in this form; a
//! [`Format`] made from it may move fewer bytes.
//!
//! ```
//! use minifenl::space::Serial;
//! use minifenl::sparse::{CrsGraph, CrsMatrix, Spmv};
//! use std::sync::Arc;
//!
//! // [ 2 -1  0]
//! // [-1  2 -1]
//! let graph = CrsGraph::new(vec![0, 2, 5], vec![0, 1, 0, 1, 2], 3)?;
//! let a = CrsMatrix::new(Arc::new(graph), vec![2.0, -1.0, -1.0, 2.0, -1.0])?;
//! assert_eq!((a.graph().row(1), a.get(1, 2), a.get(0, 2)), (&[0, 1, 2][..], Some(-1.0), None));
//!
//! // y = 1 A x + 0 y
//! let (x, mut y) = (vec![1.0, 2.0, 4.0], vec![f64::NAN; 2]);
//! Serial.spmv(&a, &x, &mut y)?;
//! assert_eq!(y, [0.0, -1.0]);
//! # Ok::<(), minifenl::Error>(())
//! ```

mod algebra;
mod crs_graph;
mod crs_matrix;
mod diagonal;
mod format;
#[cfg(feature = "cuda")]
mod kernel_files;
mod operator;
mod spmv;
#[cfg(feature = "sprs")]
mod sprs;
mod sweep;
mod value;

#[cfg(feature = "cuda")]
pub(crate) use algebra::ByColumn;
pub(crate) use algebra::graph_by_rows;
pub use algebra::{MatrixAlgebra, Spgemm};
pub use crs_graph::{CrsGraph, GraphOf};
pub use crs_matrix::{CrsMatrix, MatrixOf};
pub(crate) use diagonal::{inverse_of_blocks, inverse_of_diagonal};
pub use format::{ByRows, Format, FormatCopy, Formats, HostMatrix, MatrixSizes, MatrixStorage, Precision, RowShape};
#[cfg(feature = "cuda")]
pub(crate) use format::{CrsValues, RowLayout, SMALL_ON_GPU};
#[cfg(feature = "cuda")]
pub use format::{DeviceCrs, DeviceMatrix, SliceArrays, SlicedEll};
pub(crate) use format::{HostRows, NO_PLACE, RowPlaces};
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use operator::{Operator, RowProduct};
pub use spmv::{Lanes, Spmv};
pub use sweep::{Grouping, Sweep, Triangles};
pub use value::StoredValue;
