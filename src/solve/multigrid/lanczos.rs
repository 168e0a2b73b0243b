//! The largest eigenvalue of D^-1 A by Lanczos' method.

use super::Level;
use crate::blas::Reductions;
use crate::comm::{Links, Staging, agree};
use crate::space::{MemorySpace, Slice};
use crate::sparse::{Operator, Spmv};
use crate::{Error, Result};

/// Steps. The largest eigenvalue then is known to some per cent.
const STEPS: usize = 10;

/// Estimates the largest eigenvalue of D^-1 A from below by Lanczos' method, from the vector in the level's `x`: the coefficients of CG
/// preconditioned by D give the tridiagonal matrix (Saad 2003, section 6.7.3). All ranks call it together. 10 products, and the host
/// waits for each.
///
/// # Errors
/// [`Error::Invalid`] where A or D is not positive definite; the failure of a device or of communication.
pub(in crate::solve) fn largest_eigenvalue<S: Staging + Spmv, A>(
    space: &S,
    links: &Links<'_, S>,
    operator: &dyn Operator<S>,
    level: &mut Level<S, A>,
) -> Result<f64> {
    let n = operator.rows();
    let mut sums = agree(links.comm(), Reductions::new(space, n, 1))?;
    let mut dot = |x: &Slice<S, f64>, y: &Slice<S, f64>| {
        space.dot(n, x, y, &mut sums, 0)?;
        let [found] = sums.totals(space, links)?;
        let is_positive = found > 0.0 && found.is_finite();
        if is_positive || found == 0.0 { Ok(found) } else { Err(not_definite(found)) }
    };
    // r in b, z in d, p in x, A p in y.
    let Level { inverse, x: p, b: r, d: z, y: q, .. } = level;
    let [p, r, z, q] = [p, r, z, q].map(S::Memory::slice_mut);
    let w = S::Memory::slice(inverse);
    space.copy(n, p, r)?;
    space.relax(n, [0.0, 1.0], w, r, None, z, p)?;
    let mut rz = dot(r, z)?;
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let mut before: Option<[f64; 2]> = None;
    while rz > 0.0 && diagonal.len() < STEPS {
        operator.apply(space, p, q)?;
        let pq = dot(p, q)?;
        if pq == 0.0 {
            break;
        }
        let alpha = rz / pq;
        if let Some([alpha, beta]) = before {
            beside.push(beta.sqrt() / alpha);
        }
        diagonal.push(1.0 / alpha + before.map_or(0.0, |[alpha, beta]| beta / alpha));
        space.axpy(n, -alpha, q, r)?;
        // z = D^-1 r; q is free.
        space.relax(n, [0.0, 1.0], w, r, None, q, z)?;
        let next = dot(r, z)?;
        let beta = next / rz;
        space.axpby(n, beta, p, 1.0, z, q)?;
        space.copy(n, q, p)?;
        (rz, before) = (next, Some([alpha, beta]));
    }
    Ok(largest_of_tridiagonal(&diagonal, &beside))
}

fn not_definite(found: f64) -> Error {
    Error::Invalid(format!(
        "multigrid: the matrix is not positive definite: a square norm with it or its diagonal is {found:e}"
    ))
}

/// Returns the largest eigenvalue of a symmetric tridiagonal matrix by bisection on the signs of its leading minors; 0 for no rows.
fn largest_of_tridiagonal(diagonal: &[f64], beside: &[f64]) -> f64 {
    let off = |i: usize| if i == 0 { 0.0 } else { beside.get(i - 1).copied().unwrap_or(0.0).abs() };
    let bound = |i: usize| diagonal[i] + off(i) + off(i + 1);
    let (mut low, mut high) = (0.0f64, (0..diagonal.len()).map(bound).fold(0.0, f64::max));
    for _ in 0..100 {
        let at = (low + high) / 2.0;
        // All pivots of (at - T) are positive if at lies above the spectrum.
        let mut pivot = 1.0;
        let is_above = (0..diagonal.len()).all(|i| {
            pivot = at - diagonal[i] - if i == 0 { 0.0 } else { off(i).powi(2) / pivot };
            pivot > 0.0
        });
        if is_above { high = at } else { low = at }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_eigenvalue_of_a_second_difference_is_known() {
        for n in [1, 2, 7, 40] {
            let expected = 2.0 + 2.0 * (std::f64::consts::PI / (n as f64 + 1.0)).cos();
            let found = largest_of_tridiagonal(&vec![2.0; n], &vec![-1.0; n - 1]);
            assert!((found / expected - 1.0).abs() < 1e-12, "{n}: {found}, {expected}");
        }
        assert_eq!(largest_of_tridiagonal(&[], &[]), 0.0);
    }

    /// As many steps as unknowns find the largest eigenvalue itself: that of a second difference over its diagonal.
    #[test]
    fn the_estimate_is_exact_for_few_unknowns_and_a_lower_bound_for_many() {
        use crate::comm::Solo;
        use crate::space::Serial;
        use crate::sparse::{CrsGraph, CrsMatrix};
        for n in [1usize, 2, 6, 9, 60] {
            let columns = |row: usize| row.saturating_sub(1)..(row + 2).min(n);
            let mut row_map = vec![0];
            (0..n).for_each(|row| row_map.push(row_map[row] + columns(row).len() as u64));
            let pairs: Vec<(usize, usize)> =
                (0..n).flat_map(|row| columns(row).map(move |column| (row, column))).collect();
            let entries = pairs.iter().map(|pair| pair.1 as u32).collect();
            let values = pairs.iter().map(|(row, column)| if row == column { 4.0 } else { -2.0 }).collect();
            let graph = std::sync::Arc::new(CrsGraph::new(row_map, entries, n).unwrap());
            let a = CrsMatrix::new(graph, values).unwrap();
            let mut level: Level<crate::space::Threads> = Level::new(&Serial, [n, n], None, None).unwrap();
            level.inverse.fill(0.25);
            (0..n).for_each(|at| level.x[at] = ((at * at + 1) as f64).sin());
            let found = largest_eigenvalue(&Serial, &Links::staged(&Solo), &a, &mut level).unwrap();
            let expected = 1.0 + (std::f64::consts::PI / (n as f64 + 1.0)).cos();
            assert!(found <= expected * (1.0 + 1e-12), "{n}: {found}, {expected}");
            assert!(found > expected * if n < 10 { 1.0 - 1e-9 } else { 0.9 }, "{n}: {found}, {expected}");
        }
    }
}
