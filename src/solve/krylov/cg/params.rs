//! Stopping criteria of a CG solve.

/// Stopping criteria of CG.
#[derive(Clone, Copy, Debug)]
pub struct CgParams {
    /// Bound of ||r|| / ||b||. A negative bound is never reached: see [`exactly`](Self::exactly).
    pub tolerance: f64,
    /// Bound of ||r||: the target is max(tolerance ||b||, absolute). 0 stands for none.
    pub absolute: f64,
    /// Number of iterations after which CG gives up.
    pub max_iterations: usize,
}

impl CgParams {
    /// Bounds ||r|| / ||b|| and the iterations.
    pub const fn new(tolerance: f64, max_iterations: usize) -> Self {
        CgParams { tolerance, absolute: 0.0, max_iterations }
    }

    /// Norm of r to reach for a norm of b.
    pub(in super::super) fn target(&self, rhs: f64) -> f64 {
        let relative = self.tolerance * rhs;
        if self.absolute > 0.0 { relative.max(self.absolute) } else { relative }
    }

    /// Asks for exactly so many iterations whatever the residual, as miniFE and HPCG count them. The solve ends with
    /// [`Reason::Iterations`](crate::solve::Reason::Iterations). If r.r underflows before, CG starts again from its last iterate.
    /// Only where b is 0, or b - A x is exactly 0, are there fewer iterations.
    pub const fn exactly(iterations: usize) -> Self {
        CgParams::new(-1.0, iterations)
    }
}
