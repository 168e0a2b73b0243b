//! A solve under way: what the variants and the loop over their iterations share.

use super::{CgSteps, CgWorkspace, Parts};
use crate::Result;
use crate::solve::krylov::{LinearOperator, Preconditioner};
use crate::space::Slice;

/// The system of a solve with its memory. Each variant adds methods in a file of its own.
pub(super) struct Solve<'a, S: CgSteps, A, M, C: ?Sized> {
    pub space: &'a S,
    /// Number of owned unknowns.
    pub n: usize,
    pub a: &'a mut A,
    pub m: &'a mut M,
    pub comm: &'a C,
    pub b: &'a Slice<S, f64>,
    pub x: &'a mut Slice<S, f64>,
    pub work: &'a mut CgWorkspace<S>,
    /// All-reduces so far, but for those of iterations.
    pub reductions: usize,
    /// Whether all iterations run in one launch.
    pub one_launch: bool,
}

impl<S: CgSteps, A: LinearOperator<S>, M: Preconditioner<S>, C: ?Sized> Solve<'_, S, A, M, C> {
    /// Computes r = b - A x for variants whose r (or u) has room for ghosts. Overwrites u and q.
    pub(super) fn residual(&mut self) -> Result<()> {
        let Solve { space, n, a, b, x, work, .. } = self;
        let Parts { q, r, preconditioned: [u, ..], .. } = work.parts();
        let carrier = if M::IS_IDENTITY { &mut *r } else { u };
        space.copy(*n, x, carrier)?;
        a.apply(space, carrier, q)?;
        space.axpby(*n, 1.0, b, -1.0, q, r)
    }
}
