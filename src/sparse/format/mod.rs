//! Storage formats made from a CRS graph, and products with a matrix in any of them.
//!
//! A space's [`Matrix`](Formats::Matrix) is assembled in its format or copied to it by [`update`](Formats::update). On a GPU, the
//! values of any CRS matrix can be copied to a `Storage`.

mod choice;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod device_matrix;
#[cfg(feature = "cuda")]
mod device_operator;
mod host;
mod host_blocks;
mod host_layout;
mod host_matrix;
mod host_multiply;
mod host_nodes;
#[cfg(test)]
mod host_refusals;
mod host_rows;
mod host_slices;
mod host_symmetry;
#[cfg(test)]
mod host_tests;
mod host_unions;
mod host_update;
#[cfg(feature = "cuda")]
mod row_layout;
#[cfg(feature = "cuda")]
mod slice_layout;
#[cfg(feature = "cuda")]
mod sliced_ell;
mod stored_value;

#[cfg(any(feature = "cli", feature = "cuda"))]
pub(crate) use choice::SMALL_ON_GPU;
pub use choice::{ByRows, Format, MatrixStorage, Precision, RowShape};
#[cfg(feature = "cuda")]
pub use cuda::{Storage, Stored};
#[cfg(feature = "cuda")]
pub use device_matrix::DeviceMatrix;
#[cfg(feature = "cuda")]
pub use device_operator::DeviceOperator;
#[cfg(feature = "cuda")]
pub(crate) use device_operator::stored;
pub use host_matrix::{HostMatrix, HostStored};
pub use host_slices::HostSlices;
#[cfg(feature = "cuda")]
pub(crate) use row_layout::RowLayout;
#[cfg(feature = "cuda")]
pub use sliced_ell::{SliceArrays, SlicedEll};
pub use stored_value::StoredValue;

use crate::Result;
use crate::blas::{Blas, Reductions};
use crate::space::{Array, Slice};
use crate::sparse::{CrsGraph, Lanes};
use std::ops::Range;

/// A matrix in some format, as an operator multiplies with it.
pub trait Product<S: Blas> {
    /// Number of rows whose products share one partial sum. Ranges of [`multiply_dot`](Self::multiply_dot) start at a multiple.
    const ROW_BLOCK: usize;

    /// Rows at whose multiples a product may be divided into rows that read no ghost and others: a multiple of
    /// [`ROW_BLOCK`](Self::ROW_BLOCK).
    fn row_block(&self) -> usize {
        Self::ROW_BLOCK
    }

    /// Rows and columns.
    fn extents(&self) -> (usize, usize);

    /// Bytes that a product y = A x has to move in this format, each vector once.
    fn bytes(&self) -> usize;

    /// y = A x.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors.
    fn multiply(&self, space: &S, x: &Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()>;

    /// y = A x over `rows` and `sums.scalars[slot]` = x.y, as [`Spmv::spmv_dot`](super::Spmv::spmv_dot).
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short vectors.
    fn multiply_dot(
        &self,
        space: &S,
        rows: Range<usize>,
        x: &Slice<S, f64>,
        y: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()>;

    /// [`multiply_dot`](Self::multiply_dot) over all rows, and the exchange of x's ghosts: the product sends the items of x that other
    /// ranks read, and waits for its ghosts before the rows from `interior` on, which alone read them. Does nothing after convergence: all
    /// ranks stop at the same product. Returns false, and does nothing, where products exchange no ghosts.
    ///
    /// # Errors
    /// As [`multiply_dot`](Self::multiply_dot).
    fn multiply_dot_exchanging(
        &self,
        _space: &S,
        _interior: usize,
        _exchange: &S::PeerExchange,
        _x: &Slice<S, f64>,
        _y: &mut Slice<S, f64>,
        _sums: &mut Reductions<S>,
        _slot: usize,
    ) -> Result<bool> {
        Ok(false)
    }
}

/// A space that stores matrices in formats of its own.
pub trait Formats: Blas {
    /// A matrix in a storage format, whose values are assembled.
    type Matrix: std::fmt::Debug;

    /// Copies assembled values into the format, at most 16 bytes per entry. Returns false where values are assembled in the format or were
    /// copied since the last assembly, so that nothing was copied.
    ///
    /// # Errors
    /// A failure of the device, if there is one.
    fn update(&self, matrix: &mut Self::Matrix) -> Result<bool>;

    /// The formats in which this space multiplies.
    const FORMATS: &'static [Format];

    /// The format of this space where nothing suits better.
    const FORMAT: Format;

    /// The format that `auto` takes before the values of a matrix are known, and why. None: [`CHOICES`](Self::CHOICES) decide.
    const BY_ROWS: Option<ByRows> = None;

    /// The formats among which `auto` chooses once the values of a large matrix are known. Products in them give the same bits. None:
    /// `auto` is [`FORMAT`](Self::FORMAT).
    const CHOICES: &'static [Format] = &[];

    /// Stores an assembled matrix in another storage. Returns false, and keeps the storage, where the other does not suit it: more
    /// than rounding or memory stands against it.
    fn store(&self, _matrix: &mut Self::Matrix, _storage: MatrixStorage) -> Result<bool> {
        Ok(false)
    }

    /// Returns the rows of a graph as [`BY_ROWS`](Self::BY_ROWS) takes them; without it `padded` and `longest` are 0. Moves 9 bytes per
    /// row on a GPU.
    ///
    /// # Errors
    /// A failure of the device, if there is one.
    fn row_shape(&self, graph: &CrsGraph<Self::Memory>, is_symmetric: bool) -> Result<RowShape> {
        Ok(RowShape { rows: graph.rows(), entries: graph.nnz(), padded: 0, longest: 0, is_symmetric })
    }

    /// Refuses a storage in which this space does not multiply.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with the storages that are accepted.
    fn check_storage(storage: MatrixStorage) -> Result<()>;

    /// Whether products in a format may share each row among several threads: [`set_lanes`](Self::set_lanes).
    fn has_lanes(_format: Format) -> bool {
        false
    }

    /// Sets the number of threads that share a row of products; by default it follows from the mean length of a row. Changes nothing
    /// in formats without a choice.
    fn set_lanes(_matrix: &mut Self::Matrix, _lanes: Lanes) {}

    /// Returns the number of values that assembly writes, padding included.
    fn assembled_len(matrix: &Self::Matrix) -> usize;

    /// Returns the values that assembly writes, in their order in memory.
    fn values_mut(matrix: &mut Self::Matrix) -> &mut Array<Self, f64>;
}
