//! Equations whose coefficients are given fields, such as one value per element.
//!
//! | equation | dofs | flux | source | given fields, in this order |
//! |---|---|---|---|---|
//! | [`GivenDiffusion`] | 1 | k grad u | -f | k, f |
//! | [`GivenReaction`] | 1 | k grad u | c u - f | k, c, f |
//! | [`GivenHeat`] | 1 | k grad u | u^2 | k |
//! | [`GivenElasticity`] | 3 | lambda tr(eps) I + 2 mu eps | -f | lambda, mu, the components of f |
//!
//! With constant fields they are `Poisson`, `Heat` and `Elasticity` (tested).

use super::{EquationAt, Field, Point, Slope, Weak};
use crate::space::lanes::Number;
use std::array;

crate::space::named_choice! { "equation with given coefficients";
    /// An equation of this module, chosen at run time.
    pub enum GivenEquation {
        /// [`GivenDiffusion`].
        Diffusion = "diffusion",
        /// [`GivenReaction`].
        Reaction = "reaction",
        /// [`GivenHeat`].
        Heat = "heat",
        /// [`GivenElasticity`].
        Elasticity = "elasticity",
    }
}

impl GivenEquation {
    /// Returns the number of unknowns per node.
    pub const fn dofs(self) -> usize {
        match self {
            GivenEquation::Diffusion | GivenEquation::Reaction | GivenEquation::Heat => 1,
            GivenEquation::Elasticity => 3,
        }
    }

    /// Returns whether flux and source depend on u itself, not only on its gradient.
    pub const fn reads_values(self) -> bool {
        matches!(self, GivenEquation::Reaction | GivenEquation::Heat)
    }
}

/// -div(k grad u) = f.
#[derive(Clone, Copy, Debug)]
pub struct GivenDiffusion;

/// -div(k grad u) + c u = f.
#[derive(Clone, Copy, Debug)]
pub struct GivenReaction;

/// -div(k grad u) + u^2 = 0.
#[derive(Clone, Copy, Debug)]
pub struct GivenHeat;

/// Linear elasticity of an isotropic body, three displacements per node.
#[derive(Clone, Copy, Debug)]
pub struct GivenElasticity;

/// Slopes of a flux k grad u and a source whose derivative by u is `source`.
#[inline(always)]
fn diffusion<N: Number>(k: N, source: N) -> [[Slope<N>; 1]; 1] {
    let zero = N::from(0.0);
    [[[[k, zero, zero, zero], [zero, k, zero, zero], [zero, zero, k, zero], [zero, zero, zero, source]]]]
}

impl EquationAt<1, 2> for GivenDiffusion {
    #[inline(always)]
    fn weak<N: Number>(&self, at: Point<N, 2>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
        let [k, f] = at.given.map(|given| given.value);
        [Weak { flux: u.grad.map(|slope| k * slope), source: -f }]
    }

    #[inline(always)]
    fn slopes<N: Number>(&self, at: Point<N, 2>, _: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
        diffusion(at.given[0].value, N::from(0.0))
    }
}

impl EquationAt<1, 3> for GivenReaction {
    #[inline(always)]
    fn weak<N: Number>(&self, at: Point<N, 3>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
        let [k, c, f] = at.given.map(|given| given.value);
        [Weak { flux: u.grad.map(|slope| k * slope), source: c * u.value - f }]
    }

    #[inline(always)]
    fn slopes<N: Number>(&self, at: Point<N, 3>, _: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
        diffusion(at.given[0].value, at.given[1].value)
    }
}

impl EquationAt<1, 1> for GivenHeat {
    #[inline(always)]
    fn weak<N: Number>(&self, at: Point<N, 1>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
        let [k] = at.given.map(|given| given.value);
        [Weak { flux: u.grad.map(|slope| k * slope), source: u.value * u.value }]
    }

    #[inline(always)]
    fn slopes<N: Number>(&self, at: Point<N, 1>, [u]: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
        diffusion(at.given[0].value, u.value + u.value)
    }
}

impl EquationAt<3, 5> for GivenElasticity {
    #[inline(always)]
    fn weak<N: Number>(&self, at: Point<N, 5>, u: [Field<N>; 3]) -> [Weak<N>; 3] {
        let [lambda, mu, force @ ..] = at.given.map(|given| given.value);
        let pressure = lambda * (u[0].grad[0] + u[1].grad[1] + u[2].grad[2]);
        array::from_fn(|c| {
            let mut flux = array::from_fn(|axis| mu * (u[c].grad[axis] + u[axis].grad[c]));
            flux[c] = flux[c] + pressure;
            Weak { flux, source: -force[c] }
        })
    }

    /// d flux_c,a / d grad_d,b = lambda delta_ca delta_db + mu (delta_cd delta_ab + delta_cb delta_ad).
    #[inline(always)]
    fn slopes<N: Number>(&self, at: Point<N, 5>, _: [Field<N>; 3]) -> [[Slope<N>; 3]; 3] {
        let [lambda, mu] = [at.given[0].value, at.given[1].value];
        let mut slopes = [[[[N::from(0.0); 4]; 4]; 3]; 3];
        for c in 0..3 {
            for d in 0..3 {
                slopes[c][d][c][d] = slopes[c][d][c][d] + lambda;
                slopes[c][d][d][c] = slopes[c][d][d][c] + mu;
                slopes[c][c][d][d] = slopes[c][c][d][d] + mu;
            }
        }
        slopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Elasticity, Equation, Heat, Poisson};

    /// Fields with numbers that are all different.
    fn fields<const D: usize>() -> [Field<f64>; D] {
        let at = |c: usize, i: usize| (1.7 * c as f64 + i as f64 + 0.3).sin();
        array::from_fn(|c| Field { grad: array::from_fn(|axis| at(c, axis)), value: at(c, 3) })
    }

    fn numbers<const D: usize>(weak: [Weak<f64>; D], slopes: [[Slope<f64>; D]; D]) -> Vec<f64> {
        let weak = weak.into_iter().flat_map(|weak| weak.flux.into_iter().chain([weak.source]));
        weak.chain(slopes.into_iter().flatten().flatten().flatten()).collect()
    }

    fn check<E: EquationAt<D, K>, F: Equation<D>, const D: usize, const K: usize>(
        of: E,
        given: [f64; K],
        expected: &F,
    ) {
        // Gradients of given fields are not read.
        let given = given.map(|value| Field { grad: [f64::NAN; 3], value });
        let (x, u) = ([0.2, -0.4, 0.9], fields());
        let at = Point { x, normal: [0.0; 3], given };
        let found = numbers(of.weak(at, u), of.slopes(at, u));
        for (found, expected) in found.iter().zip(numbers(expected.weak(x, u), expected.slopes(x, u))) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn constant_fields_give_the_equations_of_constants() {
        check(GivenDiffusion, [1.0, 0.7], &Poisson { load: 0.7 });
        check(GivenReaction, [1.0, 0.0, 0.7], &Poisson { load: 0.7 });
        check(GivenHeat, [1.9], &Heat::new(1.9));
        check(
            GivenElasticity,
            [1.3, 0.6, 0.1, -0.2, 0.5],
            &Elasticity { lambda: 1.3, mu: 0.6, force: [0.1, -0.2, 0.5] },
        );
    }

    /// k, c and their derivatives by hand: u = 2, grad u = (1, 0, -1).
    #[test]
    fn diffusion_is_multiplied_by_k_and_the_value_by_c() {
        let u = [Field { grad: [1.0, 0.0, -1.0], value: 2.0 }];
        let field = |value| Field { grad: [0.0; 3], value };
        let at = Point { x: [0.0; 3], normal: [0.0; 3], given: [3.0, 5.0, 7.0].map(field) };
        assert_eq!(GivenReaction.weak(at, u), [Weak { flux: [3.0, 0.0, -3.0], source: 3.0 }]);
        assert_eq!([0, 1, 2, 3].map(|i| GivenReaction.slopes(at, u)[0][0][i][i]), [3.0, 3.0, 3.0, 5.0]);
        let at = Point { x: [0.0; 3], normal: [0.0; 3], given: [3.0, 7.0].map(field) };
        assert_eq!(GivenDiffusion.weak(at, u), [Weak { flux: [3.0, 0.0, -3.0], source: -7.0 }]);
        assert_eq!([0, 1, 2, 3].map(|i| GivenDiffusion.slopes(at, u)[0][0][i][i]), [3.0, 3.0, 3.0, 0.0]);
    }
}
