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

/// d = alpha d + beta w (b - y), x += d
#[inline(never)]
pub(crate) fn relax(alpha: f64, beta: f64, [w, b, y]: [&[f64]; 3], d: &mut [f64], x: &mut [f64]) {
    d.iter_mut().zip(x).zip(w.iter().zip(b).zip(y)).for_each(|((d, x), ((w, b), y))| {
        *d = alpha * *d + beta * w * (b - y);
        *x += *d;
    });
}

/// x = d = beta w b
#[inline(never)]
pub(crate) fn relax_first(beta: f64, w: &[f64], b: &[f64], d: &mut [f64], x: &mut [f64]) {
    d.iter_mut().zip(x).zip(w.iter().zip(b)).for_each(|((d, x), (w, b))| {
        *d = beta * w * b;
        *x = *d;
    });
}

/// y = x + beta y
#[inline(never)]
pub(crate) fn extend(x: &[f64], beta: f64, y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x + beta * *y);
}
