//! Newton's method: solve J(x) delta = F(x), x -= delta, until ||F|| has fallen enough.

use super::{CgInfo, Sums};
use crate::blas::Blas;
use crate::space::Array;
use crate::{Error, Result};

/// A system of equations F(x) = 0 with its linearisation.
pub trait NonlinearProblem<S: Blas> {
    /// Unknowns that this rank owns.
    fn rows(&self) -> usize;

    /// residual = F(x), and J(x) kept inside. Ghost values of x are refreshed on the way.
    ///
    /// # Errors
    /// Whatever stops an assembly.
    fn assemble(&mut self, x: &mut Array<S, f64>, residual: &mut Array<S, f64>) -> Result<()>;

    /// Solves J delta = residual.
    ///
    /// # Errors
    /// Whatever stops a linear solve.
    fn solve(&mut self, residual: &Array<S, f64>, delta: &mut Array<S, f64>) -> Result<CgInfo>;
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct NewtonParams {
    /// Bound of ||F|| / ||F at the start||.
    pub tolerance: f64,
    /// Steps before giving up.
    pub max_iterations: usize,
}

/// One step of the history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonStep {
    /// ||F|| before the step.
    pub residual: f64,
    /// The step's linear solve.
    pub cg: CgInfo,
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewtonInfo {
    /// The steps taken.
    pub steps: Vec<NewtonStep>,
    /// ||F|| at the start.
    pub initial_residual: f64,
    /// ||F|| at the end.
    pub residual: f64,
}

/// Solves F(x) = 0 from the given x; `observe(step, ||F||)` is called after each assembly.
///
/// # Errors
/// [`Error::NotConverged`] at the limit, [`Error::NotFinite`] for a NaN or infinity in ||F||, and what the problem returns.
pub fn newton<S: Blas>(
    space: &S,
    sums: &(impl Sums<S> + ?Sized),
    problem: &mut impl NonlinearProblem<S>,
    x: &mut Array<S, f64>,
    params: NewtonParams,
    observe: &mut dyn FnMut(usize, f64),
) -> Result<NewtonInfo> {
    let n = problem.rows();
    let count = S::partials_len(n);
    let (mut residual, mut delta) = (space.zeros(n)?, space.zeros(n)?);
    let (mut partials, mut scalars) = (space.zeros(count)?, space.zeros(1)?);
    let mut info = NewtonInfo::default();
    loop {
        // F(x), J(x), ||F||
        problem.assemble(x, &mut residual)?;
        space.dot(n, &residual, &residual, &mut partials)?;
        space.sum_partials(count, &partials, 0, &mut scalars)?;
        sums.sum(space, &mut scalars, 0)?;
        let mut norm = [0.0];
        space.read(&scalars, &mut norm)?;
        let (step, norm) = (info.steps.len(), norm[0].sqrt());
        if !norm.is_finite() {
            return Err(Error::NotFinite { method: "Newton", quantity: "||F||", value: norm, iteration: step });
        }
        observe(step, norm);
        info.residual = norm;
        if step == 0 {
            info.initial_residual = norm;
        }
        let target = params.tolerance * info.initial_residual;
        if norm <= target {
            return Ok(info);
        }
        if step == params.max_iterations {
            return Err(Error::NotConverged { method: "Newton", iterations: step, residual: norm, tolerance: target });
        }
        // J delta = F, x -= delta
        let cg = problem.solve(&residual, &mut delta)?;
        space.axpy(n, -1.0, &delta, x)?;
        info.steps.push(NewtonStep { residual: norm, cg });
    }
}
