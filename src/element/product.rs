//! Residual of an element, and its Jacobian times a vector, without the matrix.
//!
//! ```text
//! v -> grad v, v at the points       interpolation, by axes for hex8 and hex27
//! (flux, source)_c                   F: the equation; J v: its derivative in the direction v
//! y = sum_p w det J sum_k g_k (inverse^T flux, source)_k
//! ```
//! Shapes: nodes in the order of [`Interpolation::order`]; `coords [axis][m]`, vectors `[c][m]`. Generic over the number, so that a lane
//! may hold an element. The geometry is computed in every call.

use super::ElementType;
use super::basis::DIM;
use super::counting::{Counted, count};
use super::equations::{Equation, Field, Weak};
use super::geometry;
use super::interpolation::{AtPoint, Interpolation};
use crate::space::lanes::Number;

/// What is computed of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The residual at `v`.
    Residual,
    /// The Jacobian times `v`, of an equation whose derivative does not depend on the unknowns.
    Linear,
    /// The Jacobian at `u` times `v`.
    Tangent,
}

/// Fields at the points of an element, as working memory: coordinates, v, u.
#[derive(Clone, Debug)]
pub struct FieldsAtPoints<N, const D: usize, const NP: usize> {
    x: [[AtPoint<N>; NP]; DIM],
    v: [[AtPoint<N>; NP]; D],
    u: [[AtPoint<N>; NP]; D],
}

impl<N: Number, const D: usize, const NP: usize> FieldsAtPoints<N, D, NP> {
    /// All zero.
    #[inline(always)]
    pub fn zero() -> Self {
        let field = [[N::from(0.0); 4]; NP];
        FieldsAtPoints { x: [field; DIM], v: [field; D], u: [field; D] }
    }
}

/// Overwrites `out` with a part of an equation on an element. `u` is read for [`Part::Tangent`] only.
#[inline(always)]
pub fn element_vector<N: Number, E: Equation<D>, const D: usize, const NN: usize, const NP: usize>(
    (equation, part): (&E, Part),
    interpolation: &Interpolation,
    coords: &[[N; NN]; DIM],
    [v, u]: [&[[N; NN]; D]; 2],
    at: &mut FieldsAtPoints<N, D, NP>,
    out: &mut [[N; NN]; D],
) {
    let read = if part == Part::Tangent { D } else { 0 };
    let given = coords.iter().zip(&mut at.x).chain(v.iter().zip(&mut at.v)).chain(u[..read].iter().zip(&mut at.u));
    // One loop over all fields: its body is long and is compiled once.
    for (nodal, at) in given {
        interpolation.interpolate(nodal, at);
    }
    for (p, &weight) in interpolation.weights().iter().enumerate().take(NP) {
        let jacobian = [0, 1, 2].map(|axis| [at.x[axis][p][0], at.x[axis][p][1], at.x[axis][p][2]]);
        let x = [at.x[0][p][3], at.x[1][p][3], at.x[2][p][3]];
        let (determinant, inverse) = geometry::determinant_inverse(&jacobian);
        let measure = determinant * N::from(weight);
        let v = fields(&at.v, p, &inverse);
        let weak: [Weak<N>; D] = match part {
            Part::Residual => equation.weak(x, v),
            // The derivative does not read what it is taken at.
            Part::Linear => equation.derivative(x, v, v),
            Part::Tangent => equation.derivative(x, fields(&at.u, p, &inverse), v),
        };
        for c in 0..D {
            let along = |b: usize| measure * geometry::dot(inverse[b], weak[c].flux);
            // Not a loop: LLVM would vectorise it by scatters.
            at.v[c][p] = [along(0), along(1), along(2), measure * weak[c].source];
        }
    }
    // The hidden bound keeps this loop rolled, for the same reason.
    for c in 0..std::hint::black_box(D).min(D) {
        interpolation.collect(&at.v[c], &mut out[c]);
    }
}

/// Values and physical gradients of a field at a point.
#[inline(always)]
fn fields<N: Number, const D: usize, const NP: usize>(
    at: &[[AtPoint<N>; NP]; D],
    p: usize,
    inverse: &[[N; DIM]; DIM],
) -> [Field<N>; D] {
    let mut fields = [Field { grad: [N::from(0.0); DIM], value: N::from(0.0) }; D];
    for c in 0..D {
        let [a, b, e, value] = at[c][p];
        for axis in 0..DIM {
            let column = [inverse[0][axis], inverse[1][axis], inverse[2][axis]];
            fields[c].grad[axis] = geometry::dot(column, [a, b, e]);
        }
        fields[c].value = value;
    }
    fields
}

/// Returns the operations of [`element_vector`] on an element, counted.
pub(crate) fn product_flops<E: Equation<D>, const D: usize>(equation: &E, part: Part, element: ElementType) -> usize {
    match element {
        ElementType::Hex8 => counted::<E, D, 8, 8>(equation, part, element),
        ElementType::Hex20 => counted::<E, D, 20, 27>(equation, part, element),
        ElementType::Hex27 => counted::<E, D, 27, 27>(equation, part, element),
        ElementType::Tet4 => counted::<E, D, 4, 4>(equation, part, element),
        ElementType::Tet10 => counted::<E, D, 10, 14>(equation, part, element),
        ElementType::Wedge6 => counted::<E, D, 6, 6>(equation, part, element),
        ElementType::Tri3 | ElementType::Quad4 => 0,
    }
}

fn counted<E: Equation<D>, const D: usize, const NN: usize, const NP: usize>(
    equation: &E,
    part: Part,
    element: ElementType,
) -> usize {
    let one = Counted(1.0);
    let (coords, v) = ([[one; NN]; DIM], [[one; NN]; D]);
    let (mut at, mut out) = (FieldsAtPoints::<Counted, D, NP>::zero(), [[one; NN]; D]);
    let interpolation = Interpolation::new(element);
    count(|| element_vector((equation, part), &interpolation, &coords, [&v, &v], &mut at, &mut out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::Heat;
    use crate::element::testing::distorted_hex;
    use crate::element::{ElementType, HEX8_NODES, reference};
    use proptest::prelude::*;

    proptest! {
        /// Against the matrix of the reference, which sums over the points in plain loops.
        #[test]
        fn products_are_those_of_the_matrix(coords in distorted_hex(), values in prop::collection::vec(0.5..2.0f64, 16)) {
            let of = Interpolation::new(ElementType::Hex8);
            let at_place = |place: usize| of.order()[place];
            let by_axis: [[f64; 8]; 3] = std::array::from_fn(|a| std::array::from_fn(|m| coords[at_place(m)][a]));
            let [v, u] = [0, 8].map(|first| [std::array::from_fn::<f64, 8, _>(|m| values[first + at_place(m)])]);
            let unknown: [f64; HEX8_NODES] = std::array::from_fn(|m| values[8 + m]);
            let (mut at, mut out) = (FieldsAtPoints::<f64, 1, 8>::zero(), [[f64::NAN; 8]]);
            let heat = Heat::new(1.7);
            let (residual, matrix) = reference(coords, unknown, &heat);
            element_vector((&heat, Part::Tangent), &of, &by_axis, [&v, &u], &mut at, &mut out);
            for place in 0..8 {
                let m = at_place(place);
                let expected: f64 = (0..8).map(|n| matrix[m][n] * values[n]).sum();
                prop_assert!((out[0][place] - expected).abs() < 1e-12 * (1.0 + expected.abs()));
            }
            element_vector((&heat, Part::Residual), &of, &by_axis, [&u, &u], &mut at, &mut out);
            for place in 0..8 {
                let expected = residual[at_place(place)];
                prop_assert!((out[0][place] - expected).abs() < 1e-12 * (1.0 + expected.abs()));
            }
        }
    }
}
