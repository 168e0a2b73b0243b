//! The equation at a quadrature point: -K laplace(T) + T^2 = 0, in weak form.
//!
//! ```text
//! R_m  += w det J (K grad phi_m . grad T   + phi_m T^2)
//! A_mn += w det J (K grad phi_m . grad phi_n + 2 T phi_m phi_n)
//! ```
//!
//! A = dR/dT, so Newton's method converges quadratically. Shapes: values and temperature `[m]`, gradients `[m, axis]`
//! in physical space, residual `[m]`, matrix `[m, n]`. Source: the fenl functors of Kokkos MiniFENL. Another equation
//! is another file with the same signature.

use super::basis::DIM;
use super::geometry::dot;
use crate::space::lanes::Number;

/// The basis at one quadrature point of an element.
#[derive(Clone, Copy, Debug)]
pub struct BasisAtPoint<'a, N, const NN: usize> {
    /// phi_m, `[m]`.
    pub values: &'a [f64; NN],
    /// Physical gradients of phi_m, `[m, axis]`.
    pub gradients: &'a [[N; DIM]; NN],
    /// w det J.
    pub measure: N,
}

/// Adds the contribution of one quadrature point to an element's residual and matrix.
#[inline(always)]
pub fn add_point<N: Number, const NN: usize>(
    point: BasisAtPoint<'_, N, NN>,
    temperature: &[N; NN],
    conductivity: N,
    residual: &mut [N; NN],
    matrix: &mut [[N; NN]; NN],
) {
    let BasisAtPoint { values, gradients, measure } = point;
    let zero = N::from(0.0);
    // T and grad T at the point.
    let (mut at_point, mut slope) = (zero, [zero; DIM]);
    for m in 0..NN {
        at_point = temperature[m].times_plus(N::from(values[m]), at_point);
        for d in 0..DIM {
            slope[d] = temperature[m].times_plus(gradients[m][d], slope[d]);
        }
    }
    for m in 0..NN {
        let (flux, phi) = (gradients[m].map(|g| conductivity * g), N::from(values[m]));
        residual[m] = measure.times_plus(phi.times_plus(at_point * at_point, dot(flux, slope)), residual[m]);
        for n in 0..NN {
            let mass = N::from(2.0) * at_point * phi * N::from(values[n]);
            matrix[m][n] = measure.times_plus(dot(flux, gradients[n]) + mass, matrix[m][n]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_adds_what_two_functions_give_by_hand() {
        // T = 2 * 0.5 + 4 * 0.25 = 2, grad T = (2, 0, 4), K = 3, w det J = 0.5.
        let (mut residual, mut matrix) = ([1.0, 0.0], [[0.0; 2]; 2]);
        let gradients = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let point = BasisAtPoint { values: &[0.5, 0.25], gradients: &gradients, measure: 0.5 };
        add_point(point, &[2.0, 4.0], 3.0, &mut residual, &mut matrix);
        assert_eq!(residual, [1.0 + 0.5 * (3.0 * 2.0 + 0.5 * 4.0), 0.5 * (3.0 * 4.0 + 0.25 * 4.0)]);
        assert_eq!(matrix, [[0.5 * (3.0 + 1.0), 0.25], [0.25, 0.5 * (3.0 + 0.25)]]);
    }
}
