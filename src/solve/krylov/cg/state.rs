//! The scalars of a CG solve and the updates of its vectors: the contract of `host.rs` and `cuda.rs`.
//!
//! The scalars stay in the memory of the space, so that iterations can be enqueued before the host has read any of them. Once
//! [`CgSlot::STATE`] is not 0, the operations of an iteration change nothing.

use super::params::CgParams;
use crate::Result;
use crate::blas::{Blas, Reductions};
use crate::space::Slice;
use crate::sparse::Formats;
use std::ops::Range;

/// Slots of the scalars of a CG solve.
#[derive(Clone, Copy, Debug)]
pub struct CgSlot;

impl CgSlot {
    /// r.r before and after an iteration; the two slots alternate.
    pub const RR: [usize; 2] = [0, 1];
    /// p.q
    pub const PQ: usize = 2;
    /// Norm of r to reach: max(tolerance times the norm of b, absolute tolerance).
    pub const TARGET: usize = 3;
    /// Number of iterations after which CG gives up.
    pub const LIMIT: usize = 4;
    /// Number of iterations done.
    pub const COUNT: usize = 5;
    /// A [`CgState`] as a number.
    pub const STATE: usize = 6;
    /// Norm of b.
    pub const RHS: usize = 7;
    /// r.z before and after an iteration of preconditioned CG; the two slots alternate.
    pub const RZ: [usize; 2] = [8, 9];
    /// Number of scalars, with those of [`FusedSlot`]; no variant reads scalar 19.
    pub const LEN: usize = 20;
}

/// State of a CG solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgState {
    /// The iteration continues.
    Running = 0,
    /// ||r|| is at most the target.
    Converged = 1,
    /// p.q was not positive: A is not positive definite, and alpha = r.z / p.q would not minimise along p.
    Breakdown = 2,
    /// A sum was NaN or infinite.
    NotFinite = 3,
    /// The limit is reached and the target is not.
    LimitReached = 4,
    /// The square of ||b||, or of the target that ||r|| has reached, is below the normal numbers: norms say nothing there.
    Underflow = 5,
    /// p.A p was not positive by recurrences that may have drifted: the vectors have to be computed anew.
    Drifted = 6,
}

impl CgState {
    /// Reads the state from the scalar at [`CgSlot::STATE`].
    pub fn of(scalar: f64) -> Self {
        use CgState::{Breakdown, Converged, Drifted, LimitReached, Running, Underflow};
        let all = [Running, Converged, Breakdown, LimitReached, Underflow, Drifted];
        all.into_iter().find(|&state| state as u8 as f64 == scalar).unwrap_or(CgState::NotFinite)
    }
}

/// A step along the direction: slots of its scalars, and vectors of `[n]` or longer.
#[derive(Debug)]
pub struct CgStep<'a, S: Blas> {
    /// Slot of r.z (or r.r).
    pub rz: usize,
    /// Slot of the new r.r.
    pub rr: usize,
    /// Search direction.
    pub p: &'a Slice<S, f64>,
    /// q = A p.
    pub q: &'a Slice<S, f64>,
    /// Iterate.
    pub x: &'a mut Slice<S, f64>,
    /// Residual.
    pub r: &'a mut Slice<S, f64>,
}

/// A new direction with beta = top / bottom: slots of its scalars, and vectors of `[n]` or longer.
#[derive(Debug)]
pub struct CgDirection<'a, S: Blas> {
    /// Slot of r.r.
    pub rr: usize,
    /// Slot of r.z (or r.r) after the iteration.
    pub top: usize,
    /// Slot of r.z (or r.r) before the iteration.
    pub bottom: usize,
    /// z (or r).
    pub z: &'a Slice<S, f64>,
    /// Search direction.
    pub p: &'a mut Slice<S, f64>,
}

/// Slots of the scalars of CG with one all-reduce per iteration, behind those of [`CgSlot`].
///
/// With u = M^-1 r, w = A u, and the sums gamma = r.u, delta = w.u, r.r over all ranks, an update does first
/// ```text
/// state from r.r and the number of updates so far; the rest only while the iteration continues
/// beta = gamma / gamma',   p.A p = delta - beta gamma / alpha'       with gamma' and alpha' of the update before
/// beta = -u.s / p.s,       p.A p = delta + beta u.s                  if s = A p was just computed
/// alpha = gamma / p.A p
/// ```
/// The second line makes the new p conjugate to the old one whatever rounding did to both; it is -gamma / alpha' = u.s and
/// gamma' / alpha' = p.s in the first. If p.A p is not positive, either A is not positive definite or the recurrences have drifted:
/// the state is [`CgState::Drifted`] then, unless s was just computed.
#[derive(Clone, Copy, Debug)]
pub struct FusedSlot;

impl FusedSlot {
    /// gamma = r.u, with a preconditioner.
    pub const GAMMA: usize = 10;
    /// r.r, which is gamma without a preconditioner.
    pub const RR: usize = 11;
    /// delta = w.u
    pub const DELTA: usize = 12;
    /// u.s and p.s at the last refresh.
    pub const US: usize = 13;
    /// See [`US`](Self::US).
    pub const PS: usize = 14;
    /// Number of updates done.
    pub const UPDATES: usize = 15;
    /// Number of updates at the last refresh.
    pub const FRESH: usize = 16;
    /// gamma of the last update.
    pub const GAMMA_BEFORE: usize = 17;
    /// alpha of the last update.
    pub const ALPHA_BEFORE: usize = 18;

    /// The sums of an iteration, which one message carries.
    pub const fn sums(is_identity: bool) -> Range<usize> {
        if is_identity { Self::RR..Self::DELTA + 1 } else { Self::GAMMA..Self::DELTA + 1 }
    }

    /// The slot of gamma.
    pub(super) const fn gamma(is_identity: bool) -> usize {
        if is_identity { Self::RR } else { Self::GAMMA }
    }
}

/// The vectors of an update of single-reduction CG, each `[n]` or longer.
#[derive(Debug)]
pub struct SingleVectors<'a, S: Blas> {
    /// M^-1 r; `None`: r itself.
    pub u: Option<&'a Slice<S, f64>>,
    /// A u.
    pub w: &'a Slice<S, f64>,
    /// Search direction.
    pub p: &'a mut Slice<S, f64>,
    /// A p.
    pub s: &'a mut Slice<S, f64>,
    /// Iterate.
    pub x: &'a mut Slice<S, f64>,
    /// Residual.
    pub r: &'a mut Slice<S, f64>,
}

/// CG of one system with all iterations in one launch: a function of x, r = b - A x and the scalars before the first iteration, which
/// leaves those after the last one. See [`CgSteps::single_launch`].
pub type SingleLaunch<'a, S> =
    dyn Fn(&S, &mut Slice<S, f64>, &mut Slice<S, f64>, &mut Reductions<S>) -> Result<()> + 'a;

/// The fused vector updates of CG. `sums.scalars` is at least [`CgSlot::LEN`] long.
pub trait CgSteps: Formats {
    /// Number of CG iterations between two convergence checks of the host; 1 or an even number, since the two slots of r.r
    /// alternate and a recorded batch must begin with the same slot each time.
    const CHECK_INTERVAL: usize;
    /// Number of convergence checks that may be in flight while iterations continue.
    const CHECKS_IN_FLIGHT: usize;

    /// Plans all iterations of CG in one launch; `None` where a loop is faster or a device lacks the room for it. For small systems of
    /// one process, where launches take longer than their kernels.
    ///
    /// # Errors
    /// A failure of the device.
    fn single_launch<'a>(&'a self, _matrix: &'a Self::Matrix) -> Result<Option<Box<SingleLaunch<'a, Self>>>> {
        Ok(None)
    }

    /// Computes norm and target from `scalars[slot]` = b.b, and sets count and state to 0. Also resets the scalars of single-reduction CG:
    /// no update so far, and s = A p holds since both are 0. The state is set at once if b.b is not finite, or below the normal numbers
    /// while the square of the absolute tolerance is, too.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for short arrays, here and below.
    fn cg_begin(&self, params: CgParams, slot: usize, sums: &mut Reductions<Self>) -> Result<()>;

    /// Sets the state that follows from `scalars[rr]` = r.r of an r that was computed from x: at the start, and where r is replaced.
    ///
    /// # Errors
    /// As [`cg_begin`](Self::cg_begin).
    fn cg_check(&self, rr: usize, sums: &mut Reductions<Self>) -> Result<()>;

    /// alpha = `scalars[rz]` / p.q; x += alpha p, r -= alpha q, `scalars[rr]` = r.r. If p.q is not positive, sets the state
    /// instead. Reads 32 and writes 16 bytes per item, 6 flops.
    ///
    /// # Errors
    /// As [`cg_begin`](Self::cg_begin).
    fn cg_step(&self, n: usize, step: CgStep<'_, Self>, sums: &mut Reductions<Self>) -> Result<()>;

    /// Counts the iteration and sets the state that follows from `scalars[rr]` = r.r; then p = z + beta p with
    /// beta = `scalars[top]` / `scalars[bottom]`. Reads 16 and writes 8 bytes per item, 2 flops.
    ///
    /// # Errors
    /// As [`cg_begin`](Self::cg_begin).
    fn cg_direction(&self, n: usize, direction: CgDirection<'_, Self>, sums: &mut Reductions<Self>) -> Result<()>;

    /// Marks s as computed from p after the updates done so far. With `resume` it first lets the iteration continue whatever its
    /// state; without, it does nothing unless the iteration continues.
    ///
    /// # Errors
    /// As [`cg_begin`](Self::cg_begin).
    fn fused_refresh(&self, resume: bool, sums: &mut Reductions<Self>) -> Result<()>;

    /// State, alpha and beta; p = u + beta p, s = w + beta s, x += alpha p, r -= alpha s, and r.r. Reads 40 and writes 32 bytes per
    /// item, 10 flops; reads 8 bytes more with a preconditioner.
    ///
    /// # Errors
    /// As [`cg_begin`](Self::cg_begin).
    fn single_step(&self, n: usize, vectors: SingleVectors<'_, Self>, sums: &mut Reductions<Self>) -> Result<()>;
}

/// Whether the iteration continues, from scalars in the memory of the host.
pub(super) fn is_running(scalars: &[f64]) -> bool {
    CgState::of(scalars[CgSlot::STATE]) == CgState::Running
}

/// Stores a state.
pub(super) fn set_state(scalars: &mut [f64], state: CgState) {
    scalars[CgSlot::STATE] = f64::from(state as u8);
}

/// The state that follows from r.r after `COUNT` iterations.
pub(super) fn state_of(rr: f64, scalars: &[f64]) -> CgState {
    // A comparison with NaN is false, so NaN is tested first. Convergence in the last iteration allowed is a success.
    match () {
        () if !rr.is_finite() => CgState::NotFinite,
        () if rr.sqrt() <= scalars[CgSlot::TARGET] => {
            let is_normal = scalars[CgSlot::TARGET].powi(2) >= f64::MIN_POSITIVE;
            if is_normal { CgState::Converged } else { CgState::Underflow }
        }
        () if scalars[CgSlot::COUNT] >= scalars[CgSlot::LIMIT] => CgState::LimitReached,
        () => CgState::Running,
    }
}
