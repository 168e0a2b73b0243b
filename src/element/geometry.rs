//! The isoparametric map x(xi) = sum_m phi_m(xi) x_m: Jacobian, determinant, inverse, physical gradients.
//!
//! J_ab = dx_a/dxi_b; grad phi = J^-T grad_xi phi. Shapes: J and its inverse `[3, 3]`, gradients `[node, axis]`.
//! An element of fewer dimensions has a Jacobian with columns of 0, which [`complete`] fills. A determinant <= 0 at a point means that the element is folded or inverted there. These functions
//! do not check the sign, because they run once per element and iteration; the mesh checks it once with
//! [`fold`](super::fold).

use crate::space::lanes::Number;

/// Number of space dimensions.
pub const DIM: usize = 3;

/// Returns the Jacobian of the map at a point from the basis' reference gradients.
#[inline(always)]
pub fn jacobian<N: Number>(coords: impl IntoIterator<Item = [N; DIM]>, gradients: &[[f64; DIM]]) -> [[N; DIM]; DIM] {
    let mut jacobian = [[N::from(0.0); DIM]; DIM];
    for (x, gradient) in coords.into_iter().zip(gradients) {
        for a in 0..DIM {
            for b in 0..DIM {
                jacobian[a][b] = x[a].times_plus(N::from(gradient[b]), jacobian[a][b]);
            }
        }
    }
    jacobian
}

/// What an element of fewer than three dimensions is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A mesh of its own dimension, in the first coordinates.
    Domain,
    /// The boundary of a mesh of one dimension more.
    Boundary,
}

/// Fills the columns of 0 of the Jacobian of an element of `dim` dimensions, so that det J is the ratio of lengths or areas and J^-T
/// gives gradients along the element: with unit vectors of the axes in a domain, with the unit normal on a boundary. Returns the
/// normal: t1 x t2 of faces with tangents t1 and t2, t1 x e_z of lines, 0 in a domain.
#[inline(always)]
pub fn complete<N: Number>(jacobian: &mut [[N; DIM]; DIM], dim: usize, place: Place) -> [N; DIM] {
    match place {
        Place::Domain => {
            for axis in dim..DIM {
                jacobian[axis][axis] = N::from(1.0);
            }
            [N::from(0.0); DIM]
        }
        Place::Boundary => {
            if dim == 1 {
                jacobian[2][1] = N::from(1.0);
            }
            let column = |b: usize| [jacobian[0][b], jacobian[1][b], jacobian[2][b]];
            let normal = cross(column(0), column(1));
            let reciprocal = N::from(1.0) / dot(normal, normal).sqrt();
            let normal = normal.map(|item| item * reciprocal);
            for axis in 0..DIM {
                jacobian[axis][2] = normal[axis];
            }
            normal
        }
    }
}

/// Returns the cross product a x b.
#[inline(always)]
pub fn cross<N: Number>(a: [N; DIM], b: [N; DIM]) -> [N; DIM] {
    [
        a[1].times_plus(b[2], -(a[2] * b[1])),
        a[2].times_plus(b[0], -(a[0] * b[2])),
        a[0].times_plus(b[1], -(a[1] * b[0])),
    ]
}

/// Returns the dot product a . b.
#[inline(always)]
pub fn dot<N: Number>(a: [N; DIM], b: [N; DIM]) -> N {
    a[2].times_plus(b[2], a[1].times_plus(b[1], a[0] * b[0]))
}

/// Returns the determinant and the inverse of a Jacobian. The inverse is not finite if the determinant is zero.
#[inline(always)]
pub fn determinant_inverse<N: Number>(jacobian: &[[N; DIM]; DIM]) -> (N, [[N; DIM]; DIM]) {
    let column = |b: usize| [jacobian[0][b], jacobian[1][b], jacobian[2][b]];
    let (u, v, w) = (column(0), column(1), column(2));
    // The rows of the inverse are the cross products of the columns, divided by the determinant.
    let rows = [cross(v, w), cross(w, u), cross(u, v)];
    let determinant = dot(u, rows[0]);
    // One division instead of nine.
    let reciprocal = N::from(1.0) / determinant;
    let mut inverse = rows;
    for row in &mut inverse {
        for item in row {
            *item = *item * reciprocal;
        }
    }
    (determinant, inverse)
}

/// Returns a physical gradient: J^-T times a reference gradient.
#[inline(always)]
pub fn transform<N: Number>(inverse: &[[N; DIM]; DIM], gradient: &[f64; DIM]) -> [N; DIM] {
    // A hidden address keeps LLVM from vectorising over the nodes by scatters.
    let gradient = std::hint::black_box(gradient).map(N::from);
    let along = |a: usize| dot([inverse[0][a], inverse[1][a], inverse[2][a]], gradient);
    [along(0), along(1), along(2)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::testing::{CORNERS, determinants, distorted_hex, min_determinant};
    use crate::element::{BasisTables, ElementType};
    use proptest::prelude::*;

    #[test]
    fn the_map_of_a_brick_equals_that_by_hand() {
        let brick = CORNERS.map(|[x, y, z]| [x, 1.5 * y, 2.0 * z]);
        assert!(determinants(brick).iter().all(|d| (d - 3.0).abs() < 1e-14));
        let (determinant, inverse) =
            determinant_inverse(&jacobian(brick, &BasisTables::of(ElementType::Hex8).gradients[8 * 5..]));
        assert!((determinant - 3.0).abs() < 1e-14);
        let expected = [[1.0, 0.0, 0.0], [0.0, 1.0 / 1.5, 0.0], [0.0, 0.0, 0.5]];
        assert!(inverse.as_flattened().iter().zip(expected.as_flattened()).all(|(i, e)| (i - e).abs() < 1e-15));
    }

    #[test]
    fn a_folded_corner_is_found_at_its_point() {
        let mut coords = CORNERS;
        coords[6] = [-1.0, -1.0, -1.0];
        let (point, least) = min_determinant(coords);
        assert!(point == 7 && least < 0.0, "{point}: {least}");
        coords[0][1] = f64::NAN;
        assert!(min_determinant(coords).1.is_nan());
    }

    proptest! {
        #[test]
        fn inverses_invert_and_gradients_reproduce_coordinates(coords in distorted_hex()) {
            for gradients in BasisTables::of(ElementType::Hex8).gradients.chunks(8) {
                let jacobian = jacobian(coords, gradients);
                let (determinant, inverse) = determinant_inverse(&jacobian);
                prop_assert!(determinant > 0.0);
                for a in 0..DIM {
                    for b in 0..DIM {
                        let product: f64 = (0..DIM).map(|d| inverse[a][d] * jacobian[d][b]).sum();
                        prop_assert!((product - f64::from(u8::from(a == b))).abs() < 1e-13);
                    }
                }
                // Gradients of a basis that represents x_a reproduce it: sum_m x_ma grad phi_m = e_a.
                let physical = gradients.iter().map(|gradient| transform(&inverse, gradient));
                let physical: Vec<_> = physical.collect();
                for a in 0..DIM {
                    for b in 0..DIM {
                        let slope: f64 = coords.iter().zip(&physical).map(|(x, g)| x[a] * g[b]).sum();
                        prop_assert!((slope - f64::from(u8::from(a == b))).abs() < 1e-13);
                    }
                }
            }
        }
    }
}
