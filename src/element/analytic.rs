//! The analytic solution of -K laplace(T) + T^2 = 0 and the error bound.
//!
//! T(z) = (a (z - zmin) + b)^-2 with b = t_min^-1/2, a = (t_max^-1/2 - t_min^-1/2) / Lz, K = 1 / (6 a^2):
//! T'' = 6 a^2 T^2, so K T'' = T^2. It depends on z alone, so no flux leaves the sides.

use super::equations::Heat;

/// The analytic solution for given boundary values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Analytic {
    a: f64,
    b: f64,
    zmin: f64,
    hottest: f64,
}

impl Analytic {
    /// Returns the solution with T = `t_min` at `zmin` and `t_max` at the other end.
    pub fn new(t_min: f64, t_max: f64, zmin: f64, length: f64) -> Self {
        let b = 1.0 / t_min.sqrt();
        Analytic { a: (1.0 / t_max.sqrt() - b) / length, b, zmin, hottest: t_min.max(t_max) }
    }

    /// Returns the equation that it solves.
    pub fn heat(&self) -> Heat {
        Heat::new(1.0 / (6.0 * self.a * self.a))
    }

    /// Returns T(z).
    pub fn at(&self, z: f64) -> f64 {
        (self.a * (z - self.zmin) + self.b).powi(-2)
    }

    /// Returns [a, b] of T(z) = (a z + b)^-2.
    pub fn profile(&self) -> [f64; 2] {
        [self.a, self.b - self.a * self.zmin]
    }

    /// Returns [a, zmin, b] of T(z) = (a (z - zmin) + b)^-2.
    #[cfg(feature = "cuda")]
    pub(crate) fn coefficients(&self) -> [f64; 3] {
        [self.a, self.zmin, self.b]
    }

    /// Returns the error bound of a run, relative to max|T|: max|T''| h^2 / 8 / max|T| = 3/4 (a h)^2 max|T|, since
    /// max|T''| = 6 a^2 max|T|^2.
    ///
    /// It bounds the error of interpolating T on trilinear isoparametric elements: z is trilinear in the reference coordinates
    /// xi, so d^2 T / dxi_i^2 = T'' (dz/dxi_i)^2, and interpolation direction by direction errs by at most the sum of
    /// max|T''| / 8 (dz_i)^2. `h` is the square root of the largest sum of (dz_i)^2, see
    /// [`MeshSpace::spacing`](crate::mesh::MeshSpace::spacing). Squares are of products near 1, so that none overflows alone.
    pub fn error_bound(&self, h: f64) -> f64 {
        0.75 * (self.a * h * self.hottest.sqrt()).powi(2)
    }

    /// Estimates the algebraic error, relative to max|T|, from the residual norm ||F||: ||F|| / (K (pi / length)^2
    /// volume / nodes) / sqrt(nodes) / max|T|.
    ///
    /// The error e solves J e = F, and ||e|| <= ||F|| / lambda with the lowest eigenvalue lambda of J: that of sin(pi z / length),
    /// where -K laplace gives K (pi / length)^2 and a node stands for volume / nodes. The term 2 T of J, which raises lambda, is left
    /// out. ||e|| / sqrt(nodes) is the root mean square of e. Limits: the estimate is of the mean, not of the largest error; it is
    /// too large by up to sqrt(nodes) for a rough F; and too small by the ratio of the mean to the smallest nodal volume on a
    /// graded mesh.
    pub fn algebraic_error(&self, residual: f64, length: f64, volume: f64, nodes: f64) -> f64 {
        let lambda = self.heat().conductivity * (std::f64::consts::PI / length).powi(2) * (volume / nodes);
        residual / lambda / nodes.sqrt() / self.hottest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_problem_has_the_conductivity_by_hand() {
        let exact = Analytic::new(1.0, 2.0, 0.0, 1.0);
        assert!((exact.heat().conductivity - 1.942_809_04).abs() < 1e-8);
        assert!((exact.at(0.0) - 1.0).abs() < 1e-14 && (exact.at(1.0) - 2.0).abs() < 1e-14);
        assert!(
            (Analytic::new(1.0, 2.0, 0.0, 3.0).heat().conductivity / exact.heat().conductivity - 9.0).abs() < 1e-12
        );
    }

    #[test]
    fn the_analytic_solution_solves_the_equation() {
        let (exact, z, h) = (Analytic::new(3.0, 0.5, -1.0, 2.0), 0.25, 1e-4);
        let second = (exact.at(z + h) - 2.0 * exact.at(z) + exact.at(z - h)) / (h * h);
        assert!((exact.heat().conductivity * second - exact.at(z).powi(2)).abs() < 1e-5);
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
    }

    #[test]
    fn the_bound_neither_overflows_nor_underflows_by_itself() {
        let expected = Analytic::new(1.0, 2.0, 0.0, 1.0).error_bound(0.1);
        for scale in [1e-300, 1e-200, 1e200, 1e300] {
            let bound = Analytic::new(scale, 2.0 * scale, 0.0, 1.0).error_bound(0.1);
            assert!((bound / expected - 1.0).abs() < 1e-12, "{scale}: {bound}");
            let bound = Analytic::new(1.0, 2.0, 0.0, scale).error_bound(0.1 * scale);
            assert!((bound / expected - 1.0).abs() < 1e-12, "length {scale}: {bound}");
        }
        assert!(!Analytic::new(5e-324, 1e-323, 0.0, 1.0).error_bound(0.1).is_nan());
    }

    /// The eigenvector of the lowest mode itself: F = lambda V/N e, so the estimate is the root mean square of e.
    #[test]
    fn the_algebraic_error_of_the_lowest_mode_is_exact() {
        let (exact, length, nodes) = (Analytic::new(1.0, 4.0, 0.0, 3.0), 3.0, 1000);
        let e: Vec<f64> = (0..nodes).map(|i| 1e-6 * (std::f64::consts::PI * i as f64 / nodes as f64).sin()).collect();
        let norm = e.iter().map(|e| e * e).sum::<f64>().sqrt();
        let volume = 2.0 * 5.0 * length;
        let lambda = exact.heat().conductivity * (std::f64::consts::PI / length).powi(2) * volume / nodes as f64;
        let estimate = exact.algebraic_error(lambda * norm, length, volume, nodes as f64);
        assert!((estimate / (norm / (nodes as f64).sqrt() / 4.0) - 1.0).abs() < 1e-12);
    }
}
