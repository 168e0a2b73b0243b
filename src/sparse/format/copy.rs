//! What a storage format implements.

use super::shape::{MatrixSizes, Precision};
use crate::Result;
use crate::blas::Blas;
use crate::space::Threads;
#[cfg(feature = "cuda")]
use crate::space::cuda::Cuda;
#[cfg(feature = "cuda")]
use crate::sparse::GraphOf;
use crate::sparse::{CrsGraph, CrsMatrix, Lanes, MatrixOf, Operator};
use std::fmt::Debug;
use std::sync::Arc;

/// The copy of a matrix that products read; `None`: they read the assembled one.
pub type HostCopy = Option<Box<dyn FormatCopy<Threads>>>;

/// [`HostCopy`] on a GPU.
#[cfg(feature = "cuda")]
pub type DeviceCopy = Option<Box<dyn FormatCopy<Cuda>>>;

/// How a format makes its copies of a matrix: its line in the registry.
pub(super) struct Maker {
    pub on_host: fn(&Threads, Precision, &Arc<CrsGraph>) -> Result<HostCopy>,
    #[cfg(feature = "cuda")]
    pub on_device: fn(&Cuda, Precision, &Arc<GraphOf<Cuda>>) -> Result<DeviceCopy>,
    /// Values that the copy stores, and bytes of its tables and columns; the flag tells a GPU's copy from a host's.
    pub lengths: fn(&MatrixSizes, bool) -> [u64; 2],
}

/// A copy of an assembled matrix in another storage: what a format implements beside [`Operator`].
pub trait FormatCopy<S: Blas>: Operator<S> + Debug {
    /// Takes the values of a matrix on the graph that the copy was made for.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for values that the storage cannot hold.
    fn update(&mut self, space: &S, a: &MatrixOf<S>) -> Result<()>;

    /// Sets the number of threads that share a row of products, where that is a choice.
    fn set_lanes(&mut self, _lanes: Lanes) {}

    /// Returns the stored values in CRS, if that is how they lie and products choose their own number of threads per row.
    fn single_crs(&self) -> Option<&CrsMatrix<f32, S::Memory>> {
        None
    }
}
