//! Scalars and vectors of CG with one all-reduce per iteration.
//!
//! With u = M^-1 r, w = A u, and the sums gamma = r.u, delta = w.u, r.r over all ranks, an update does first
//! ```text
//! state from r.r and the number of updates so far; the rest only while the iteration continues
//! beta = gamma / gamma',   p.A p = delta - beta gamma / alpha'       with gamma' and alpha' of the update before
//! beta = -u.s / p.s,       p.A p = delta + beta u.s                  if s = A p was just computed
//! alpha = gamma / p.A p
//! ```
//! The second line makes the new p conjugate to the old one whatever rounding did to both; it is -gamma / alpha' = u.s and
//! gamma' / alpha' = p.s in the first. If p.A p is not positive, either A is not positive definite or the recurrences have drifted:
//! the state is [`Drifted`](super::CgState::Drifted) then, unless s was just computed.
//!
//! The scalars stay in the memory of the space, and no update changes anything once the state is not 0, as in
//! [`CgSteps`](super::CgSteps). The slots of an update are the same in every iteration.

use crate::blas::Blas;
use crate::space::Slice;
use std::ops::Range;

/// Slots of the scalars of single-reduction CG, behind those of [`CgSlot`](super::CgSlot).
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
    /// Number of scalars, of which the last is not used.
    pub const LEN: usize = 20;

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
