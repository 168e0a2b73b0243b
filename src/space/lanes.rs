//! One number for each of [`LANES`] elements: what a vector register holds, as a plain value.
//!
//! Code generic over the number type runs on `f64` (the specification), on dual numbers (its derivative) and on
//! [`Lanes`] (the fast path: compiled for the widest vectors of this processor by `multiversion`).

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// Elements that one batch holds: the width of an AVX-512 register in `f64`.
pub const LANES: usize = 8;

/// Arithmetic that element code needs of its number type; `f64`, [`Lanes`] and dual numbers have it.
pub trait Number:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
}
impl<T> Number for T where
    T: Copy + From<f64> + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T> + Neg<Output = T>
{
}

/// `[f64; LANES]` with lane-wise arithmetic.
///
/// `FUSED` says that products followed by a sum may be one fused instruction in [`mul_add`](Self::mul_add); only code
/// compiled for a processor that has it may set it, else each becomes a library call.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Lanes<const FUSED: bool>(pub [f64; LANES]);

impl<const FUSED: bool> Lanes<FUSED> {
    /// All lanes zero.
    pub const ZERO: Self = Lanes([0.0; LANES]);

    /// `self * factor + term`.
    #[inline(always)]
    pub fn mul_add(self, factor: Self, term: Self) -> Self {
        Lanes(std::array::from_fn(|i| {
            if FUSED { self.0[i].mul_add(factor.0[i], term.0[i]) } else { self.0[i] * factor.0[i] + term.0[i] }
        }))
    }
}

impl<const FUSED: bool> From<f64> for Lanes<FUSED> {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Lanes([value; LANES])
    }
}

impl<const FUSED: bool> Neg for Lanes<FUSED> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Lanes(self.0.map(|x| -x))
    }
}

macro_rules! lane_wise {
    ($($op:ident $method:ident $sign:tt),*) => {$(
        impl<const FUSED: bool> $op for Lanes<FUSED> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Lanes(std::array::from_fn(|i| self.0[i] $sign other.0[i]))
            }
        }
    )*};
}
lane_wise!(Add add +, Sub sub -, Mul mul *, Div div /);

impl<const FUSED: bool> AddAssign for Lanes<FUSED> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<const FUSED: bool> SubAssign for Lanes<FUSED> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
