//! The specification: residual and matrix of one element for any scalar equation, summed over the points in plain loops.
//!
//! ```text
//! R_m  += w det J sum_k b_m[k] weak[k]                 b_m = (grad phi_m, phi_m)
//! A_mn += w det J sum_(k,j) b_m[k] slopes[k][j] b_n[j]
//! ```
//! Shapes: `coords [node, axis]`, `unknown [node]` -> (`residual [m]`, `matrix [m, n]`). The matrix is the exact derivative of the
//! residual with respect to the unknowns; the tests confirm it by automatic differentiation of the residual.

use super::BasisTables;
use super::equations::{Equation, Field};
use super::geometry::{self, DIM};
use crate::space::lanes::Number;
use crate::{Error, Result};

/// Returns the residual and the matrix of an element of three dimensions by the tables of its type, which has `NN` nodes.
///
/// # Errors
/// [`Error::Invalid`] for tables of another number of nodes or dimensions.
pub fn reference<N: Number, E: Equation<1>, const NN: usize>(
    tables: &BasisTables,
    coords: [[N; DIM]; NN],
    unknown: [N; NN],
    equation: &E,
) -> Result<([N; NN], [[N; NN]; NN])> {
    if (tables.element.dim(), tables.nodes) != (DIM, NN) {
        let expected = format!("expected an element of {DIM} dimensions with {NN} nodes");
        return Err(Error::Invalid(format!("reference: the tables are those of {}; {expected}", tables.element)));
    }
    let zero = N::from(0.0);
    let (mut residual, mut matrix) = ([zero; NN], [[zero; NN]; NN]);
    for (p, &weight) in tables.weights.iter().enumerate() {
        let (values, slopes) = (&tables.values[p * NN..][..NN], &tables.gradients[p * NN..][..NN]);
        let (determinant, inverse) = geometry::determinant_inverse(&geometry::jacobian(coords, slopes));
        let gradients: [_; NN] = std::array::from_fn(|m| geometry::transform(&inverse, &slopes[m]));
        let measure = determinant * N::from(weight);
        let (mut x, mut u) = ([zero; DIM], Field { grad: [zero; DIM], value: zero });
        for m in 0..NN {
            let phi = N::from(values[m]);
            u.value = unknown[m].times_plus(phi, u.value);
            for axis in 0..DIM {
                x[axis] = coords[m][axis].times_plus(phi, x[axis]);
                u.grad[axis] = unknown[m].times_plus(gradients[m][axis], u.grad[axis]);
            }
        }
        let ([weak], [[slopes]]) = (equation.weak(x, [u]), equation.slopes(x, [u]));
        for m in 0..NN {
            let phi = N::from(values[m]);
            let load = phi.times_plus(weak.source, geometry::dot(gradients[m], weak.flux));
            residual[m] = measure.times_plus(load, residual[m]);
            for n in 0..NN {
                // The derivatives of flux and source by the unknown at node n.
                let by_node = slopes.map(|[a, b, c, value]| {
                    N::from(values[n]).times_plus(value, geometry::dot([a, b, c], gradients[n]))
                });
                let [a, b, c, source] = by_node;
                let entry = phi.times_plus(source, geometry::dot(gradients[m], [a, b, c]));
                matrix[m][n] = measure.times_plus(entry, matrix[m][n]);
            }
        }
    }
    Ok((residual, matrix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::Heat;
    use crate::element::testing::{CORNERS, determinants, distorted_hex, temperatures};
    use crate::element::{ElementType, HEX8_NODES};
    use nalgebra::SVector;
    use num_dual::{DualSVec64, jacobian};
    use proptest::prelude::*;

    const UNIT: Heat = Heat::new(1.0);

    macro_rules! functions {
        ($($name:ident),*) => {
            impl Number for DualSVec64<HEX8_NODES> {
                $(fn $name(self) -> Self {
                    num_dual::DualNum::$name(&self)
                })*
                fn abs(self) -> Self {
                    if self.re < 0.0 { -self } else { self }
                }
                fn signum(self) -> Self {
                    self.re.signum().into()
                }
                fn powf(self, exponent: f64) -> Self {
                    num_dual::DualNum::powf(&self, exponent)
                }
                fn min(self, other: Self) -> Self {
                    if other.re < self.re { other } else { self }
                }
                fn max(self, other: Self) -> Self {
                    if self.re < other.re { other } else { self }
                }
                fn choose(self, first: Self, second: Self) -> Self {
                    if self.re >= 0.0 { first } else { second }
                }
            }
        };
    }
    functions!(sqrt, exp, ln, sin, cos, tanh);

    fn hex8<N: Number>(
        coords: [[N; DIM]; HEX8_NODES],
        unknown: [N; HEX8_NODES],
        heat: &Heat,
    ) -> ([N; HEX8_NODES], [[N; HEX8_NODES]; HEX8_NODES]) {
        reference(&BasisTables::of(ElementType::Hex8), coords, unknown, heat).unwrap()
    }

    /// Returns the number of axes along which two nodes of a cube differ.
    fn steps(m: usize, n: usize) -> usize {
        (0..DIM).filter(|&d| CORNERS[m][d] != CORNERS[n][d]).count()
    }

    #[test]
    fn the_stiffness_of_a_cube_equals_that_by_hand() {
        let h = 0.25;
        let coords = CORNERS.map(|corner| corner.map(|s| 0.5 * h * s));
        // At T = 0 the matrix is K times that of the Laplacian: 1/3 on the diagonal; 0, -1/12, -1/12 across an edge, a
        // face, the body.
        let (residual, matrix) = hex8(coords, [0.0; HEX8_NODES], &Heat::new(2.0));
        assert_eq!(residual, [0.0; HEX8_NODES]);
        for m in 0..HEX8_NODES {
            for n in 0..HEX8_NODES {
                let expected = 2.0 * h * [1.0 / 3.0, 0.0, -1.0 / 12.0, -1.0 / 12.0][steps(m, n)];
                assert!((matrix[m][n] - expected).abs() < 1e-16, "{m} {n}: {}", matrix[m][n]);
            }
        }
    }

    #[test]
    fn the_residual_of_a_constant_equals_that_by_hand() {
        // T = 3 on the unit cube: no flux, and phi_m T^2 integrates to 9/8 at each node.
        let coords = CORNERS.map(|corner| corner.map(|s| 0.5 * s));
        let (residual, matrix) = hex8(coords, [3.0; HEX8_NODES], &Heat::new(1.7));
        assert!(residual.iter().all(|r| (r - 9.0 / 8.0).abs() < 1e-14), "{residual:?}");
        let mass: f64 = matrix.iter().flatten().sum();
        assert!((mass - 6.0).abs() < 1e-14, "2 T times the volume: {mass}");
    }

    proptest! {
        #[test]
        fn the_matrix_is_the_derivative_of_the_residual(coords in distorted_hex(), t in temperatures(), k in 0.1..5.0f64) {
            let heat = Heat::new(k);
            let (residual, matrix) = hex8(coords, t, &heat);
            let (value, derivative) = jacobian(
                |t| {
                    let dual = coords.map(|x| x.map(DualSVec64::from));
                    SVector::from(hex8(dual, t.into(), &heat).0)
                },
                &SVector::from(t),
            );
            for m in 0..HEX8_NODES {
                prop_assert!((value[m] - residual[m]).abs() < 1e-13);
                for n in 0..HEX8_NODES {
                    prop_assert!((derivative[(m, n)] - matrix[m][n]).abs() < 1e-13 * (1.0 + k));
                }
            }
        }

        #[test]
        fn constants_have_no_flux_and_masses_sum_to_the_volume(coords in distorted_hex()) {
            let stiffness = hex8(coords, [0.0; HEX8_NODES], &UNIT).1;
            for row in stiffness {
                prop_assert!(row.iter().sum::<f64>().abs() < 1e-13);
            }
            // With T = 1/2 the matrix is stiffness + mass.
            let total: f64 = hex8(coords, [0.5; HEX8_NODES], &UNIT).1.iter().flatten().sum();
            let volume: f64 = determinants(coords).iter().sum();
            prop_assert!((total - volume).abs() < 1e-12);
        }

        #[test]
        fn linear_temperatures_pass_the_patch_test(coords in distorted_hex(), slope in prop::array::uniform3(-2.0..2.0f64)) {
            // For linear T, stiffness times T is the boundary flux: the integral of grad phi_m . slope. It is linear in
            // the slope, and its sum weighted by x_a is the volume times slope_a.
            let t = coords.map(|x| geometry::dot(x, slope));
            let stiffness = hex8(coords, [0.0; HEX8_NODES], &UNIT).1;
            let volume: f64 = determinants(coords).iter().sum();
            for a in 0..DIM {
                let moment: f64 = (0..HEX8_NODES)
                    .map(|m| coords[m][a] * (0..HEX8_NODES).map(|n| stiffness[m][n] * t[n]).sum::<f64>())
                    .sum();
                prop_assert!((moment - volume * slope[a]).abs() < 1e-11, "{moment} {}", volume * slope[a]);
            }
        }
    }
}
