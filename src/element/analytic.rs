//! The analytic solution of -K laplace(T) + T^2 = 0, and the error bound that a run is verified with.
//!
//! T(z) = (a (z - zmin) + b)^-2 with b = t_min^-1/2, a = (t_max^-1/2 - t_min^-1/2) / Lz, K = 1 / (6 a^2):
//! T'' = 6 a^2 T^2, so K T'' = T^2. It depends on z alone, so no flux leaves the sides.

/// The analytic solution for given boundary values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Analytic {
    a: f64,
    b: f64,
    zmin: f64,
    hottest: f64,
}

impl Analytic {
    /// Returns the solution with T = `t_min` at `zmin` and `t_max` at `zmin + length`, positive and different.
    pub fn new(t_min: f64, t_max: f64, zmin: f64, length: f64) -> Self {
        let b = 1.0 / t_min.sqrt();
        Analytic { a: (1.0 / t_max.sqrt() - b) / length, b, zmin, hottest: t_min.max(t_max) }
    }

    /// Returns K.
    pub fn conductivity(&self) -> f64 {
        1.0 / (6.0 * self.a * self.a)
    }

    /// Returns T(z).
    pub fn at(&self, z: f64) -> f64 {
        (self.a * (z - self.zmin) + self.b).powi(-2)
    }

    /// Returns [a, zmin, b] of T(z) = (a (z - zmin) + b)^-2.
    #[cfg(feature = "cuda")]
    pub(crate) fn coefficients(&self) -> [f64; 3] {
        [self.a, self.zmin, self.b]
    }

    /// Returns the largest relative error of a verified run: h^2/8 max|T''| / max|T|, the bound of linear interpolation of the
    /// exact solution on elements whose longest edge is `h`. max|T''| = 6 a^2 max|T|^2.
    pub fn error_bound(&self, h: f64) -> f64 {
        h * h / 8.0 * 6.0 * self.a * self.a * self.hottest
    }

    /// Returns whether `error_max` (max|T - exact| / max|exact|) is within the bound. A NaN is not.
    pub fn verifies(&self, error_max: f64, h: f64) -> bool {
        error_max <= self.error_bound(h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_problem_has_the_conductivity_by_hand() {
        let exact = Analytic::new(1.0, 2.0, 0.0, 1.0);
        assert!((exact.conductivity() - 1.942_809_04).abs() < 1e-8);
        assert!((exact.at(0.0) - 1.0).abs() < 1e-14 && (exact.at(1.0) - 2.0).abs() < 1e-14);
        assert!((Analytic::new(1.0, 2.0, 0.0, 3.0).conductivity() / exact.conductivity() - 9.0).abs() < 1e-12);
    }

    #[test]
    fn the_analytic_solution_solves_the_equation() {
        let (exact, z, h) = (Analytic::new(3.0, 0.5, -1.0, 2.0), 0.25, 1e-4);
        let second = (exact.at(z + h) - 2.0 * exact.at(z) + exact.at(z - h)) / (h * h);
        assert!((exact.conductivity() * second - exact.at(z).powi(2)).abs() < 1e-5);
    }

    #[test]
    fn the_bound_is_that_of_interpolation() {
        let exact = Analytic::new(1.0, 2.0, 0.0, 1.0);
        let h = 0.1;
        let worst = (0..10)
            .map(|e| f64::from(e) * h)
            .fold(0.0, |worst: f64, z| worst.max((exact.at(z) + exact.at(z + h)) / 2.0 - exact.at(z + h / 2.0)));
        let bound = exact.error_bound(h);
        assert!(worst / 2.0 < bound && worst / 2.0 > 0.8 * bound, "{worst} {bound}");
        assert!(exact.verifies(bound, h) && !exact.verifies(1.01 * bound, h) && !exact.verifies(f64::NAN, h));
    }
}
