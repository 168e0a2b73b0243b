//! What a storage format implements.

use crate::Result;
use crate::blas::Blas;
use crate::sparse::{CrsMatrix, Lanes, Operator};
use std::fmt::Debug;

/// A copy of an assembled matrix in another storage: what a format implements beside [`Operator`].
pub trait FormatCopy<S: Blas>: Operator<S> + Debug {
    /// Takes the values of a matrix on the graph that the copy was made for. Returns whether entries that share a place were equal.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that the storage cannot hold.
    fn update(&mut self, space: &S, a: &CrsMatrix<f64, S::Memory>) -> Result<bool>;

    /// Returns the number of rows whose products are no faster than in CRS.
    fn irregular_rows(&self) -> usize {
        0
    }

    /// Sets the number of threads that share a row of products, where that is a choice.
    fn set_lanes(&mut self, _lanes: Lanes) {}

    /// Returns the stored values in CRS, if that is how they lie and products choose their own number of threads per row.
    fn single_crs(&self) -> Option<&CrsMatrix<f32, S::Memory>> {
        None
    }
}
