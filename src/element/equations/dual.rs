//! Dual numbers of four variables: a + b_1 e_1 + ... + b_4 e_4 with e_i e_j = 0.

use crate::space::lanes::Number;
use std::array;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value and its derivatives by four variables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<N> {
    /// The value.
    pub value: N,
    /// Its derivatives.
    pub slopes: [N; 4],
}

impl<N: Number> Dual<N> {
    /// A number that depends on no variable.
    #[inline(always)]
    pub fn constant(value: N) -> Self {
        Dual { value, slopes: [N::from(0.0); 4] }
    }

    /// Variable `which`.
    #[inline(always)]
    pub fn variable(value: N, which: usize) -> Self {
        let mut variable = Self::constant(value);
        variable.slopes[which] = N::from(1.0);
        variable
    }

    /// f(self) from f and its derivative at the value.
    #[inline(always)]
    fn chain(self, value: N, derivative: N) -> Self {
        Dual { value, slopes: self.slopes.map(|slope| derivative * slope) }
    }

    /// A value with the slopes of `self` where `lead` is 0 or larger, and those of `other` elsewhere.
    // Chosen, not weighted with 0 and 1: 0 times an infinite slope is NaN.
    #[inline(always)]
    fn select(self, other: Self, value: N, lead: N) -> Self {
        Dual { value, slopes: array::from_fn(|i| lead.choose(self.slopes[i], other.slopes[i])) }
    }
}

impl<N: Number> From<f64> for Dual<N> {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Self::constant(N::from(value))
    }
}

impl<N: Number> Add for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Dual { value: self.value + other.value, slopes: array::from_fn(|i| self.slopes[i] + other.slopes[i]) }
    }
}

impl<N: Number> Sub for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Dual { value: self.value - other.value, slopes: array::from_fn(|i| self.slopes[i] - other.slopes[i]) }
    }
}

impl<N: Number> Neg for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Dual { value: -self.value, slopes: self.slopes.map(|slope| -slope) }
    }
}

impl<N: Number> Mul for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let slopes = array::from_fn(|i| self.slopes[i].times_plus(other.value, self.value * other.slopes[i]));
        Dual { value: self.value * other.value, slopes }
    }
}

impl<N: Number> Div for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let reciprocal = N::from(1.0) / other.value;
        let value = self.value * reciprocal;
        Dual { value, slopes: array::from_fn(|i| (self.slopes[i] - value * other.slopes[i]) * reciprocal) }
    }
}

/// States functions of one number f(x), each by its derivative in terms of f and x.
macro_rules! functions {
    ($($name:ident: |$f:ident, $x:ident| $derivative:expr,)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            let ($f, $x) = (self.value.$name(), self.value);
            self.chain($f, $derivative)
        }
    )*};
}

impl<N: Number> Number for Dual<N> {
    functions! {
        sqrt: |root, _x| N::from(0.5) / root,
        exp: |exp, _x| exp,
        ln: |_f, x| N::from(1.0) / x,
        sin: |_f, x| x.cos(),
        cos: |_f, x| -x.sin(),
        tanh: |tanh, _x| N::from(1.0) - tanh * tanh,
        abs: |_f, x| x.signum(),
    }

    #[inline(always)]
    fn signum(self) -> Self {
        Self::constant(self.value.signum())
    }

    #[inline(always)]
    fn powf(self, exponent: f64) -> Self {
        self.chain(self.value.powf(exponent), N::from(exponent) * self.value.powf(exponent - 1.0))
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        let least = self.value.min(other.value);
        other.select(self, least, least - other.value)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        let largest = self.value.max(other.value);
        self.select(other, largest, self.value - largest)
    }

    #[inline(always)]
    fn choose(self, first: Self, second: Self) -> Self {
        first.select(second, self.value.choose(first.value, second.value), self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_of_functions_equal_those_by_hand() {
        let x = Dual::variable(0.7f64, 2);
        let (s, c) = 0.7f64.sin_cos();
        let close = |found: Dual<f64>, value: f64, slope: f64| {
            assert!((found.value - value).abs() < 1e-15 && (found.slopes[2] - slope).abs() < 1e-14, "{found:?}");
            assert_eq!((found.slopes[0], found.slopes[1], found.slopes[3]), (0.0, 0.0, 0.0));
        };
        close(x * x * Dual::from(3.0), 3.0 * 0.49, 6.0 * 0.7);
        close(Dual::from(1.0) / x, 1.0 / 0.7, -1.0 / 0.49);
        close(x.sin() - x, s - 0.7, c - 1.0);
        close(-x.cos(), -c, s);
        close(x.exp() * x.ln(), 0.7f64.exp() * 0.7f64.ln(), 0.7f64.exp() * (0.7f64.ln() + 1.0 / 0.7));
        let half = Dual::from(0.5);
        close(x.tanh(), 0.7f64.tanh(), 1.0 - 0.7f64.tanh().powi(2));
        close((-x).abs() * x.signum(), 0.7, 1.0);
        close(x.powf(1.5), 0.7f64.powf(1.5), 1.5 * 0.7f64.sqrt());
        close(x.max(half) - x.min(half), 0.2, 1.0);
        close(half.max(x) + half.min(x * x), 0.7 + 0.49, 1.0 + 1.4);
        // Equal numbers.
        let same = Dual::from(0.7);
        assert_eq!((x.max(same).slopes[2], same.max(x).slopes[2]), (1.0, 0.0));
        assert_eq!((x.min(same).slopes[2], same.min(x).slopes[2]), (0.0, 1.0));
        close((x - half).choose(x * x, half), 0.49, 1.4);
        close((half - x).choose(half, x * x), 0.49, 1.4);
        close(x.sqrt() + x, 0.7f64.sqrt() + 0.7, 0.5 / 0.7f64.sqrt() + 1.0);
    }

    #[test]
    fn a_number_that_is_not_the_least_or_largest_has_no_effect() {
        let (zero, five) = (Dual::variable(0.0, 2), Dual::variable(5.0, 2));
        // Infinite with an infinite slope, and NaN with a slope of NaN.
        let (infinite, nan) = (Dual::from(1.0) / zero, (-five).sqrt());
        for found in [infinite.min(five), five.min(infinite), zero.ln().max(five), five.max(zero.ln())] {
            assert_eq!(found, five);
        }
        for found in [nan.min(five), five.min(nan), nan.max(five), five.max(nan)] {
            assert_eq!(found, five);
        }
    }
}
