//! The conjugate gradient method (Hestenes and Stiefel 1952) in three fused steps an iteration.
//!
//! Memory traffic of an iteration, n unknowns of 27 entries a row: product and p.q 12 nnz + 8 row offsets + 16 n; step
//! (x, r, r.r) 48 n; direction 24 n. With nnz = 27 n that is 420 bytes an unknown; 64 flops. Two sums over all ranks.

use crate::blas::cg_slot::{COUNT, LEN, PQ, RHS, RR, STATE, TARGET};
use crate::blas::{Blas, CgState};
use crate::space::Array;
use crate::{Error, Result};
use std::collections::VecDeque;

/// A symmetric positive definite matrix, as CG sees it.
pub trait LinearOperator<S: Blas> {
    /// Unknowns that this rank owns.
    fn rows(&self) -> usize;

    /// Length of a vector that the operator is applied to: owned and ghost unknowns.
    fn columns(&self) -> usize;

    /// q = A p over the owned rows, `scalars[slot]` = p.q. Refreshes the ghosts of p on the way. Does nothing once the state
    /// in `scalars` is set.
    ///
    /// # Errors
    /// [`Error::Shape`] for short vectors; a device's failure.
    fn apply_dot(
        &mut self,
        space: &S,
        p: &mut Array<S, f64>,
        q: &mut Array<S, f64>,
        partials: &mut Array<S, f64>,
        slot: usize,
        scalars: &mut Array<S, f64>,
    ) -> Result<()>;

    /// Does all iterations at once, from r, p = r and the scalars before the first to the scalars after the last, and says
    /// so; or does nothing. For small problems on a device, where launching kernels takes longer than running them.
    ///
    /// # Errors
    /// As [`apply_dot`](Self::apply_dot).
    fn iterate(
        &mut self,
        _space: &S,
        _x: &mut Array<S, f64>,
        _r: &mut Array<S, f64>,
        _scalars: &mut Array<S, f64>,
    ) -> Result<bool> {
        Ok(false)
    }
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
            scalars: space.zeros(LEN)?,
        })
    }
}

/// Solves A x = b from the given x; `observe(iteration, ||r||)` is called at each look at the residual: every
/// [`LOOK`](Blas::LOOK) iterations, and at the end.
///
/// Deterministic for a number of ranks, whatever the threads. Iterations are queued ahead of the looks; those that were
/// queued in vain change nothing, so count and x do not depend on when the host looked.
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
    let CgWorkspace { p, q, r, partials, scalars } = work;
    let [rr, _] = RR;

    // ||b||
    space.dot(n, b, b, partials, rr, scalars)?;
    sums.sum(space, scalars, rr)?;
    space.cg_begin(params.tolerance, params.max_iterations, rr, scalars)?;

    // r = b - A x, p = r, rr = r.r
    space.copy(n, x, p)?;
    a.apply_dot(space, p, q, partials, PQ, scalars)?;
    space.axpby(n, 1.0, b, -1.0, q, r)?;
    space.copy(n, r, p)?;
    space.dot(n, r, r, partials, rr, scalars)?;
    sums.sum(space, scalars, rr)?;
    space.cg_check(rr, scalars)?;

    let ahead = if a.iterate(space, x, r, scalars)? { 0 } else { S::AHEAD };
    let mut looks = VecDeque::with_capacity(ahead + 1);
    let (mut recording, mut queued, mut seen) = (S::Recording::default(), 0, 0);
    loop {
        looks.push_back(space.begin_read(scalars)?);
        if looks.len() > ahead
            && let Some(look) = looks.pop_front()
        {
            let scalars = space.finish_read(look)?;
            let (count, residual) = progress(&scalars);
            if count > seen {
                observe(count, residual);
                seen = count;
            }
            if let Some(end) = end(&scalars) {
                return end;
            }
        }
        space.repeat(&mut recording, || {
            for iteration in queued..queued + S::LOOK {
                let [rr, rr_new] = [RR[iteration % 2], RR[(iteration + 1) % 2]];
                // q = A p, pq = p.q
                a.apply_dot(space, p, q, partials, PQ, scalars)?;
                sums.sum(space, scalars, PQ)?;
                // alpha = rr / pq; x += alpha p; r -= alpha q; rr_new = r.r
                space.cg_step(n, rr, rr_new, p, q, x, r, partials, scalars)?;
                sums.sum(space, scalars, rr_new)?;
                // beta = rr_new / rr; p = r + beta p
                space.cg_direction(n, rr_new, rr, r, p, scalars)?;
            }
            Ok(())
        })?;
        queued += S::LOOK;
    }
}

/// Iterations done and ||r||.
fn progress(scalars: &[f64; LEN]) -> (usize, f64) {
    let count = scalars[COUNT] as usize;
    (count, scalars[RR[count % 2]].sqrt())
}

/// What the state means, once it is set.
fn end(scalars: &[f64; LEN]) -> Option<Result<CgInfo>> {
    let (iterations, residual) = progress(scalars);
    let (rhs, curvature) = (scalars[RHS], scalars[PQ]);
    let not_finite = |quantity, value, iteration| Error::NotFinite { method: "CG", quantity, value, iteration };
    Some(match CgState::of(scalars[STATE]) {
        CgState::Running => return None,
        CgState::Converged => Ok(CgInfo { iterations, residual, rhs }),
        CgState::LimitReached => {
            Err(Error::NotConverged { method: "CG", iterations, residual, tolerance: scalars[TARGET] })
        }
        CgState::Breakdown => Err(Error::Breakdown { iteration: iterations, curvature, residual }),
        CgState::NotFinite if !rhs.is_finite() => Err(not_finite("||b||", rhs, 0)),
        CgState::NotFinite if !residual.is_finite() => Err(not_finite("||r||", residual, iterations.saturating_sub(1))),
        CgState::NotFinite => Err(not_finite("p.Ap", curvature, iterations)),
    })
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
