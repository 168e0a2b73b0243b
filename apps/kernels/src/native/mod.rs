//! The same loops written by hand for one kind of space: what the layer is compared with.

mod cuda;
mod host;

pub use cuda::DeviceLoops;
#[cfg(test)]
pub use cuda::TEXT;
pub use host::HostLoops;

use crate::functions::VECTORS;
use crate::rows::Rows;
use minifenl::Result;
use minifenl::space::{ExecutionSpace, Slice};

/// Arrays and numbers of a Lennard-Jones force by full lists, as [`Full`](crate::functions::Full) has them.
pub struct Neighbours<'a, S: ExecutionSpace> {
    /// Positions, [atom, axis].
    pub x: &'a Slice<S, f64>,
    /// Neighbours per atom.
    pub counts: &'a Slice<S, u32>,
    /// Neighbour k of atom i at `i * steps[0] + k * steps[1]`.
    pub list: &'a Slice<S, u32>,
    /// From atom to atom and from neighbour to neighbour.
    pub steps: [usize; 2],
    /// Largest distance at which atoms act on each other.
    pub cutoff: f64,
}

/// How an addition to a shared cell is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Load, add, store.
    Racy,
    /// The atomic addition of the processor.
    Atomic,
    /// Compare-and-swap until nobody came between.
    Exchange,
}

/// Loops by hand.
pub trait Native<S: ExecutionSpace>: Sized {
    /// Prepares the loops.
    fn new(space: &S) -> Result<Self>;

    /// y = a x + b y
    fn axpby(&self, n: usize, a: f64, x: &Slice<S, f64>, b: f64, y: &mut Slice<S, f64>) -> Result<()>;

    /// x.y
    fn dot(&self, n: usize, x: &Slice<S, f64>, y: &Slice<S, f64>) -> Result<f64>;

    /// z = x + a y
    fn triad(&self, n: usize, x: &Slice<S, f64>, a: f64, y: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()>;

    /// Adds the products of 16 vectors with each other, [i, j] for i <= j.
    fn gram(&self, n: usize, vectors: [&Slice<S, f64>; VECTORS], products: &mut Slice<S, f64>) -> Result<()>;

    /// y = A x
    fn spmv(&self, rows: usize, a: &Rows<S>, x: &Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()>;

    /// Adds 1 to the cells of a list.
    fn add(&self, way: Way, list: &Slice<S, u32>, cells: &mut Slice<S, f64>) -> Result<()>;

    /// Forces on `n` atoms.
    fn forces(&self, n: usize, of: &Neighbours<'_, S>, f: &mut Slice<S, f64>) -> Result<()>;
}
