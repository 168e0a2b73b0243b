//! A number type that counts its operations, for measured flop counts.

use crate::space::lanes::Number;
use std::cell::Cell;
use std::ops::{Add, Div, Mul, Neg, Sub};

thread_local!(static FLOPS: Cell<usize> = const { Cell::new(0) });

/// An `f64` that counts one operation per sum, difference, product and quotient. A sign change is free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted(pub f64);

/// Counts the operation that gave a value.
fn counted(value: f64) -> Counted {
    FLOPS.set(FLOPS.get() + 1);
    Counted(value)
}

macro_rules! counted_functions {
    ($($name:ident),*) => {
        impl Number for Counted {
            fn powf(self, exponent: f64) -> Self {
                counted(self.0.powf(exponent))
            }
            fn min(self, other: Self) -> Self {
                counted(self.0.min(other.0))
            }
            fn max(self, other: Self) -> Self {
                counted(self.0.max(other.0))
            }
            $(fn $name(self) -> Self {
                counted(self.0.$name())
            })*
        }
    };
}
counted_functions!(sqrt, exp, ln, sin, cos, tanh, abs, signum);

impl From<f64> for Counted {
    fn from(value: f64) -> Self {
        Counted(value)
    }
}

impl Neg for Counted {
    type Output = Self;
    fn neg(self) -> Self {
        Counted(-self.0)
    }
}

macro_rules! counted {
    ($($op:ident $method:ident $sign:tt),*) => {$(
        impl $op for Counted {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                counted(self.0 $sign other.0)
            }
        }
    )*};
}
counted!(Add add +, Sub sub -, Mul mul *, Div div /);

/// Returns the operations of `work`.
pub(super) fn count<R>(work: impl FnOnce() -> R) -> usize {
    FLOPS.set(0);
    let _ = work();
    FLOPS.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_costs_are_those_counted() {
        let coords = crate::element::basis::CORNERS.map(|corner| corner.map(Counted));
        let temperature = [Counted(1.5); crate::element::HEX8_NODES];
        let heat = crate::element::equations::Heat::new(2.0);
        let mut matrix = [[Counted(0.0); crate::element::HEX8_NODES]; crate::element::HEX8_NODES];
        let moments = count(|| crate::element::moments(&coords, &temperature, heat, &mut matrix));
        assert_eq!(moments, crate::element::MOMENTS_FLOPS);
    }
}
