//! Vector operations of the iterative solvers, fused so that each vector passes through the processor once a step.
//!
//! Every sum is taken over blocks of fixed length, each block in order, and the blocks' partial sums in order: one rank
//! gives the same bits whatever its number of threads. Scalars (sums and the quotients made from them) stay in the
//! space's memory; only [`ExecutionSpace::read`] brings one to the host.

mod host;
mod triad;

pub use triad::{Triad, triad, triad_length};

use crate::Result;
use crate::space::{Array, ExecutionSpace};

/// Vector operations; `n` is the number of leading items that take part (owned items of a vector with ghosts).
pub trait Blas: ExecutionSpace {
    /// Partial sums that a reduction over `n` items stores.
    fn partials_len(n: usize) -> usize;

    /// Sums of x.y over blocks of x and y. Reads 16 bytes an item, 2 flops.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short arrays, here and below.
    fn dot(&self, n: usize, x: &Array<Self, f64>, y: &Array<Self, f64>, partials: &mut Array<Self, f64>) -> Result<()>;

    /// max |x|, NaN when an item is; on the host, so it waits. Reads 8 bytes an item.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn max_abs(&self, n: usize, x: &Array<Self, f64>, partials: &mut Array<Self, f64>) -> Result<f64>;

    /// `scalars[slot]` = sum of the first `count` partial sums, in order.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn sum_partials(
        &self,
        count: usize,
        partials: &Array<Self, f64>,
        slot: usize,
        scalars: &mut Array<Self, f64>,
    ) -> Result<()>;

    /// y = value. Writes 8 bytes an item.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn fill(&self, n: usize, value: f64, y: &mut Array<Self, f64>) -> Result<()>;

    /// y = x. Reads 8 and writes 8 bytes an item.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn copy(&self, n: usize, x: &Array<Self, f64>, y: &mut Array<Self, f64>) -> Result<()>;

    /// z = alpha x + beta y. Reads 16 and writes 8 bytes an item, 3 flops.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn axpby(
        &self,
        n: usize,
        alpha: f64,
        x: &Array<Self, f64>,
        beta: f64,
        y: &Array<Self, f64>,
        z: &mut Array<Self, f64>,
    ) -> Result<()>;

    /// y += alpha x. Reads 16 and writes 8 bytes an item, 2 flops.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn axpy(&self, n: usize, alpha: f64, x: &Array<Self, f64>, y: &mut Array<Self, f64>) -> Result<()>;

    /// CG: alpha = `scalars[rr]` / `scalars[pq]`; x += alpha p, r -= alpha q, and the sums of r.r over blocks.
    /// Reads 32 and writes 16 bytes an item, 6 flops.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn cg_step(
        &self,
        n: usize,
        scalars: &Array<Self, f64>,
        rr: usize,
        pq: usize,
        p: &Array<Self, f64>,
        q: &Array<Self, f64>,
        x: &mut Array<Self, f64>,
        r: &mut Array<Self, f64>,
        partials: &mut Array<Self, f64>,
    ) -> Result<()>;

    /// CG: beta = `scalars[rr]` / `scalars[rr_old]`; p = r + beta p. Reads 16 and writes 8 bytes an item, 2 flops.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn cg_direction(
        &self,
        n: usize,
        scalars: &Array<Self, f64>,
        rr: usize,
        rr_old: usize,
        r: &Array<Self, f64>,
        p: &mut Array<Self, f64>,
    ) -> Result<()>;
}
