//! Chebyshev's iteration for D^-1 A, and the largest eigenvalue that it needs.
//!
//! ```text
//! theta = (upper + lower) / 2,  delta = (upper - lower) / 2,  sigma = theta / delta,  rho = 1 / sigma
//! d = D^-1 (b - A x) / theta,                                        x += d
//! rho' = 1 / (2 sigma - rho),  d = rho' rho d + 2 rho' / delta D^-1 (b - A x),  x += d
//! ```
//! (Saad, Iterative methods for sparse linear systems, 2003, algorithm 12.1.) Each step is a product and one pass over the vectors.

use super::Level;
use crate::blas::{Collective, Reductions};
use crate::comm::Staging;
use crate::space::{MemorySpace, Slice};
use crate::sparse::{Operator, Spmv};
use crate::{Error, Result};

/// Steps of Lanczos' method. The largest eigenvalue then is known to some per cent.
const STEPS: usize = 10;
/// Factor from the estimate of the largest eigenvalue, which is a lower bound, to the upper end of the interval.
const ABOVE: f64 = 1.1;

/// What a smoother is to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothing {
    /// Number of steps.
    pub degree: usize,
    /// Quotient of the ends of the interval of eigenvalues whose errors it damps.
    pub ratio: f64,
}

impl Smoothing {
    /// Suits a level whose coarser one has twice the spacing, which takes the errors of eigenvalues below a quarter.
    pub const FOR_CYCLES: Self = Smoothing { degree: 2, ratio: 4.0 };
    /// Jacobi's preconditioner.
    pub const JACOBI: Self = Smoothing { degree: 1, ratio: 4.0 };
    /// A polynomial of D^-1 A as the whole preconditioner.
    pub const ALONE: Self = Smoothing { degree: 4, ratio: 30.0 };
}

/// Chebyshev's iteration: an interval of eigenvalues of D^-1 A, and the number of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chebyshev {
    /// Ends of the interval on which the error is smallest.
    pub interval: [f64; 2],
    /// Number of steps.
    pub degree: usize,
}

impl Chebyshev {
    /// Damps the errors of eigenvalues down to 1 / `ratio` of the estimated largest one of D^-1 A.
    pub fn below(largest: f64, Smoothing { degree, ratio }: Smoothing) -> Self {
        let upper = ABOVE * largest;
        Chebyshev { interval: [upper / ratio, upper], degree }
    }

    /// Returns the factors of d and of D^-1 (b - A x) in each step.
    pub fn coefficients(&self) -> impl Iterator<Item = [f64; 2]> {
        let [lower, upper] = self.interval;
        let (theta, delta) = ((upper + lower) / 2.0, (upper - lower) / 2.0);
        let sigma = theta / delta;
        let later = std::iter::successors(Some(1.0 / sigma), move |rho| Some(1.0 / (2.0 * sigma - rho)));
        let pairs = later.clone().zip(later.skip(1));
        let steps = pairs.map(move |(rho, next)| [next * rho, 2.0 * next / delta]);
        std::iter::once([0.0, 1.0 / theta]).chain(steps).take(self.degree)
    }
}

/// Estimates the largest eigenvalue of D^-1 A from below by Lanczos' method, from the vector in the level's `x`: the coefficients of CG
/// preconditioned by D give the tridiagonal matrix (Saad 2003, section 6.7.3). All ranks call it together. 10 products, and the host
/// waits for each.
///
/// # Errors
/// [`Error::Invalid`] where A or D is not positive definite; the failure of a device or of communication.
pub(super) fn largest_eigenvalue<S: Staging + Spmv>(
    space: &S,
    comm: &dyn Collective<S>,
    operator: &dyn Operator<S>,
    level: &mut Level<S>,
) -> Result<f64> {
    let n = operator.rows();
    let mut sums = Reductions::new(space, n, 1)?;
    let mut dot = |x: &Slice<S, f64>, y: &Slice<S, f64>| {
        let mut found = [0.0];
        space.dot(n, x, y, &mut sums, 0)?;
        comm.all_reduce(space, &mut sums, 0..1)?;
        space.read(&sums.scalars, &mut found)?;
        let is_positive = found[0] > 0.0 && found[0].is_finite();
        if is_positive || found[0] == 0.0 { Ok(found[0]) } else { Err(not_definite(found[0])) }
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
    Error::Invalid(format!("multigrid: a square norm is {found:e}: expected a symmetric positive definite matrix"))
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

    /// The error of the iteration on an eigenvalue is Chebyshev's polynomial of the interval, scaled to 1 at 0.
    #[test]
    fn steps_reduce_errors_by_chebyshevs_polynomials() {
        for degree in 1..6 {
            let iteration = Chebyshev { interval: [0.5, 2.0], degree };
            let chebyshev = |t: f64| {
                let (mut before, mut now) = (1.0, t);
                (1..degree).for_each(|_| (before, now) = (now, 2.0 * t * now - before));
                now
            };
            for eigenvalue in [0.1, 0.5, 0.7, 1.3, 2.0, 2.1] {
                // x for b = 0 from x = 1.
                let (mut x, mut d) = (1.0, 0.0);
                for [alpha, beta] in iteration.coefficients() {
                    d = alpha * d - beta * eigenvalue * x;
                    x += d;
                }
                let expected = chebyshev((1.25 - eigenvalue) / 0.75) / chebyshev(1.25 / 0.75);
                assert!((x - expected).abs() < 1e-13, "degree {degree}, {eigenvalue}: {x}, {expected}");
            }
        }
    }
}
