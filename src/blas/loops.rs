//! The loops of vector operations over one block of items.
//!
//! None is generic: all are compiled with this library, so that a program built without optimisation runs them as fast as the profile of
//! the library says (docs/interop.md, "Dev builds").

use super::blocks::sum_of;

/// x.y
#[inline(never)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    sum_of(x, |i| x[i] * y[i])
}

/// z = alpha x + beta y
#[inline(never)]
pub(crate) fn axpby(alpha: f64, x: &[f64], beta: f64, y: &[f64], z: &mut [f64]) {
    z.iter_mut().zip(x).zip(y).for_each(|((z, x), y)| *z = alpha * x + beta * y);
}

/// y += alpha x
#[inline(never)]
pub(crate) fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += alpha * x);
}

/// y = x + beta y
#[inline(never)]
pub(crate) fn extend(x: &[f64], beta: f64, y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x + beta * *y);
}
