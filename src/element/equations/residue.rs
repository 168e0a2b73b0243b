//! Numbers modulo the prime 2^61 - 1, in which equations are compared exactly: nothing rounds, and no term that is small at a point is lost.
//! Their operations are counted: one per sum, difference, product, quotient and function. A sign change is free.
//!
//! Sums, products and quotients are those of the field. A function of a number, such as its sine, is a number without a pattern that depends
//! on nothing else. So two expressions that are equal by the rules of arithmetic are equal here, and others differ but for one case in 2^60
//! (Schwartz and Zippel). Rules of the functions, such as that of sin^2 + cos^2, are not known here.

use crate::space::lanes::Number;
use std::cell::Cell;
use std::ops::{Add, Div, Mul, Neg, Sub};

const PRIME: u64 = (1 << 61) - 1;

thread_local!(static OPERATIONS: Cell<usize> = const { Cell::new(0) });

/// Returns the number of operations that `work` does with residues.
pub(crate) fn operations<R>(work: impl FnOnce() -> R) -> usize {
    OPERATIONS.set(0);
    let _ = work();
    OPERATIONS.get()
}

/// A number modulo the prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Residue(u64);

impl Residue {
    pub const ZERO: Residue = Residue(0);

    /// A number without a pattern, not 0, for each pair of numbers.
    pub fn noise(of: u64, tag: u64) -> Self {
        let mut bits = of ^ tag.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
            bits = (bits ^ bits >> 30).wrapping_mul(factor);
        }
        Residue((bits ^ bits >> 31) % (PRIME - 1) + 1)
    }

    /// Counts the operation that gave a number.
    fn counted(self) -> Self {
        OPERATIONS.set(OPERATIONS.get() + 1);
        self
    }

    fn times(self, other: Self) -> Self {
        Residue((u128::from(self.0) * u128::from(other.0) % u128::from(PRIME)) as u64)
    }
}

impl From<f64> for Residue {
    fn from(value: f64) -> Self {
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        if exponent == 0x7ff {
            return Residue::noise(bits, 0);
        }
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        // 2^61 = 1 here, so powers of two repeat.
        let power = (exponent.max(1) - 1075).rem_euclid(61);
        let size = Residue(mantissa).times(Residue(1 << power));
        if value.is_sign_negative() { -size } else { size }
    }
}

impl Add for Residue {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Residue((self.0 + other.0) % PRIME).counted()
    }
}

impl Neg for Residue {
    type Output = Self;
    fn neg(self) -> Self {
        Residue((PRIME - self.0) % PRIME)
    }
}

impl Sub for Residue {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Residue {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        self.times(other).counted()
    }
}

impl Div for Residue {
    type Output = Self;
    /// By Fermat: 1 / b = b^(p - 2). A quotient by 0 is some number.
    fn div(self, other: Self) -> Self {
        if other == Residue::ZERO {
            return Residue::noise(self.0, 1).counted();
        }
        let (mut inverse, mut power, mut exponent) = (Residue(1), other, PRIME - 2);
        while exponent > 0 {
            if exponent & 1 == 1 {
                inverse = inverse.times(power);
            }
            power = power.times(power);
            exponent >>= 1;
        }
        self.times(inverse).counted()
    }
}

/// States functions of one number, each with a tag of its own.
macro_rules! functions {
    ($($name:ident $tag:literal),*) => {$(
        fn $name(self) -> Self {
            Residue::noise(self.0, $tag).counted()
        }
    )*};
}

impl Number for Residue {
    functions!(sqrt 2, exp 3, ln 4, sin 5, cos 6, tanh 8, abs 9, signum 10);
    fn powf(self, exponent: f64) -> Self {
        Residue::noise(self.0 ^ Residue::noise(exponent.to_bits(), 11).0, 11).counted()
    }
    fn min(self, other: Self) -> Self {
        Residue::noise(self.0 ^ Residue::noise(other.0, 12).0, 12).counted()
    }
    fn max(self, other: Self) -> Self {
        Residue::noise(self.0 ^ Residue::noise(other.0, 13).0, 13).counted()
    }
    /// A weighted mean, whose weight depends on the first number only: it is linear in the others, as the choice is.
    fn choose(self, first: Self, second: Self) -> Self {
        let weight = Residue::noise(self.0, 14);
        let others = Residue((PRIME + 1 - weight.0) % PRIME).times(second);
        Residue((weight.times(first).0 + others.0) % PRIME).counted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_that_of_rational_numbers() {
        let of = Residue::from;
        assert_eq!(of(0.75) + of(-2.5), of(-1.75));
        assert_eq!((of(0.0), of(-0.0), of(1.0)), (Residue::ZERO, Residue::ZERO, Residue(1)));
        assert_eq!(of(6.0) / of(-8.0), of(-0.75));
        assert_eq!(of(1e-300) * of(3.0) / of(1e-300), of(3.0));
        // The smallest number and the largest power of two: nothing underflows.
        assert_eq!(of(5e-324) * of(2f64.powi(1023)), of(2f64.powi(-51)));
        assert!(of(1e-200) * of(1e-200) != Residue::ZERO && of(0.5).exp() == of(0.25 + 0.25).exp());
        assert_ne!(of(0.5).sin(), of(0.5).cos());
        let (a, b, c) = (of(0.75), of(-2.5), of(0.1));
        assert_eq!((a.choose(b, b), a.choose(b * c, c * c)), (b, a.choose(b, c) * c));
        assert!(a.choose(b, c) != b && a.choose(b, c) != c && a.choose(b, c) != c.choose(b, a));
        assert_eq!(operations(|| a.choose(b, c)), 1);
    }
}
