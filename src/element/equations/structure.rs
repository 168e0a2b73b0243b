//! Structure of an equation, found before it is evaluated: which derivatives are zero, whether element matrices are symmetric, whether the
//! derivatives depend on the unknowns.
//!
//! Derivatives are compared exactly, as expressions (see [`residue`](super::residue)): a term that vanishes at some points counts. Values of a
//! `Number` are not compared, so an equation has no branches on them. What holds by a rule of a function alone, such as that of
//! sin^2 + cos^2, is taken not to hold; kernels then compute more than they have to.

use super::residue::Residue;
use super::weak::{EquationAt, Point};
use super::{Equation, Field, Slope};
use std::array;

/// Bits of derivatives by a value, or of a source.
const VALUE_TERMS: u16 = 0b1111_1000_1000_1000;

/// Returns, for each pair (c, d) of components, a mask of nonzero derivatives: bit 4 i + j.
pub(crate) fn nonzero<const D: usize>(slopes: &Slopes<D>) -> [[u16; D]; D] {
    let is_nonzero = |value: Residue| u16::from(value != Residue::ZERO);
    let bits = |slope: Slope<Residue>| (0..16).map(|k| is_nonzero(slope[k / 4][k % 4]) << k).sum();
    slopes.map(|of| of.map(bits))
}

/// Returns whether the derivatives of an equation are symmetric, and so its element matrices.
#[cfg(any(test, feature = "cli"))]
pub(crate) fn is_symmetric<E: Equation<D>, const D: usize>(equation: &E) -> bool {
    symmetric_slopes(&noise_slopes(&super::weak::Alone(equation)))
}

/// Returns whether derivatives are symmetric.
pub(crate) fn symmetric_slopes<const D: usize>(slopes: &Slopes<D>) -> bool {
    let mut entries = (0..D * D * 16).map(|k| [k / 16 / D, k / 16 % D, k / 4 % 4, k % 4]);
    entries.all(|[c, d, i, j]| slopes[c][d][i][j] == slopes[d][c][j][i])
}

/// Returns whether a derivative by a value, or of a source, is nonzero somewhere: otherwise element matrices are
/// products of gradients alone.
pub(crate) fn has_value_terms<const D: usize>(nonzero: &[[u16; D]; D]) -> bool {
    nonzero.as_flattened().iter().any(|bits| bits & VALUE_TERMS != 0)
}

/// Returns whether the derivative of an equation depends on the unknowns.
pub fn depends_on_unknowns<E: Equation<D>, const D: usize>(equation: &E) -> bool {
    let along = |point: u64| equation.derivative(place(), fields(point), fields(3));
    along(1) != along(2)
}

/// What is known of the flux of an equation of one unknown; [`UNKNOWN`](Flux::UNKNOWN) for systems.
#[cfg(feature = "cuda")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flux {
    /// Its derivative by the gradient is a multiple of the unit matrix.
    pub isotropic: bool,
    /// It is this derivative times the gradient.
    pub linear: bool,
}

#[cfg(feature = "cuda")]
impl Flux {
    /// Nothing is known.
    pub const UNKNOWN: Flux = Flux { isotropic: false, linear: false };

    /// Classifies the flux of an equation.
    pub fn of<E: Equation<D>, const D: usize>(equation: &E) -> Self {
        let u: [Field<Residue>; D] = fields(1);
        let (weak, slopes) = (equation.weak(place(), u), noise_slopes(&super::weak::Alone(equation)));
        let (&[u], &[weak], [slope]) = (&u[..], &weak[..], slopes.as_flattened()) else { return Flux::UNKNOWN };
        let isotropic = (0..9)
            .map(|k| (k / 3, k % 3))
            .all(|(i, j)| slope[i][j] == if i == j { slope[0][0] } else { Residue::ZERO });
        let times_gradient = |i: usize| (0..3).fold(Residue::ZERO, |sum, j| sum + slope[i][j] * u.grad[j]);
        Flux { isotropic, linear: (0..3).all(|i| weak.flux[i] == times_gradient(i)) }
    }
}

/// Derivatives as exact numbers, `[c][d]`.
pub(crate) type Slopes<const D: usize> = [[Slope<Residue>; D]; D];

/// Returns the derivatives of an equation at a pseudo-random point.
pub(crate) fn noise_slopes<E: EquationAt<D, K>, const D: usize, const K: usize>(equation: &E) -> Slopes<D> {
    equation.slopes(
        Point { x: place(), normal: array::from_fn(|k| Residue::noise(k as u64, 6)), given: fields(4) },
        fields(1),
    )
}

/// Pseudo-random coordinates.
fn place() -> [Residue; 3] {
    array::from_fn(|k| Residue::noise(k as u64, 7))
}

/// Pseudo-random gradients and values, of points 1, 2, ...
fn fields<const D: usize>(point: u64) -> [Field<Residue>; D] {
    let noise = |k: usize| Residue::noise(k as u64, 7 + point);
    array::from_fn(|c| Field { grad: array::from_fn(|a| noise(4 * c + a)), value: noise(4 * c + 3) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Diffusion, Elasticity, Heat, Poisson, Weak};
    use crate::space::lanes::Number;

    /// -laplace(u) + c du/dx = 0.
    struct Advection(f64);

    impl Equation<1> for Advection {
        fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            [Weak { flux: u.grad, source: N::from(self.0) * u.grad[0] }]
        }
    }

    /// Two unknowns u and v: the source of v is a multiple of u, that of u is u.
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

    /// Along x, the conductivity differs by the first number, and grows with the gradient by the second.
    struct Fibres(f64, f64);

    impl Equation<1> for Fibres {
        fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let along = N::from(1.0 + self.0) * u.grad[0] + N::from(self.1) * u.grad[0] * u.grad[0];
            [Weak { flux: [along, u.grad[1], u.grad[2]], source: N::from(0.0) }]
        }
    }

    /// Conducts with |grad u|^2, and at least with the number.
    struct Clamped(f64);

    impl Equation<1> for Clamped {
        fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let [a, b, c] = u.grad;
            let k = (a * a + b * b + c * c).max(N::from(self.0));
            [Weak { flux: u.grad.map(|slope| k * slope), source: N::from(0.0) }]
        }
    }

    fn nonzero_terms<E: Equation<D>, const D: usize>(equation: &E) -> [[u16; D]; D] {
        nonzero(&noise_slopes(&super::super::weak::Alone(equation)))
    }

    fn has_value_terms<E: Equation<D>, const D: usize>(equation: &E) -> bool {
        super::has_value_terms(&nonzero_terms(equation))
    }

    #[test]
    fn terms_that_vanish_almost_everywhere_count() {
        assert!(has_value_terms(&Spot(0.0)) && is_symmetric(&Spot(0.0)) && !is_symmetric(&Spot(1e-9)));
        assert_eq!(nonzero_terms(&Spot(1e-9)), [[0b1000_0100_0010_1001]]);
        assert_eq!(nonzero_terms(&Spot(0.0)), [[0b1000_0100_0010_0001]]);
        assert_eq!(nonzero_terms(&Advection(1e-3)), [[0b0001_0100_0010_0001]]);
        assert!(!depends_on_unknowns(&Spot(1e-9)) && depends_on_unknowns(&Fibres(0.0, 1e-200)));
    }

    #[test]
    fn only_nonlinear_equations_depend_on_their_unknowns() {
        assert!(depends_on_unknowns(&Heat::new(1.0)) && !depends_on_unknowns(&Poisson { load: 1.0 }));
        assert!(!depends_on_unknowns(&Diffusion { direction: [1.0, 0.5, 0.0] }));
        assert!(!depends_on_unknowns(&Elasticity { lambda: 1.0, mu: 0.5, force: [1.0; 3] }));
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn fluxes_are_told_apart() {
        assert_eq!(Flux::of(&Heat::new(2.5)), Flux { isotropic: true, linear: true });
        assert_eq!(Flux::of(&Diffusion { direction: [1.0, 0.5, 0.0] }), Flux { isotropic: true, linear: true });
        assert_eq!(Flux::of(&Fibres(1e-9, 0.0)), Flux { isotropic: false, linear: true });
        assert_eq!(Flux::of(&Fibres(0.0, 1e-200)), Flux { isotropic: false, linear: false });
        assert_eq!(Flux::of(&Spot(1e-200)), Flux { isotropic: true, linear: false });
        assert_eq!(Flux::of(&OneWay(0.0)), Flux::UNKNOWN);
    }

    #[test]
    fn symmetric_equations_and_those_of_gradients_are_told_from_others() {
        assert!(is_symmetric(&Heat::new(2.5)) && is_symmetric(&Poisson { load: 3.0 }));
        assert!(is_symmetric(&Elasticity { lambda: 1.0, mu: 0.5, force: [1.0, 2.0, 3.0] }));
        assert!(is_symmetric(&Advection(0.0)) && !is_symmetric(&Advection(1e-3)));
        assert!(is_symmetric(&Clamped(0.1)) && !has_value_terms(&Clamped(0.1)));
        assert!(is_symmetric(&OneWay(0.0)) && !is_symmetric(&OneWay(1.0)));
        assert!(
            has_value_terms(&Heat::new(2.5)) && has_value_terms(&Advection(1e-3)) && !has_value_terms(&Advection(0.0))
        );
        assert!(!has_value_terms(&Poisson { load: 3.0 }) && has_value_terms(&OneWay(1.0)));
        assert!(!has_value_terms(&Elasticity { lambda: 1.0, mu: 0.5, force: [1.0, 2.0, 3.0] }));
    }
}
