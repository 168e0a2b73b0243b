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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::{Communicator, Solo};
    use crate::space::{ExecutionSpace, HostSpace, Serial, Threads};
    use crate::sparse::{CrsGraph, CrsMatrix, Spmv};
    use std::sync::Arc;

    /// The second difference of `n` points with `diagonal` on the diagonal.
    fn difference(n: usize, diagonal: f64) -> CrsMatrix {
        let rows = (0..n).map(|i| (i.saturating_sub(1)..n.min(i + 2)).map(|j| j as u32).collect::<Vec<_>>());
        let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
        for (i, columns) in rows.enumerate() {
            values.extend(columns.iter().map(|&j| if j as usize == i { diagonal } else { -1.0 }));
            entries.extend(columns);
            row_map.push(entries.len() as u64);
        }
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, n).unwrap()), values).unwrap()
    }

    fn run<S: HostSpace>(space: &S, a: &CrsMatrix, b: &Vec<f64>, x: &mut Vec<f64>, params: CgParams) -> Result<CgInfo> {
        let n = a.graph().rows();
        let mut work = CgWorkspace::new(space, n, n).unwrap();
        let comm: &dyn Communicator = &Solo;
        let mut seen = 0;
        let mut a = a;
        let info = cg(space, comm, &mut a, b, x, params, &mut work, &mut |iteration, _| {
            seen += 1;
            assert_eq!(iteration, seen);
        });
        if let Ok(info) = info {
            assert_eq!(info.iterations, seen);
        }
        info
    }

    const TIGHT: CgParams = CgParams { tolerance: 1e-12, max_iterations: 1000 };

    #[test]
    fn the_second_difference_of_a_parabola() {
        let n = 50;
        let exact: Vec<f64> = (1..=n).map(|i| (i * (n + 1 - i)) as f64).collect();
        let mut x = vec![0.0; n];
        let info = run(&Serial, &difference(n, 2.0), &vec![2.0; n], &mut x, TIGHT).unwrap();
        assert!(info.iterations <= n && info.residual <= 1e-12 * info.rhs);
        assert!(x.iter().zip(&exact).all(|(x, e)| (x - e).abs() < 1e-9 * e));
        let again = run(&Serial, &difference(n, 2.0), &vec![2.0; n], &mut x, CgParams { tolerance: 1e-8, ..TIGHT });
        assert_eq!(again.unwrap().iterations, 0, "a solution given as the start needs no iteration");
    }

    #[test]
    fn threads_change_no_bit() {
        let n = 3 * Serial::CHUNK + 11;
        let (a, b) = (difference(n, 2.5), (0..n).map(|i| (i as f64).sin()).collect());
        let solve = |threads| {
            let mut x = vec![0.0; n];
            let info = run(&Threads::new(threads).unwrap(), &a, &b, &mut x, TIGHT).unwrap();
            (x, info)
        };
        assert_eq!(solve(1), solve(3));
        let mut x = vec![0.0; n];
        assert_eq!(run(&Serial, &a, &b, &mut x, TIGHT).unwrap(), solve(2).1);
        let mut product = Serial.zeros(n).unwrap();
        Serial.spmv(1.0, &a, &x, 0.0, &mut product).unwrap();
        assert!(product.iter().zip(&b).all(|(p, b): (&f64, &f64)| (p - b).abs() < 1e-9));
    }

    #[test]
    fn nothing_to_do_for_a_zero_right_side() {
        let mut x = vec![0.0; 4];
        assert_eq!(run(&Serial, &difference(4, 2.0), &vec![0.0; 4], &mut x, TIGHT).unwrap(), CgInfo::default());
        assert_eq!(x, [0.0; 4]);
    }

    #[test]
    fn each_failure_is_typed_and_has_its_numbers() {
        let few = CgParams { max_iterations: 3, ..TIGHT };
        let failed =
            |diagonal, b, params| run(&Serial, &difference(20, diagonal), &b, &mut vec![0.0; 20], params).unwrap_err();
        assert!(
            matches!(failed(2.0, vec![1.0; 20], few), Error::NotConverged { iterations: 3, residual, .. } if residual > 0.0)
        );
        assert!(
            matches!(failed(-2.0, vec![1.0; 20], TIGHT), Error::Breakdown { iteration: 0, curvature, .. } if curvature < 0.0)
        );
        assert!(matches!(failed(2.0, vec![f64::NAN; 20], TIGHT), Error::NotFinite { quantity: "||b||", .. }));
        assert!(matches!(failed(f64::NAN, vec![1.0; 20], TIGHT), Error::NotFinite { .. }));
    }
}
