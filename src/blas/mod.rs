//! Vector operations of the iterative solvers, fused so that each vector passes through the processor once a step.
//!
//! Every sum is taken over blocks of fixed length, each block in order, and the blocks' partial sums in order: one rank
//! gives the same bits whatever its number of threads. Scalars (sums and the quotients made from them) stay in the
//! space's memory; only [`ExecutionSpace::read`] brings one to the host.

#[cfg(feature = "cuda")]
mod cuda;
mod host;
#[cfg(feature = "cuda")]
mod kernel_files;
mod peak;
mod triad;

#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use peak::peak;
#[cfg(feature = "cuda")]
pub use peak::{Peaks, peak_on_gpu};
#[cfg(feature = "cuda")]
pub use triad::triad_on_gpu;
pub use triad::{Triad, triad, triad_length};

use crate::Result;
use crate::space::{Array, ExecutionSpace};

/// Places of the scalars of a CG solve.
///
/// They stay in the space's memory, so that iterations can be queued without a look at them: once `STATE` is not 0, the
/// operations of an iteration ([`cg_step`](Blas::cg_step), [`cg_direction`](Blas::cg_direction), products with the matrix)
/// change nothing.
pub mod cg_slot {
    /// r.r before and after an iteration; they change places with each.
    pub const RR: [usize; 2] = [0, 1];
    /// p.q
    pub const PQ: usize = 2;
    /// Norm of r to reach.
    pub const TARGET: usize = 3;
    /// Iterations before giving up.
    pub const LIMIT: usize = 4;
    /// Iterations done.
    pub const COUNT: usize = 5;
    /// A [`CgState`](super::CgState) as a number.
    pub const STATE: usize = 6;
    /// Norm of b.
    pub const RHS: usize = 7;
    /// Number of scalars.
    pub const LEN: usize = 8;
}

/// Where a CG solve stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgState {
    /// Iterations go on.
    Running = 0,
    /// The target is reached.
    Converged = 1,
    /// p.q was not positive.
    Breakdown = 2,
    /// A sum was NaN or infinite.
    NotFinite = 3,
    /// The limit is reached, the target is not.
    LimitReached = 4,
}

impl CgState {
    /// From the scalar at [`cg_slot::STATE`].
    pub fn of(scalar: f64) -> Self {
        let all = [CgState::Running, CgState::Converged, CgState::Breakdown, CgState::LimitReached];
        all.into_iter().find(|&state| state as u8 as f64 == scalar).unwrap_or(CgState::NotFinite)
    }
}

/// Vector operations; `n` is the number of leading items that take part (owned items of a vector with ghosts).
pub trait Blas: ExecutionSpace {
    /// CG iterations between two looks of the host at the scalars; 1 or an even number.
    const LOOK: usize;
    /// Looks that may be on their way while iterations go on.
    const AHEAD: usize;

    /// Partial sums that a reduction over `n` items stores.
    fn partials_len(n: usize) -> usize;

    /// `scalars[slot]` = x.y. Reads 16 bytes an item, 2 flops.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short arrays, here and below.
    fn dot(
        &self,
        n: usize,
        x: &Array<Self, f64>,
        y: &Array<Self, f64>,
        partials: &mut Array<Self, f64>,
        slot: usize,
        scalars: &mut Array<Self, f64>,
    ) -> Result<()>;

    /// max |x|, NaN when an item is; on the host, so it waits. Reads 8 bytes an item.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn max_abs(&self, n: usize, x: &Array<Self, f64>, partials: &mut Array<Self, f64>) -> Result<f64>;

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

    /// CG, once `scalars[slot]` is b.b: norm and target from it, count and state 0.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn cg_begin(&self, tolerance: f64, limit: usize, slot: usize, scalars: &mut Array<Self, f64>) -> Result<()>;

    /// CG: the state that follows from `scalars[rr]` = r.r before the first iteration.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn cg_check(&self, rr: usize, scalars: &mut Array<Self, f64>) -> Result<()>;

    /// CG: alpha = `scalars[rr]` / p.q; x += alpha p, r -= alpha q, `scalars[rr_new]` = r.r; a p.q that is not positive
    /// sets the state instead. Reads 32 and writes 16 bytes an item, 6 flops.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn cg_step(
        &self,
        n: usize,
        rr: usize,
        rr_new: usize,
        p: &Array<Self, f64>,
        q: &Array<Self, f64>,
        x: &mut Array<Self, f64>,
        r: &mut Array<Self, f64>,
        partials: &mut Array<Self, f64>,
        scalars: &mut Array<Self, f64>,
    ) -> Result<()>;

    /// CG: count and state after the iteration; then beta = `scalars[rr]` / `scalars[rr_old]`, p = r + beta p. Reads 16 and
    /// writes 8 bytes an item, 2 flops.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    fn cg_direction(
        &self,
        n: usize,
        rr: usize,
        rr_old: usize,
        r: &Array<Self, f64>,
        p: &mut Array<Self, f64>,
        scalars: &mut Array<Self, f64>,
    ) -> Result<()>;
}
