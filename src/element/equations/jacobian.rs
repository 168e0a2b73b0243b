//! Source of an equation's derivatives: stated by hand, or dual numbers of flux and source.

use super::weak::along;
use super::{Equation, Field, Slope, Weak, automatic};
use crate::space::lanes::Number;

crate::space::named_choice! { "Jacobian";
    /// Source of the derivatives of flux and source.
    #[derive(Default)]
    pub enum Jacobian {
        /// [`Equation::slopes`], by hand where the equation has them.
        #[default]
        Analytic = "analytic",
        /// Automatic differentiation: dual numbers of [`Equation::weak`] at the point, see [`automatic`].
        Ad = "ad",
    }
}

/// An equation whose derivatives come from the given source, chosen at run time: element loops are compiled once for both.
///
/// ```
/// use minifenl::element::equations::{Equation, Field, Heat, Jacobian, WithJacobian};
///
/// let at = [Field { grad: [1.0, -2.0, 0.5], value: 3.0 }];
/// let [by_hand, by_duals] =
///     [Jacobian::Analytic, Jacobian::Ad].map(|jacobian| WithJacobian { equation: Heat::new(0.7), jacobian }.slopes([0.0; 3], at));
/// // d flux_x / d grad_x = K and d source / d value = 2 u.
/// assert_eq!((by_duals[0][0][0][0], by_duals[0][0][3][3]), (0.7, 6.0));
/// assert_eq!(by_hand, by_duals);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WithJacobian<E> {
    /// The equation.
    pub equation: E,
    /// Source of its derivatives.
    pub jacobian: Jacobian,
}

impl<E: Equation<D>, const D: usize> Equation<D> for WithJacobian<E> {
    #[inline(always)]
    fn weak<N: Number>(&self, x: [N; 3], u: [Field<N>; D]) -> [Weak<N>; D] {
        self.equation.weak(x, u)
    }

    #[inline(always)]
    fn slopes<N: Number>(&self, x: [N; 3], u: [Field<N>; D]) -> [[Slope<N>; D]; D] {
        match self.jacobian {
            Jacobian::Analytic => self.equation.slopes(x, u),
            Jacobian::Ad => automatic(&self.equation, x, u),
        }
    }

    #[inline(always)]
    fn derivative<N: Number>(&self, x: [N; 3], u: [Field<N>; D], v: [Field<N>; D]) -> [Weak<N>; D] {
        match self.jacobian {
            Jacobian::Analytic => self.equation.derivative(x, u, v),
            Jacobian::Ad => along(&automatic(&self.equation, x, u), v),
        }
    }
}
