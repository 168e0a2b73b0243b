//! The solution of miniFE's brick: -laplace(u) = 1 in the unit cube, u = 1 at x = 1 and 0 on the other faces.
//!
//! ```text
//! u = sum over odd m, n of  16 / (pi^2 m n) sin(m pi y) sin(n pi z) [ sinh(k x) / sinh(k)
//!                                                                    + (1 - cosh(k (x - 1/2)) / cosh(k / 2)) / k^2 ]
//! k = pi sqrt(m^2 + n^2)
//! ```
//! Each bracket solves the ordinary differential equation that remains when u is expanded in sines of y and z. miniFE's own reference
//! has the first term only, that of -laplace(u) = 0.

use std::f64::consts::PI;

/// Odd numbers up to this one are summed. At the centre the rest is below 1e-7.
const LAST: u32 = 399;

/// Returns u at a point away from x = 1, where the series converges slowly.
pub(super) fn at([x, y, z]: [f64; 3]) -> f64 {
    let odd = || (1..=LAST).step_by(2).map(f64::from);
    let of_pair = |m: f64, n: f64| {
        let k = PI * m.hypot(n);
        // sinh(k x) / sinh(k) and the quotient of cosh without overflow.
        let hot = (k * (x - 1.0)).exp() * (-(-2.0 * k * x).exp_m1()) / -(-2.0 * k).exp_m1();
        let bump = ((k * (x - 1.0)).exp() + (-k * x).exp()) / (1.0 + (-k).exp());
        16.0 / (PI * PI * m * n) * (m * PI * y).sin() * (n * PI * z).sin() * (hot + (1.0 - bump) / (k * k))
    };
    odd().flat_map(|m| odd().map(move |n| (m, n))).map(|(m, n)| of_pair(m, n)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By symmetry the solution of -laplace(u) = 0 is 1/6 at the centre; that of -laplace(u) = 1 is 0.0562128 there.
    #[test]
    fn the_centre_has_the_known_value() {
        let centre = at([0.5; 3]);
        assert!((centre - (1.0 / 6.0 + 0.056_212_8)).abs() < 1e-6, "{centre}");
    }

    #[test]
    fn the_series_solves_the_equation_and_vanishes_on_faces() {
        let (x, h) = ([0.4, 0.55, 0.45], 0.02);
        let laplace: f64 = (0..3)
            .map(|axis| {
                let moved = |step: f64| {
                    let mut x = x;
                    x[axis] += step;
                    at(x)
                };
                (moved(h) - 2.0 * at(x) + moved(-h)) / (h * h)
            })
            .sum();
        assert!((laplace + 1.0).abs() < 0.02, "{laplace}");
        for x in [[0.0, 0.3, 0.4], [0.3, 0.0, 0.4], [0.3, 0.4, 1.0]] {
            assert!(at(x).abs() < 1e-12, "{x:?}: {}", at(x));
        }
    }
}
