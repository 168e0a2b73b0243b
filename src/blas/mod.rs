//! Vector operations (BLAS level 1), the STREAM triad and peak rates, on every space.
//!
//! Hosts sum blocks of fixed length, each in 16 interleaved sums, and the partial sums in order; GPUs divide by length and device
//! alone: one rank gives the same bits for any number of threads. Sums stay in the memory of the space ([`Reductions`]); only
//! [`ExecutionSpace::read`] copies one to the host.
//!
//! ```
//! use minifenl::blas::{Blas, Reductions};
//! use minifenl::space::{ExecutionSpace, Threads};
//!
//! let space = Threads::new(2)?;
//! let (x, mut y) = (vec![1.0, 2.0, 3.0], vec![1.0; 3]);
//! // y += 2 x
//! space.axpy(3, 2.0, &x, &mut y)?;
//! // x.y, into slot 0
//! let (mut sums, mut dot) = (Reductions::new(&space, 3, 1)?, [0.0]);
//! space.dot(3, &x, &y, &mut sums, 0)?;
//! space.read(&sums.scalars, &mut dot)?;
//! assert_eq!((y, dot), (vec![3.0, 5.0, 7.0], [34.0]));
//! # Ok::<(), minifenl::Error>(())
//! ```

pub(crate) mod blocks;
mod collective;
#[cfg(feature = "cuda")]
mod cuda;
mod host;
#[cfg(feature = "cuda")]
mod kernel_files;
pub(crate) mod loops;
mod peak;
mod triad;

pub use collective::{Collective, agreed};
#[cfg(feature = "cuda")]
pub(crate) use cuda::enough;
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use peak::peak;
#[cfg(feature = "cuda")]
pub use peak::{Peaks, peak_on_gpu};
#[cfg(feature = "cuda")]
pub use triad::triad_on_gpu;
pub use triad::{Triad, triad, triad_length};

use crate::Result;
use crate::space::{Array, ExecutionSpace, Slice};
use std::sync::Arc;

/// Scalars that reductions write, with the memory in which they add up; both stay in the space.
///
/// An operation that is given these does nothing once the scalar at `stop` is not 0. An iterative method sets `stop` to the place
/// of its state, so that its iterations can be enqueued before the host knows how many of them are needed.
#[derive(Debug)]
pub struct Reductions<S: Blas> {
    /// Partial sums of blocks, `[`[`Blas::partials_len`]`]`.
    pub partials: Array<S, f64>,
    /// The results, `[slot]`.
    pub scalars: Array<S, f64>,
    /// Slot of the scalar that switches operations off; `None`: they always run.
    pub stop: Option<usize>,
    /// Table by which device kernels make each sum collective ([`Collective::attach`]); `None`: sums are those of this process. Valid
    /// only while the [`Collective`] lives that set it.
    pub collective: Option<Arc<Array<S, u64>>>,
}

impl<S: Blas> Reductions<S> {
    /// Allocates for vectors of up to `n` items and `slots` results, all 0.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn new(space: &S, n: usize, slots: usize) -> Result<Self> {
        Ok(Reductions {
            partials: space.zeros(S::partials_len(n))?,
            scalars: space.zeros(slots)?,
            stop: None,
            collective: None,
        })
    }
}

/// Vector operations; `n` is the number of leading items that take part (owned items of a vector with ghosts).
pub trait Blas: ExecutionSpace {
    /// Partial sums that a reduction over `n` items stores.
    fn partials_len(n: usize) -> usize;

    /// `sums.scalars[slot]` = x.y. Reads 16 bytes per item, 2 flops.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short arrays, and a failure of the device, here and below.
    fn dot(
        &self,
        n: usize,
        x: &Slice<Self, f64>,
        y: &Slice<Self, f64>,
        sums: &mut Reductions<Self>,
        slot: usize,
    ) -> Result<()>;

    /// max |x|, NaN when an item is; on the host, so it waits. Reads 8 bytes per item.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn max_abs(&self, n: usize, x: &Slice<Self, f64>, partials: &mut Slice<Self, f64>) -> Result<f64>;

    /// y = value. Writes 8 bytes per item.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn fill(&self, n: usize, value: f64, y: &mut Slice<Self, f64>) -> Result<()>;

    /// y = x. Reads 8 and writes 8 bytes per item.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn copy(&self, n: usize, x: &Slice<Self, f64>, y: &mut Slice<Self, f64>) -> Result<()>;

    /// z = alpha x + beta y. Reads 16 and writes 8 bytes per item, 3 flops.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn axpby(
        &self,
        n: usize,
        alpha: f64,
        x: &Slice<Self, f64>,
        beta: f64,
        y: &Slice<Self, f64>,
        z: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// y += alpha x. Reads 16 and writes 8 bytes per item, 2 flops.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn axpy(&self, n: usize, alpha: f64, x: &Slice<Self, f64>, y: &mut Slice<Self, f64>) -> Result<()>;

    /// x = 1 / x, item by item. Reads and writes 8 bytes per item, 1 flop.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn reciprocals(&self, n: usize, x: &mut Slice<Self, f64>) -> Result<()>;

    /// d = alpha d + beta w (b - y) and x += d, item by item: the vector updates of a step of Chebyshev's iteration for the inverse
    /// diagonal w and y = A x. Without y, x = d = beta w b, which is the first step from x = 0. Reads 40 and writes 16 bytes per item,
    /// 6 flops; without y 16 and 16 bytes, 2 flops.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn relax(
        &self,
        n: usize,
        coefficients: [f64; 2],
        w: &Slice<Self, f64>,
        b: &Slice<Self, f64>,
        y: Option<&Slice<Self, f64>>,
        d: &mut Slice<Self, f64>,
        x: &mut Slice<Self, f64>,
    ) -> Result<()>;
}
