//! Residual of an element, and its Jacobian times a vector, without the matrix.
//!
//! ```text
//! v -> grad v, v at the points       interpolation, by axes for hex8 and hex27
//! (flux, source)_c                   F: the equation; J v: its derivative in the direction v; one call for all points
//! y = sum_p w det J sum_k g_k (inverse^T flux, source)_k
//! ```
//! Shapes: nodes in the order of [`Interpolation::order`]; `coords [axis][m]`, vectors `[c][m]`. Generic over the number, so that a lane
//! may hold an element. The geometry is computed in every call.

use super::ElementType;
use super::equations::{Equation, Field, Residue, Weak, operations};
use super::geometry::{self, DIM};
use super::interpolation::{AtPoint, Interpolation};
use crate::space::lanes::Number;

/// What is computed of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The residual at `v`.
    Residual,
    /// The Jacobian times `v`, of an equation whose derivative does not depend on the unknowns.
    Linear,
    /// The Jacobian at `u` times `v`.
    Tangent,
}

/// Fields at the points of an element, as working memory: coordinates, v, u.
#[derive(Clone, Debug)]
pub(crate) struct FieldsAtPoints<N, const D: usize, const NP: usize> {
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

/// The fields of an element for any number of points, `[axis][p]` and `[c][p]`.
#[derive(Debug)]
pub(crate) struct Points<'a, N, const D: usize> {
    weights: &'a [f64],
    x: [&'a [AtPoint<N>]; DIM],
    v: [&'a mut [AtPoint<N>]; D],
    u: [&'a [AtPoint<N>]; D],
}

/// Overwrites `out` with a part of an equation on an element, which `at_points` evaluates. `u` is read for [`Part::Tangent`] only.
#[inline(always)]
pub(crate) fn element_vector<N: Number, const D: usize, const NN: usize, const NP: usize>(
    part: Part,
    at_points: impl FnOnce(Points<'_, N, D>),
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
    at_points(Points {
        weights: interpolation.weights(),
        x: at.x.each_ref().map(|field| &field[..]),
        v: at.v.each_mut().map(|field| &mut field[..]),
        u: at.u.each_ref().map(|field| &field[..]),
    });
    // The hidden bound keeps this loop rolled, for the same reason.
    for c in 0..std::hint::black_box(D).min(D) {
        interpolation.collect(&at.v[c], &mut out[c]);
    }
}

/// Overwrites v at the points with w det J (inverse^T flux, source) of a part of an equation.
#[inline(always)]
pub(crate) fn at_points<N: Number, E: Equation<D>, const D: usize>(equation: &E, part: Part, points: Points<'_, N, D>) {
    // No closures over arrays of numbers: LLVM leaves them as calls that copy.
    let Points { weights, x, v, u } = points;
    let count = weights.len();
    let [x0, x1, x2] = x;
    let (x0, x1, x2) = (&x0[..count], &x1[..count], &x2[..count]);
    for p in 0..count {
        let ([a, b, e, x], [f, g, h, y], [i, j, k, z]) = (x0[p], x1[p], x2[p]);
        let (determinant, inverse) = geometry::determinant_inverse(&[[a, b, e], [f, g, h], [i, j, k]]);
        let (at, measure) = ([x, y, z], determinant * N::from(weights[p]));
        let mut of_v = [Field { grad: [N::from(0.0); DIM], value: N::from(0.0) }; D];
        for c in 0..D {
            of_v[c] = field(v[c][p], &inverse);
        }
        let weak: [Weak<N>; D] = match part {
            Part::Residual => equation.weak(at, of_v),
            // The derivative does not read what it is taken at.
            Part::Linear => equation.derivative(at, of_v, of_v),
            Part::Tangent => {
                let mut of_u = of_v;
                for c in 0..D {
                    of_u[c] = field(u[c][p], &inverse);
                }
                equation.derivative(at, of_u, of_v)
            }
        };
        for c in 0..D {
            let along = |b: usize| measure * geometry::dot(inverse[b], weak[c].flux);
            // Not a loop: LLVM would vectorise it by scatters.
            v[c][p] = [along(0), along(1), along(2), measure * weak[c].source];
        }
    }
}

/// Value and physical gradient of a component at a point.
#[inline(always)]
fn field<N: Number>([a, b, e, value]: AtPoint<N>, inverse: &[[N; DIM]; DIM]) -> Field<N> {
    let along = |axis: usize| geometry::dot([inverse[0][axis], inverse[1][axis], inverse[2][axis]], [a, b, e]);
    Field { grad: [along(0), along(1), along(2)], value }
}

/// Returns the operations of [`element_vector`] on an element: those of the equation are counted at one point.
pub(crate) fn product_flops<E: Equation<D>, const D: usize>(equation: &E, part: Part, element: ElementType) -> usize {
    let one = Residue::from(1.0);
    let (x, u) = ([one; DIM], [Field { grad: [one; DIM], value: one }; D]);
    let of_equation = operations(|| match part {
        Part::Residual => equation.weak(x, u),
        Part::Linear | Part::Tangent => equation.derivative(x, u, u),
    });
    let fields = if part == Part::Tangent { 2 * D } else { D };
    let [interpolate, collect] = Interpolation::new(element).flops();
    // The inverse and the measure 43; gradients 15 per field; flux and source times the measure 19 per component.
    let at_point = 43 + 15 * fields + of_equation + 19 * D;
    (DIM + fields) * interpolate + element.points() * at_point + D * collect
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Elasticity, Heat, Jacobian, WithJacobian};
    use crate::element::testing::distorted_hex;
    use crate::element::{BasisTables, ElementType, HEX8_NODES, reference};
    use proptest::prelude::*;

    #[test]
    fn operations_are_those_counted() {
        fn check<E: Equation<D>, const D: usize, const NN: usize, const NP: usize>(equation: &E, element: ElementType) {
            for part in [Part::Residual, Part::Linear, Part::Tangent] {
                let one = Residue::from(1.0);
                let (coords, v) = ([[one; NN]; DIM], [[one; NN]; D]);
                let (mut at, mut out) = (FieldsAtPoints::<Residue, D, NP>::zero(), [[one; NN]; D]);
                let of = Interpolation::new(element);
                let by_points = |points: Points<'_, _, D>| at_points(equation, part, points);
                let counted = operations(|| element_vector(part, by_points, &of, &coords, [&v, &v], &mut at, &mut out));
                assert_eq!(product_flops(equation, part, element), counted, "{element}, {part:?}");
            }
        }
        let elastic = Elasticity { lambda: 1.5, mu: 0.5, force: [1.0; 3] };
        check::<_, 1, 8, 8>(&Heat::new(1.0), ElementType::Hex8);
        check::<_, 1, 27, 27>(&Heat::new(1.0), ElementType::Hex27);
        check::<_, 1, 20, 27>(&Heat::new(1.0), ElementType::Hex20);
        check::<_, 3, 10, 14>(&elastic, ElementType::Tet10);
        check::<_, 3, 8, 8>(&WithJacobian { equation: elastic, jacobian: Jacobian::Ad }, ElementType::Hex8);
    }

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
            let (residual, matrix) = reference(&BasisTables::of(ElementType::Hex8), coords, unknown, &heat).unwrap();
            let tangent = |points: Points<'_, _, 1>| at_points(&heat, Part::Tangent, points);
            element_vector(Part::Tangent, tangent, &of, &by_axis, [&v, &u], &mut at, &mut out);
            for place in 0..8 {
                let m = at_place(place);
                let expected: f64 = (0..8).map(|n| matrix[m][n] * values[n]).sum();
                prop_assert!((out[0][place] - expected).abs() < 1e-12 * (1.0 + expected.abs()));
            }
            let residual_of = |points: Points<'_, _, 1>| at_points(&heat, Part::Residual, points);
            element_vector(Part::Residual, residual_of, &of, &by_axis, [&u, &u], &mut at, &mut out);
            for place in 0..8 {
                let expected = residual[at_place(place)];
                prop_assert!((out[0][place] - expected).abs() < 1e-12 * (1.0 + expected.abs()));
            }
        }
    }
}
