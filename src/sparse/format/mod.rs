//! Storage formats made from a CRS graph, and their products.
//!
//! A space's [`Matrix`](Formats::Matrix) is assembled in its format or copied to it by [`update`](Formats::update). On a GPU, the
//! values of any CRS matrix can be copied to a `SlicedEll`.

mod copy;
mod crs;
#[cfg(feature = "cuda")]
mod device_matrix;
mod host_matrix;
mod registry;
mod shape;
mod slices;

pub use copy::FormatCopy;
#[cfg(feature = "cuda")]
pub use crs::DeviceCrs;
#[cfg(feature = "cuda")]
pub(crate) use device_matrix::CrsValues;
#[cfg(feature = "cuda")]
pub use device_matrix::DeviceMatrix;
pub use host_matrix::HostMatrix;
#[cfg(feature = "cuda")]
pub(crate) use registry::SMALL_ON_GPU;
pub use registry::{ByRows, Format, MatrixStorage};
pub use shape::{MatrixSizes, Precision, RowShape};
#[cfg(feature = "cuda")]
pub(crate) use slices::RowLayout;
pub(crate) use slices::{HostRows, NO_PLACE, RowPlaces};
#[cfg(feature = "cuda")]
pub use slices::{SliceArrays, SlicedEll};

use crate::Result;
use crate::blas::Blas;
use crate::space::Slice;
use crate::sparse::{CrsMatrix, GraphOf, Lanes, MatrixOf, Operator};
use std::fmt::Debug;

/// A space that stores matrices in formats of its own.
pub trait Formats: Blas {
    /// A matrix in a storage format, whose values are assembled.
    type Matrix: Debug;

    /// Returns the matrix as products read it, after an [`update`](Self::update) since its assembly.
    fn operator(matrix: &Self::Matrix) -> &dyn Operator<Self>;

    /// Returns the matrix with values in f64, where products read rounded ones.
    fn in_f64(matrix: &Self::Matrix) -> &dyn Operator<Self>;

    /// Copies assembled values into the format, at most 16 bytes per entry. Returns false where values are assembled in the format or were
    /// copied since the last assembly, so that nothing was copied.
    ///
    /// # Errors
    /// A failure of the device, if there is one.
    fn update(&self, matrix: &mut Self::Matrix) -> Result<bool>;

    /// The format of this space where nothing suits better.
    const FORMAT: Format;

    /// The format that `auto` takes, and why, decided before values are assembled.
    const BY_ROWS: ByRows;

    /// Returns the rows of a graph as [`BY_ROWS`](Self::BY_ROWS) takes them. Moves 9 bytes per row on a GPU, 4 per entry on a host.
    ///
    /// # Errors
    /// A failure of the device, if there is one; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    fn row_shape(&self, graph: &GraphOf<Self>, is_symmetric: bool) -> Result<RowShape>;

    /// Whether products in a format may share each row among several threads: [`set_lanes`](Self::set_lanes).
    fn has_lanes(_format: Format) -> bool {
        false
    }

    /// Sets the number of threads that share a row of products; by default it follows from the mean length of a row. Changes nothing
    /// in formats without a choice.
    fn set_lanes(_matrix: &mut Self::Matrix, _lanes: Lanes) {}

    /// Returns the assembled matrix in CRS.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) where a device assembles in another format.
    fn crs(matrix: &Self::Matrix) -> Result<&MatrixOf<Self>>;

    /// Returns the assembled matrix in CRS on the host: where it lies, or in `copy`, whose graph stays that of the first call.
    ///
    /// # Errors
    /// As [`crs`](Self::crs); a device's failure, and [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    fn assembled<'a>(&self, matrix: &'a Self::Matrix, copy: &'a mut Option<CrsMatrix>) -> Result<&'a CrsMatrix>;

    /// Returns the number of values that assembly writes, padding included.
    fn assembled_len(matrix: &Self::Matrix) -> usize;

    /// Returns the values that assembly writes, in their order in memory.
    fn values_mut(matrix: &mut Self::Matrix) -> &mut Slice<Self, f64>;
}
