//! An equation behind one call per batch of elements: element loops are compiled once for all equations and sources of derivatives.
//!
//! A call evaluates all points of [`WIDTH`] elements, which lie side by side in vector lanes.

use super::given::Given;
use crate::element::equations::{
    Alone, Equation, EquationAt, Field, Model, Point, Scalar, Slope, Slopes, WaveElasticity, WithJacobian,
    depends_on_unknowns, noise_slopes, on_scalar,
};
use crate::element::{ElementType, Part, Points, at_points, product_flops};
use crate::space::lanes::{HALF_LANES, Lanes};
use multiversion::multiversion;
use multiversion::target::{match_target, target_cfg_f};
use std::fmt::{Debug, Formatter, Result};
use std::hint::black_box;

/// Elements of a call.
pub(in crate::fill) const WIDTH: usize = HALF_LANES;
/// A number of each element of a call, as it is kept between loops.
pub(in crate::fill) type Plain = Lanes<false, f64, WIDTH>;

/// Fields at a point, and the equation there with its derivatives, times w det J.
#[derive(Clone, Debug)]
pub(in crate::fill) struct AtPoint<const D: usize> {
    pub x: [Plain; 3],
    /// Unit normal of an element of the boundary, else 0.
    pub normal: [Plain; 3],
    pub u: [Field<Plain>; D],
    /// w det J.
    pub measure: Plain,
    /// Flux and source, `[c][k]`.
    pub weak: [[Plain; 4]; D],
    pub slopes: [[Slope<Plain>; D]; D],
}

impl<const D: usize> AtPoint<D> {
    pub const ZERO: Self = AtPoint {
        x: [Plain::ZERO; 3],
        normal: [Plain::ZERO; 3],
        u: [Field { grad: [Plain::ZERO; 3], value: Plain::ZERO }; D],
        measure: Plain::ZERO,
        weak: [[Plain::ZERO; 4]; D],
        slopes: [[[[Plain::ZERO; 4]; 4]; D]; D],
    };
}

/// Fields at the points of a product by elements, with and without fused products and sums.
pub(in crate::fill) enum AnyPoints<'a, const D: usize> {
    Fused(Points<'a, Lanes<true, f64, WIDTH>, D>),
    Plain(Points<'a, Plain, D>),
}

/// An equation of `D` unknowns per node, whose type is not known.
pub(in crate::fill) trait AnyEquation<const D: usize>: Sync {
    /// Fills flux, source and derivatives of each point from its fields; `given`: gradient and value of given fields, `[point][field]`.
    fn linearise(&self, points: &mut [AtPoint<D>], given: &[[Plain; 4]]);
    /// The given fields.
    fn given(&self) -> &[Given<'_>] {
        &[]
    }
    /// Derivatives of pseudo-random fields, which tell those that are zero and whether element matrices are symmetric.
    fn noise_slopes(&self) -> Slopes<D>;
}

/// An equation whose derivative is applied without a matrix.
pub(in crate::fill) trait AnyProduct<const D: usize>: AnyEquation<D> {
    /// Overwrites v at the points as [`at_points`].
    fn vectors(&self, part: Part, points: AnyPoints<'_, D>);
    /// How its derivative is evaluated, and the operations of a product with an element.
    fn product(&self, element: ElementType) -> (Part, usize);
}

impl<E: Equation<D>, const D: usize> AnyEquation<D> for E {
    fn linearise(&self, points: &mut [AtPoint<D>], _: &[[Plain; 4]]) {
        linearise(&Alone(self), points, &[]);
    }

    fn noise_slopes(&self) -> Slopes<D> {
        noise_slopes(&Alone(self))
    }
}

impl<E: Equation<D>, const D: usize> AnyProduct<D> for E {
    fn vectors(&self, part: Part, points: AnyPoints<'_, D>) {
        vectors(self, part, points);
    }

    fn product(&self, element: ElementType) -> (Part, usize) {
        let part = if depends_on_unknowns(self) { Part::Tangent } else { Part::Linear };
        (part, product_flops(self, part, element))
    }
}

impl<const D: usize> Debug for dyn AnyEquation<D> + '_ {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("equation")
    }
}

impl<const D: usize> Debug for dyn AnyProduct<D> + Send + '_ {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("equation")
    }
}

// Both are compiled by callers, as they need them: without a `Model` no program needs its equations.

/// Returns an equation of one unknown with the derivatives of the model.
#[inline]
pub(in crate::fill) fn scalar(model: &Model, scalar: Scalar) -> Box<dyn AnyProduct<1> + Send> {
    let jacobian = model.jacobian;
    on_scalar!(scalar, equation => Box::new(WithJacobian { equation, jacobian }))
}

/// Returns the equation of three displacements with the derivatives of the model.
#[inline]
pub(in crate::fill) fn elastic(model: &Model, equation: WaveElasticity) -> Box<dyn AnyProduct<3> + Send> {
    Box::new(WithJacobian { equation, jacobian: model.jacobian })
}

// The attributes expand to calls of the versions, each behind a check that the processor has its instructions.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
pub(in crate::fill::host) fn linearise<E: EquationAt<D, K>, const D: usize, const K: usize>(
    equation: &E,
    points: &mut [AtPoint<D>],
    given: &[[Plain; 4]],
) {
    linearise_with::<{ target_cfg_f!(target_feature = "fma") }, E, D, K>(equation, points, given);
}

#[inline(always)]
fn linearise_with<const FUSED: bool, E: EquationAt<D, K>, const D: usize, const K: usize>(
    equation: &E,
    points: &mut [AtPoint<D>],
    all_given: &[[Plain; 4]],
) {
    for (p, point) in points.iter_mut().enumerate() {
        // Hides the next points from LLVM, which would compute several at a time with gathers and scatters.
        let point = black_box(point);
        let number = |plain: Plain| Lanes::<FUSED, f64, WIDTH>(plain.0);
        let (x, measure) = (point.x.map(number), number(point.measure));
        let u = point.u.map(|u| Field { grad: u.grad.map(number), value: number(u.value) });
        let zero = Lanes::<FUSED, f64, WIDTH>::ZERO;
        let mut given = [Field { grad: [zero; 3], value: zero }; K];
        for k in 0..K {
            let [a, b, e, value] = all_given[K * p + k].map(number);
            given[k] = Field { grad: [a, b, e], value };
        }
        let at = Point { x, normal: point.normal.map(number), given };
        let (weak, slopes) = (equation.weak(at, u), equation.slopes(at, u));
        for c in 0..D {
            let [a, b, e] = weak[c].flux;
            // Loops instead of closures, which LLVM may leave as calls.
            for (k, term) in [a, b, e, weak[c].source].into_iter().enumerate() {
                point.weak[c][k] = Lanes((term * measure).0);
            }
            for d in 0..D {
                for k in 0..16 {
                    point.slopes[c][d][k / 4][k % 4] = Lanes((slopes[c][d][k / 4][k % 4] * measure).0);
                }
            }
        }
    }
}

#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn vectors<E: Equation<D>, const D: usize>(equation: &E, part: Part, points: AnyPoints<'_, D>) {
    // Each version is compiled for one kind of points, that of its caller on the same processor.
    match_target! {
        "x86_64+fma" => if let AnyPoints::Fused(points) = points { at_points(equation, part, points) },
        _ => if let AnyPoints::Plain(points) = points { at_points(equation, part, points) },
    }
}
