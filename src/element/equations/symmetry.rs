//! Whether the element matrices of an equation are symmetric, and whether they have terms of values.

use super::residue::Residue;
use super::{Equation, Field, Slope};
use std::array;

/// Returns whether the derivatives of an equation are symmetric, and so its element matrices. They are compared exactly, as expressions
/// (see [`residue`](super::residue)): a term that vanishes at some points counts. Values of a `Number` are not compared, so an equation has no
/// branches on them. An equation that is symmetric by a rule of a function alone counts as not symmetric.
pub(crate) fn is_symmetric<E: Equation<D>, const D: usize>(equation: &E) -> bool {
    let slopes = expressions(equation);
    let mut entries = (0..D * D * 16).map(|k| [k / 16 / D, k / 16 % D, k / 4 % 4, k % 4]);
    entries.all(|[c, d, i, j]| {
        let (slope, transposed) = (slopes[c][d][i][j], slopes[d][c][j][i]);
        slope == transposed
    })
}

/// Returns whether a derivative by a value, or one of a source, is not zero everywhere: otherwise element matrices are products of
/// gradients alone.
pub(crate) fn has_value_terms<E: Equation<D>, const D: usize>(equation: &E) -> bool {
    let slopes = expressions(equation);
    slopes
        .as_flattened()
        .iter()
        .any(|slope| (0..4).any(|k| slope[k][3] != Residue::ZERO || slope[3][k] != Residue::ZERO))
}

/// The derivatives as exact numbers, at a point without a pattern.
fn expressions<E: Equation<D>, const D: usize>(equation: &E) -> [[Slope<Residue>; D]; D] {
    let noise = |k: usize| Residue::noise(k as u64, 7);
    let field = |c: usize| Field { grad: array::from_fn(|a| noise(3 + 4 * c + a)), value: noise(6 + 4 * c) };
    equation.slopes(array::from_fn(noise), array::from_fn(field))
}

/// A point with gradients and values without a pattern; coordinates and values are positive.
#[cfg(feature = "cuda")]
pub(crate) fn sample_point<const D: usize>(sample: usize) -> ([f64; 3], [Field<f64>; D]) {
    let noise = |k: usize| {
        let bits = ((sample * 64 + k + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (bits >> 11) as f64 / (1u64 << 53) as f64
    };
    let field =
        |c: usize| Field { grad: array::from_fn(|a| 2.0 * noise(3 + 4 * c + a) - 1.0), value: 0.5 + noise(6 + 4 * c) };
    (array::from_fn(noise), array::from_fn(field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Elasticity, Heat, Poisson, Weak};
    use crate::space::lanes::Number;

    /// -laplace(u) + c du/dx = 0.
    struct Advection(f64);

    impl Equation<1> for Advection {
        fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            [Weak { flux: u.grad, source: N::from(self.0) * u.grad[0] }]
        }
    }

    /// Two unknowns, the first of which drives the second.
    struct OneWay(f64);

    impl Equation<2> for OneWay {
        fn weak<N: Number>(&self, _: [N; 3], [u, v]: [Field<N>; 2]) -> [Weak<N>; 2] {
            let driven = Weak { flux: v.grad, source: N::from(self.0) * u.value };
            [Weak { flux: u.grad, source: u.value }, driven]
        }
    }

    /// A reaction and a drift within a thousandth of a point: elsewhere they underflow.
    struct Spot(f64);

    impl Equation<1> for Spot {
        fn weak<N: Number>(&self, x: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let from = (x[0] - N::from(0.5)) * N::from(1e3);
            let here = (-(from * from)).exp() * u.value;
            [Weak { flux: [u.grad[0] + N::from(self.0) * here, u.grad[1], u.grad[2]], source: here }]
        }
    }

    #[test]
    fn terms_that_vanish_almost_everywhere_count() {
        assert!(has_value_terms(&Spot(0.0)) && is_symmetric(&Spot(0.0)) && !is_symmetric(&Spot(1e-9)));
    }

    #[test]
    fn symmetric_equations_and_those_of_gradients_are_told_from_others() {
        assert!(is_symmetric(&Heat::new(2.5)) && is_symmetric(&Poisson { load: 3.0 }));
        assert!(is_symmetric(&Elasticity { lambda: 1.0, mu: 0.5, force: [1.0, 2.0, 3.0] }));
        assert!(is_symmetric(&Advection(0.0)) && !is_symmetric(&Advection(1e-3)));
        assert!(is_symmetric(&OneWay(0.0)) && !is_symmetric(&OneWay(1.0)));
        assert!(
            has_value_terms(&Heat::new(2.5)) && has_value_terms(&Advection(1e-3)) && !has_value_terms(&Advection(0.0))
        );
        assert!(!has_value_terms(&Poisson { load: 3.0 }) && has_value_terms(&OneWay(1.0)));
        assert!(!has_value_terms(&Elasticity { lambda: 1.0, mu: 0.5, force: [1.0, 2.0, 3.0] }));
    }
}
