//! Checks that do not trust the recurrences of a Krylov method: the true residual of a solve, and the symmetry of an operator.
//!
//! ```text
//! true residual   ||b - A x||, one product after the solve
//! departure       |x.Ay - y.Ax| / max(||x|| ||Ay||, ||y|| ||Ax||), two products (as HPCG: Dongarra, Heroux, Luszczek 2016)
//! ```
//! Both use the vectors of a [`CgWorkspace`] and allocate nothing. They run on all ranks and return the same numbers there.

use super::cg::{CgSteps, CgWorkspace, Parts};
use super::{LinearSystem, TrueResidual};
use crate::Result;
use crate::blas::Collective;
use crate::space::{Slice, try_collect};
use crate::sparse::Operator;

/// Departure of an operator from symmetry, and an estimate of its norm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Symmetry {
    /// |x.Ay - y.Ax| / max(||x|| ||Ay||, ||y|| ||Ax||): rounding, about 1e-16, for a symmetric operator.
    pub departure: f64,
    /// max(||Ax|| / ||x||, ||Ay|| / ||y||), at most ||A||; about a half of it for rough x and y.
    pub norm: f64,
}

/// Computes ||b - A x|| and ||x|| from the x that a solve returned. Changes neither.
///
/// # Errors
/// Those of the operator, of a device and of communication.
pub fn true_residual<S: CgSteps>(
    space: &S,
    system: &LinearSystem<'_, S>,
    x: &Slice<S, f64>,
    work: &mut CgWorkspace<S>,
) -> Result<TrueResidual> {
    let &LinearSystem { operator: a, comm, rhs: b, .. } = system;
    let n = a.rows();
    let Parts { p, q, r, sums, .. } = work.parts();
    // The state of the solve would switch the sums off.
    sums.stop = None;
    space.copy(n, x, p)?;
    a.apply(space, p, q)?;
    space.axpby(n, 1.0, b, -1.0, q, r)?;
    space.dot(n, r, r, sums, 0)?;
    space.dot(n, x, x, sums, 1)?;
    let [residual, solution] = sums.totals(space, comm)?;
    Ok(TrueResidual { residual: residual.sqrt(), solution: solution.sqrt() })
}

/// Applies an operator to two vectors. `write(which, vector)` writes the owned items of vector 0 or 1, the same at every call,
/// each a function of the item's global id.
///
/// # Errors
/// Those of `write`, of the operator, of a device and of communication.
pub fn symmetry<S: CgSteps>(
    space: &S,
    operator: &dyn Operator<S>,
    comm: &dyn Collective<S>,
    work: &mut CgWorkspace<S>,
    write: impl FnMut(usize, &mut Slice<S, f64>) -> Result<()>,
) -> Result<Symmetry> {
    symmetry_of(space, operator.rows(), |x, y| operator.apply(space, x, y), comm, work, write)
}

/// [`symmetry`] of a function y = A x of n unknowns.
pub(in crate::solve) fn symmetry_of<S: CgSteps>(
    space: &S,
    n: usize,
    mut apply: impl FnMut(&mut Slice<S, f64>, &mut Slice<S, f64>) -> Result<()>,
    comm: &dyn Collective<S>,
    work: &mut CgWorkspace<S>,
    mut write: impl FnMut(usize, &mut Slice<S, f64>) -> Result<()>,
) -> Result<Symmetry> {
    let Parts { p, q, r, sums, .. } = work.parts();
    sums.stop = None;
    // q = A x; x.x, Ax.Ax, y.Ax; then with x and y exchanged.
    for which in [0, 1] {
        write(which, p)?;
        apply(p, q)?;
        write(1 - which, r)?;
        space.dot(n, p, p, sums, 3 * which)?;
        space.dot(n, q, q, sums, 3 * which + 1)?;
        space.dot(n, r, q, sums, 3 * which + 2)?;
    }
    let [xx, axax, yax, yy, ayay, xay] = sums.totals(space, comm)?;
    let scale = (xx * ayay).max(yy * axax).sqrt();
    // An operator of 0 rows is symmetric; NaN and infinity stay.
    let departure = if n == 0 && scale == 0.0 { 0.0 } else { (xay - yax).abs() / scale };
    Ok(Symmetry { departure, norm: (axax / xx).max(ayay / yy).sqrt() })
}

/// A vector without structure, one of two.
pub(in crate::solve) fn rough(which: usize, len: usize) -> Result<Vec<f64>> {
    let frequency = [1.3, 1.9][which];
    try_collect("a rough vector", (0..len).map(|i| (frequency * i as f64 + 1.0).sin()))
}
