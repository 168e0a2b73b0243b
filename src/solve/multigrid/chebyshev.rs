//! Chebyshev's iteration for D^-1 A.
//!
//! ```text
//! theta = (upper + lower) / 2,  delta = (upper - lower) / 2,  sigma = theta / delta,  rho = 1 / sigma
//! d = D^-1 (b - A x) / theta,                                        x += d
//! rho' = 1 / (2 sigma - rho),  d = rho' rho d + 2 rho' / delta D^-1 (b - A x),  x += d
//! ```
//! (Saad, Iterative methods for sparse linear systems, 2003, algorithm 12.1.) Each step is a product and one pass over the vectors.

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
    /// Suits aggregates, which are three nodes long.
    pub const FOR_AGGREGATES: Self = Smoothing { degree: 2, ratio: 10.0 };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The estimate is a lower bound: an eigenvalue a few per cent above it must not grow.
    #[test]
    fn the_interval_reaches_beyond_the_estimate() {
        let Chebyshev { interval: [low, high], degree } = Chebyshev::below(2.0, Smoothing::FOR_CYCLES);
        assert!((low - 0.55).abs() < 1e-15 && (high - 2.2).abs() < 1e-15 && degree == 2);
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
