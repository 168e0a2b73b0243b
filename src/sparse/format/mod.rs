//! Storage formats made from a CRS graph, and products with a matrix in any of them.
//!
//! A space's [`Matrix`](Formats::Matrix) is assembled in its format or copied to it by [`update`](Formats::update). On a GPU, the
//! values of any CRS matrix can be copied to a `Storage`.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod device_matrix;
mod host;
#[cfg(feature = "cuda")]
mod row_layout;
#[cfg(feature = "cuda")]
mod slice_layout;
#[cfg(feature = "cuda")]
mod sliced_ell;

#[cfg(feature = "cuda")]
pub use cuda::{Storage, Stored};
#[cfg(feature = "cuda")]
pub use device_matrix::DeviceMatrix;
#[cfg(feature = "cuda")]
pub(crate) use row_layout::RowLayout;
#[cfg(feature = "cuda")]
pub use sliced_ell::{SliceArrays, SlicedEll};

use crate::Result;
use crate::blas::{Blas, Reductions};
use crate::space::{Array, Slice, named_choice};
use crate::sparse::Lanes;
use std::ops::Range;

/// Storage format of a matrix for products on a GPU. Hosts multiply in CRS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// The CRS arrays themselves: 12 bytes per entry, no set-up.
    Crs,
    /// Slices of 32 rows, padded to the longest (SELL-32): 12 bytes per entry, every load is a full cache line.
    Sell,
    /// Slices of 32 rows that share one table of column - row: 8 bytes per entry where neighbouring rows have the same
    /// pattern. Vectors have to be finite.
    #[default]
    Pattern,
}

impl Format {
    /// All formats with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Format::Crs, "crs"), (Format::Sell, "sell"), (Format::Pattern, "pattern")];
}
named_choice!(Format, "format");

/// A matrix in some format, as an operator multiplies with it.
pub trait Product<S: Blas> {
    /// Number of rows whose products share one partial sum. Ranges of [`multiply_dot`](Self::multiply_dot) start at a multiple.
    const ROW_BLOCK: usize;

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
    /// ranks read, and waits for its ghosts before the rows from `interior` on, which alone read them. Stopped, it does neither: all
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

    /// Copies assembled values into the format, 16 bytes per entry. Returns false where values are assembled in the format, so
    /// that nothing was copied.
    ///
    /// # Errors
    /// A failure of the device, if there is one.
    fn update(&self, matrix: &mut Self::Matrix) -> Result<bool>;

    /// The formats in which this space multiplies.
    const FORMATS: &'static [Format] = &[Format::Crs];

    /// Whether products in a format may share each row among several threads: [`set_lanes`](Self::set_lanes).
    fn has_lanes(_format: Format) -> bool {
        false
    }

    /// Sets the number of threads that share a row of products; by default it follows from the mean length of a row. Changes nothing
    /// in formats without a choice.
    fn set_lanes(_matrix: &mut Self::Matrix, _lanes: Lanes) {}

    /// Returns the values that assembly writes, in their order in memory.
    fn values_mut(matrix: &mut Self::Matrix) -> &mut Array<Self, f64>;
}
