//! Libraries of others that compute the same in the same rounds.

mod cuda;
mod device;
mod host;

pub use device::DeviceLibraries;
pub use host::HostLibraries;

use minifenl::Result;
use minifenl::space::{ExecutionSpace, Slice};
use minifenl::sparse::CrsMatrix;

/// The libraries for one kind of space.
pub trait Peers<S: ExecutionSpace>: Sized {
    /// A matrix as a library holds it.
    type Product<'a>
    where
        Self: 'a;

    /// Loads the libraries that are there, and says which are missing.
    fn new(space: &S) -> (Self, Option<String>);

    /// Names and versions of those that are there.
    fn versions(&self) -> Vec<String>;

    /// The library of vectors, if it is there.
    fn of_vectors(&self) -> Option<&'static str>;

    /// The library of products, if it is there and has one for this space.
    fn of_products(&self) -> Option<&'static str>;

    /// y += a x
    fn axpy(&self, n: usize, a: f64, x: &Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()>;

    /// x.y
    fn dot(&self, n: usize, x: &Slice<S, f64>, y: &Slice<S, f64>) -> Result<f64>;

    /// Prepares products with a matrix.
    fn product<'a>(&'a self, matrix: &'a CrsMatrix) -> Result<Self::Product<'a>>;

    /// y = A x
    fn apply(&self, product: &Self::Product<'_>, x: &Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()>;
}
