//! Vector lanes: one number for each of [`LANES`] elements, as a plain value that fits a vector register.
//!
//! Code generic over [`Number`] runs on `f64` (the reference), on dual numbers (its derivative) and on [`Lanes`] (the
//! fast path, which `multiversion` compiles for the widest vectors of the processor).

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// Elements per batch: the `f64` lanes of an AVX-512 register.
pub const LANES: usize = 8;
/// Lanes per value on processors with half as wide registers: the `f64` lanes of an AVX2 register.
pub const HALF_LANES: usize = LANES / 2;

/// Arithmetic that element code needs of a number type, such as `f64`, [`Lanes`] and dual numbers.
pub trait Number:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Returns `self * factor + term`, rounded once if the type knows that the processor can, otherwise twice.
    #[inline(always)]
    fn times_plus(self, factor: Self, term: Self) -> Self {
        self * factor + term
    }
    /// Square root.
    fn sqrt(self) -> Self;
    /// Exponential.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Sine.
    fn sin(self) -> Self;
    /// Cosine.
    fn cos(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// 1 with the sign of the number, also of a zero.
    fn signum(self) -> Self;
    /// Power by a constant exponent.
    fn powf(self, exponent: f64) -> Self;
    /// The smaller number; the derivative is that of `other` where both are equal.
    fn min(self, other: Self) -> Self;
    /// The larger number; the derivative is that of `self` where both are equal.
    fn max(self, other: Self) -> Self;
    /// `first` where this number is 0 or larger, `second` elsewhere. What is not chosen may be infinite or NaN.
    fn choose(self, first: Self, second: Self) -> Self;
}

/// The functions of a [`Number`] by a macro that applies a function of f64.
macro_rules! functions {
    ($apply:ident: $($name:ident),*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            $apply!(self, $name)
        }
    )*};
}

macro_rules! of_number {
    ($x:ident, $name:ident) => {
        f64::$name($x)
    };
}

macro_rules! of_lanes {
    ($x:ident, $name:ident) => {
        Lanes($x.0.map(f64::$name))
    };
}

impl Number for f64 {
    functions!(of_number: sqrt, exp, ln, sin, cos, tanh, abs, signum);
    #[inline(always)]
    fn powf(self, exponent: f64) -> Self {
        f64::powf(self, exponent)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        f64::min(self, other)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        f64::max(self, other)
    }
    #[inline(always)]
    fn choose(self, first: Self, second: Self) -> Self {
        if self >= 0.0 { first } else { second }
    }
}

/// The scalar types of contractions and [`Lanes`]: `f32` and `f64`, and no others.
pub trait Real:
    super::Item
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Into<f64>
{
    /// Distance from 1 to the next number.
    const EPSILON: f64;
    /// Returns the nearest number.
    fn of(value: f64) -> Self;
    /// Returns arrays to read and one to write by their type. Generic code thereby calls functions that are compiled once per scalar type.
    fn known<'a>(inputs: [&'a [Self]; 2], out: &'a mut [Self]) -> Known<'a>;
    /// Returns `self * factor + term`, rounded once: one instruction on processors that have it, otherwise a slow
    /// library call.
    fn fused(self, factor: Self, term: Self) -> Self;
}

/// Two arrays to read and one to write, of a [`Real`].
#[derive(Debug)]
pub enum Known<'a> {
    /// Of `f32`.
    F32([&'a [f32]; 2], &'a mut [f32]),
    /// Of `f64`.
    F64([&'a [f64]; 2], &'a mut [f64]),
}

macro_rules! real {
    ($($real:ident, $kind:ident;)*) => {$(
        impl Real for $real {
            const EPSILON: f64 = $real::EPSILON as f64;
            fn of(value: f64) -> Self {
                value as $real
            }
            fn known<'a>(inputs: [&'a [Self]; 2], out: &'a mut [Self]) -> Known<'a> {
                Known::$kind(inputs, out)
            }
            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }
        }
    )*};
}
real!(f32, F32; f64, F64;);

/// The array `[T; WIDTH]` with lane-wise arithmetic.
///
/// `FUSED` permits [`mul_add`](Self::mul_add) to use one fused instruction for a product and a sum. Only code that is
/// compiled for a processor with that instruction may set it; elsewhere each one becomes a library call.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
pub struct Lanes<const FUSED: bool, T = f64, const WIDTH: usize = LANES>(pub [T; WIDTH]);

impl<const FUSED: bool, const WIDTH: usize> Lanes<FUSED, f64, WIDTH> {
    /// The value with all lanes zero.
    pub const ZERO: Self = Lanes([0.0; WIDTH]);
}

// The loops below are written without closures. An operation must be inlined whole into code that is compiled for the
// processor's vectors, and LLVM may leave a closure behind as a separate function.
impl<const FUSED: bool, T: Real, const WIDTH: usize> Lanes<FUSED, T, WIDTH> {
    /// Returns the same value in every lane.
    #[inline(always)]
    pub fn splat(value: T) -> Self {
        Lanes([value; WIDTH])
    }

    /// Returns `self * factor + term`.
    #[inline(always)]
    pub fn mul_add(self, factor: Self, term: Self) -> Self {
        let mut out = term;
        for i in 0..WIDTH {
            out.0[i] =
                // A plain product and sum where fused arithmetic would be a library call.
                if FUSED { self.0[i].fused(factor.0[i], term.0[i]) } else { self.0[i] * factor.0[i] + term.0[i] };
        }
        out
    }
}

impl<const FUSED: bool, const WIDTH: usize> Number for Lanes<FUSED, f64, WIDTH> {
    #[inline(always)]
    fn times_plus(self, factor: Self, term: Self) -> Self {
        self.mul_add(factor, term)
    }
    functions!(of_lanes: sqrt, exp, ln, sin, cos, tanh, abs, signum);
    #[inline(always)]
    fn powf(mut self, exponent: f64) -> Self {
        for lane in &mut self.0 {
            *lane = lane.powf(exponent);
        }
        self
    }
    #[inline(always)]
    fn min(mut self, other: Self) -> Self {
        for i in 0..WIDTH {
            self.0[i] = self.0[i].min(other.0[i]);
        }
        self
    }
    #[inline(always)]
    fn max(mut self, other: Self) -> Self {
        for i in 0..WIDTH {
            self.0[i] = self.0[i].max(other.0[i]);
        }
        self
    }
    #[inline(always)]
    fn choose(self, mut first: Self, second: Self) -> Self {
        for i in 0..WIDTH {
            first.0[i] = self.0[i].choose(first.0[i], second.0[i]);
        }
        first
    }
}

impl<const FUSED: bool, const WIDTH: usize> From<f64> for Lanes<FUSED, f64, WIDTH> {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Lanes::splat(value)
    }
}

impl<const FUSED: bool, T: Real, const WIDTH: usize> Neg for Lanes<FUSED, T, WIDTH> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        let mut out = self;
        for lane in &mut out.0 {
            *lane = -*lane;
        }
        out
    }
}

macro_rules! lane_wise {
    ($($op:ident $method:ident $sign:tt),*) => {$(
        impl<const FUSED: bool, T: Real, const WIDTH: usize> $op for Lanes<FUSED, T, WIDTH> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let mut out = self;
                for i in 0..WIDTH {
                    out.0[i] = self.0[i] $sign other.0[i];
                }
                out
            }
        }
    )*};
}
lane_wise!(Add add +, Sub sub -, Mul mul *, Div div /);

impl<const FUSED: bool, T: Real, const WIDTH: usize> AddAssign for Lanes<FUSED, T, WIDTH> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_do_not_mix() {
        let a = Lanes::<false>(std::array::from_fn(|i| i as f64));
        let b = Lanes::splat(2.0);
        assert_eq!((a * b + b - -a / b).0, std::array::from_fn(|i| 2.5 * i as f64 + 2.0));
    }

    #[test]
    fn functions_act_on_each_lane() {
        let a = Lanes::<false>(std::array::from_fn(|i| i as f64 - 3.5));
        let b = Lanes::splat(0.5);
        let each = |f: &dyn Fn(f64) -> f64| a.0.map(f);
        assert_eq!((a.tanh().0, a.abs().0, a.signum().0), (each(&f64::tanh), each(&f64::abs), each(&f64::signum)));
        assert_eq!((a.min(b).0, a.max(b).0), (each(&|x| x.min(0.5)), each(&|x| x.max(0.5))));
        assert_eq!(a.abs().powf(1.5).0, each(&|x| x.abs().powf(1.5)));
        assert_eq!((a - b).choose(a, b * b).0, each(&|x| if x >= 0.5 { x } else { 0.25 }));
        assert_eq!((0.0.choose(1.0, f64::NAN), f64::NAN.choose(f64::INFINITY, 2.0)), (1.0, 2.0));
    }

    #[test]
    fn fused_rounds_once() {
        let a = 1.0 + f64::EPSILON;
        let (unfused, fused) = (Lanes::<false>::splat(a), Lanes::<true>::splat(a));
        assert_eq!(unfused.mul_add(unfused, Lanes::splat(-a * a)).0[3], 0.0);
        assert_eq!(fused.mul_add(fused, Lanes::splat(-a * a)).0[3], f64::EPSILON * f64::EPSILON);
        assert_eq!(a.times_plus(a, -a * a), 0.0);
    }
}
