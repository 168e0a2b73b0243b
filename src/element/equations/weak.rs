//! Flux and source of an equation at a point, and their derivatives. An equation may read given fields besides its unknowns: coefficients, or
//! unknowns of an earlier time step.

use super::dual::Dual;
use crate::space::lanes::Number;
use std::array;

/// A component of the unknown at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<N> {
    /// Gradient with respect to physical coordinates.
    pub grad: [N; 3],
    /// Value.
    pub value: N,
}

/// Flux and source, tested with grad phi and phi.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weak<N> {
    /// Tested with grad phi.
    pub flux: [N; 3],
    /// Tested with phi.
    pub source: N,
}

/// The derivative of one component's [`Weak`] by another's [`Field`]: `[i][j]` with i over flux x, y, z, source and j over grad x, y, z,
/// value.
pub type Slope<N> = [[N; 4]; 4];

/// An equation of `D` unknowns per node.
pub trait Equation<const D: usize>: Sync {
    /// Returns flux and source of each component at point `x`.
    fn weak<N: Number>(&self, x: [N; 3], u: [Field<N>; D]) -> [Weak<N>; D];

    /// Returns the derivatives of [`weak`](Self::weak), `[c][d]`. By default they are computed by dual numbers.
    #[inline(always)]
    fn slopes<N: Number>(&self, x: [N; 3], u: [Field<N>; D]) -> [[Slope<N>; D]; D] {
        automatic(self, x, u)
    }

    /// Returns the derivative of [`weak`](Self::weak) in the direction of a field `v`: the sum over j of `slopes[c][d][i][j]` times
    /// item j of v_d. An equation that states it by hand saves the products with zeros; operators without a matrix call it at every
    /// point in every application.
    #[inline(always)]
    fn derivative<N: Number>(&self, x: [N; 3], u: [Field<N>; D], v: [Field<N>; D]) -> [Weak<N>; D] {
        along(&self.slopes(x, u), v)
    }
}

/// Returns the product of derivatives and a field.
#[inline(always)]
pub(super) fn along<N: Number, const D: usize>(slopes: &[[Slope<N>; D]; D], v: [Field<N>; D]) -> [Weak<N>; D] {
    array::from_fn(|c| {
        let mut sums = [N::from(0.0); 4];
        for d in 0..D {
            let [a, b, e] = v[d].grad;
            for i in 0..4 {
                let items = [a, b, e, v[d].value];
                for j in 0..4 {
                    sums[i] = slopes[c][d][i][j].times_plus(items[j], sums[i]);
                }
            }
        }
        let [a, b, e, source] = sums;
        Weak { flux: [a, b, e], source }
    })
}

/// Returns the derivatives of an equation at a point by dual numbers, `[c][d]`. The equation is evaluated once per component of the
/// unknown, with its gradient and value as the four variables. Cost: about five times the equation for each component.
#[inline(always)]
pub fn automatic<N: Number, E: Equation<D> + ?Sized, const D: usize>(
    equation: &E,
    x: [N; 3],
    u: [Field<N>; D],
) -> [[Slope<N>; D]; D] {
    automatic_at(&Alone(equation), Point { x, normal: [N::from(0.0); 3], given: [] }, u)
}

/// A quadrature point with the fields that are given there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point<N, const K: usize> {
    /// Coordinates.
    pub x: [N; 3],
    /// Unit normal of an element of the boundary, else 0.
    pub normal: [N; 3],
    /// Value and gradient of each given field; the gradient is 0 for values of elements and points.
    pub given: [Field<N>; K],
}

/// An equation of `D` unknowns per node that reads `K` given fields.
pub trait EquationAt<const D: usize, const K: usize>: Sync {
    /// Returns flux and source of each component at a point.
    fn weak<N: Number>(&self, at: Point<N, K>, u: [Field<N>; D]) -> [Weak<N>; D];

    /// Returns the derivatives of [`weak`](Self::weak) by the unknowns, `[c][d]`. By default they are computed by dual numbers.
    #[inline(always)]
    fn slopes<N: Number>(&self, at: Point<N, K>, u: [Field<N>; D]) -> [[Slope<N>; D]; D] {
        automatic_at(self, at, u)
    }
}

/// An equation without given fields.
pub(crate) struct Alone<'a, E: ?Sized>(pub &'a E);

impl<E: Equation<D> + ?Sized, const D: usize> EquationAt<D, 0> for Alone<'_, E> {
    #[inline(always)]
    fn weak<N: Number>(&self, at: Point<N, 0>, u: [Field<N>; D]) -> [Weak<N>; D] {
        self.0.weak(at.x, u)
    }

    #[inline(always)]
    fn slopes<N: Number>(&self, at: Point<N, 0>, u: [Field<N>; D]) -> [[Slope<N>; D]; D] {
        self.0.slopes(at.x, u)
    }
}

/// Returns the derivatives of an equation at a point by dual numbers, as [`automatic`].
#[inline(always)]
fn automatic_at<N: Number, E: EquationAt<D, K> + ?Sized, const D: usize, const K: usize>(
    equation: &E,
    at: Point<N, K>,
    u: [Field<N>; D],
) -> [[Slope<N>; D]; D] {
    let constant = |field: Field<N>| Field { grad: field.grad.map(Dual::constant), value: Dual::constant(field.value) };
    let mut slopes = [[[[N::from(0.0); 4]; 4]; D]; D];
    let [x, normal] = [at.x, at.normal].map(|of| of.map(Dual::constant));
    let point = Point { x, normal, given: at.given.map(constant) };
    for d in 0..D {
        let mut dual = u.map(constant);
        dual[d] = Field {
            grad: array::from_fn(|axis| Dual::variable(u[d].grad[axis], axis)),
            value: Dual::variable(u[d].value, 3),
        };
        let weak = equation.weak(point, dual);
        for c in 0..D {
            let [x, y, z] = weak[c].flux;
            slopes[c][d] = [x, y, z, weak[c].source].map(|number| number.slopes);
        }
    }
    slopes
}
