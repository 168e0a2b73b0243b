//! A solve under way: what the variants and the loop over their iterations share.

use super::{CgSteps, CgWorkspace, Parts, SingleLaunch};
use crate::Result;
use crate::blas::Collective;
use crate::solve::krylov::{LinearSystem, Preconditioner};
use crate::space::Slice;
use crate::sparse::Operator;

/// The system of a solve with its memory. Each variant adds methods in a file of its own.
pub(super) struct Solve<'a, S: CgSteps> {
    pub space: &'a S,
    /// Number of owned unknowns.
    pub n: usize,
    pub a: &'a dyn Operator<S>,
    pub m: &'a mut dyn Preconditioner<S>,
    pub comm: &'a dyn Collective<S>,
    pub b: &'a Slice<S, f64>,
    pub x: &'a mut Slice<S, f64>,
    pub work: &'a mut CgWorkspace<S>,
    /// All-reduces so far, but for those of iterations.
    pub reductions: usize,
    /// Runs all iterations in one launch.
    pub launch: Option<&'a SingleLaunch<'a, S>>,
}

impl<'a, S: CgSteps> Solve<'a, S> {
    pub(super) fn new(
        space: &'a S,
        system: &'a mut LinearSystem<'_, S>,
        x: &'a mut Slice<S, f64>,
        work: &'a mut CgWorkspace<S>,
        launch: Option<&'a SingleLaunch<'a, S>>,
    ) -> Self {
        let LinearSystem { operator: a, preconditioner: m, comm, rhs: b } = system;
        Solve { space, n: a.rows(), a: *a, m: *m, comm: *comm, b, x, work, reductions: 1, launch }
    }

    /// r = b - A x for single-reduction CG, in which r (u with a preconditioner) has room for ghosts. Overwrites u and q.
    pub(super) fn residual(&mut self) -> Result<()> {
        let Solve { space, n, a, m, b, x, work, .. } = self;
        let Parts { q, r, z: u, .. } = work.parts();
        let carrier = if m.is_identity() { &mut *r } else { u };
        space.copy(*n, x, carrier)?;
        a.apply(space, carrier, q)?;
        space.axpby(*n, 1.0, b, -1.0, q, r)
    }
}
