//! The conjugate gradient method (Hestenes and Stiefel 1952) in three fused steps an iteration.
//!
//! Memory traffic of an iteration, n unknowns of 27 entries a row: product and p.q 12 nnz + 8 row offsets + 16 n; step
//! (x, r, r.r) 48 n; direction 24 n. With nnz = 27 n that is 420 bytes an unknown; 64 flops. Two sums over all ranks.

use crate::blas::Blas;
use crate::space::Array;
use crate::{Error, Result};

/// A symmetric positive definite matrix, as CG sees it.
pub trait LinearOperator<S: Blas> {
    /// Unknowns that this rank owns.
    fn rows(&self) -> usize;

    /// Length of a vector that the operator is applied to: owned and ghost unknowns.
    fn columns(&self) -> usize;

    /// q = A p over the owned rows and the sums of p.q over blocks of rows. Refreshes the ghosts of p on the way.
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors; a device's failure.
    fn apply_dot(
        &mut self,
        space: &S,
        p: &mut Array<S, f64>,
        q: &mut Array<S, f64>,
        partials: &mut Array<S, f64>,
    ) -> Result<()>;
}

/// Sums a rank's scalars over all ranks; on every rank the same bits come out.
pub trait Sums<S: Blas> {
    /// `scalars[slot]` becomes its sum over the ranks.
    ///
    /// # Errors
    /// A communication failure.
    fn sum(&self, space: &S, scalars: &mut Array<S, f64>, slot: usize) -> Result<()>;
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct CgParams {
    /// Bound of ||r|| / ||b||.
    pub tolerance: f64,
    /// Iterations before giving up.
    pub max_iterations: usize,
}

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CgInfo {
    /// Iterations done: products with the matrix, the first residual's not counted.
    pub iterations: usize,
    /// ||r|| at the end.
    pub residual: f64,
    /// ||b||.
    pub rhs: f64,
}

/// Vectors of one solve, reused by the next.
#[derive(Clone, Debug)]
pub struct CgWorkspace<S: Blas> {
    p: Array<S, f64>,
    q: Array<S, f64>,
    r: Array<S, f64>,
    partials: Array<S, f64>,
    scalars: Array<S, f64>,
}

/// Places of the scalars: p.q, and r.r of this and the last iteration, which change places.
const PQ: usize = 2;

impl<S: Blas> CgWorkspace<S> {
    /// Allocates for an operator of `rows` rows and `columns` columns: 24 bytes a row.
    ///
    /// # Errors
    /// [`Error::TooLarge`] where the memory cannot be had.
    pub fn new(space: &S, rows: usize, columns: usize) -> Result<Self> {
        Ok(CgWorkspace {
            p: space.zeros(columns)?,
            q: space.zeros(rows)?,
            r: space.zeros(rows)?,
            partials: space.zeros(S::partials_len(rows))?,
            scalars: space.zeros(3)?,
        })
    }
}

/// Solves A x = b from the given x; `observe(iteration, ||r||)` is called once an iteration.
///
/// Deterministic for a number of ranks, whatever the threads.
///
/// # Errors
/// [`Error::NotConverged`] at the limit, [`Error::Breakdown`] when p.Ap <= 0, [`Error::NotFinite`] for a NaN or infinity,
/// each with iteration and residual; x then holds the last iterate.
pub fn cg<S: Blas>(
    space: &S,
    sums: &(impl Sums<S> + ?Sized),
    a: &mut impl LinearOperator<S>,
    b: &Array<S, f64>,
    x: &mut Array<S, f64>,
    params: CgParams,
    work: &mut CgWorkspace<S>,
    observe: &mut dyn FnMut(usize, f64),
) -> Result<CgInfo> {
    let n = a.rows();
    let count = S::partials_len(n);
    let CgWorkspace { p, q, r, partials, scalars } = work;
    let (mut rr, mut rr_old) = (0, 1);

    // ||b||
    space.dot(n, b, b, partials)?;
    let rhs = total(space, sums, count, partials, rr, scalars)?.sqrt();
    finite("||b||", rhs, 0)?;
    let target = params.tolerance * rhs;

    // r = b - A x, p = r, rr = r.r
    space.copy(n, x, p)?;
    a.apply_dot(space, p, q, partials)?;
    space.axpby(n, 1.0, b, -1.0, q, r)?;
    space.copy(n, r, p)?;
    space.dot(n, r, r, partials)?;
    let mut residual = total(space, sums, count, partials, rr, scalars)?.sqrt();
    finite("||r||", residual, 0)?;

    for iteration in 0..params.max_iterations {
        if residual <= target {
            return Ok(CgInfo { iterations: iteration, residual, rhs });
        }
        // q = A p, pq = p.q
        a.apply_dot(space, p, q, partials)?;
        let curvature = total(space, sums, count, partials, PQ, scalars)?;
        finite("p.Ap", curvature, iteration)?;
        if curvature <= 0.0 {
            return Err(Error::Breakdown { iteration, curvature, residual });
        }
        // alpha = rr / pq; x += alpha p; r -= alpha q; rr = r.r
        space.cg_step(n, scalars, rr, PQ, p, q, x, r, partials)?;
        std::mem::swap(&mut rr, &mut rr_old);
        residual = total(space, sums, count, partials, rr, scalars)?.sqrt();
        finite("||r||", residual, iteration)?;
        observe(iteration + 1, residual);
        // beta = rr / rr_old; p = r + beta p
        space.cg_direction(n, scalars, rr, rr_old, r, p)?;
    }
    if residual <= target {
        return Ok(CgInfo { iterations: params.max_iterations, residual, rhs });
    }
    Err(Error::NotConverged { method: "CG", iterations: params.max_iterations, residual, tolerance: target })
}

/// Sums partial sums of all blocks and ranks into a scalar and reads it.
fn total<S: Blas>(
    space: &S,
    sums: &(impl Sums<S> + ?Sized),
    count: usize,
    partials: &Array<S, f64>,
    slot: usize,
    scalars: &mut Array<S, f64>,
) -> Result<f64> {
    space.sum_partials(count, partials, slot, scalars)?;
    sums.sum(space, scalars, slot)?;
    let mut values = [0.0; PQ + 1];
    space.read(scalars, &mut values)?;
    Ok(values[slot])
}

fn finite(quantity: &'static str, value: f64, iteration: usize) -> Result<()> {
    if value.is_finite() { Ok(()) } else { Err(Error::NotFinite { method: "CG", quantity, value, iteration }) }
}
