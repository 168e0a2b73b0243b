//! Products of blocks of rows in slices on a host.

use super::host_blocks;
use super::host_rows::Rows;
use super::host_unions::SLICE;
use crate::sparse::StoredValue;
use multiversion::multiversion;

/// Sums of x.y of neighbouring rows that are kept apart.
pub(super) const WAYS: usize = 8;

/// y = A x over the rows from `first` on, a multiple of 32 in slices of single rows: one for each item of y.
// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2", "x86_64+avx2"))]
pub(super) fn multiply<V: StoredValue>(a: Rows<'_, V>, first: usize, x: &[f64], y: &mut [f64]) {
    match a.layout.dofs {
        3 => return host_blocks::multiply::<V, 3>(a, first, x, y),
        2 => return host_blocks::multiply::<V, 2>(a, first, x, y),
        _ => {}
    }
    for (i, y) in y.chunks_mut(SLICE).enumerate() {
        y.copy_from_slice(&a.slice(first / SLICE + i, x)[..y.len()]);
    }
}

/// y = A x over the rows from `first` on, as [`multiply`]; returns their share of x.y.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2", "x86_64+avx2"))]
pub(super) fn multiply_dot<V: StoredValue>(a: Rows<'_, V>, first: usize, x: &[f64], y: &mut [f64]) -> f64 {
    let mut dots = [0.0; WAYS];
    let x_rows = &x[first..first + y.len()];
    if a.layout.dofs > 1 {
        multiply(a, first, x, y);
        add_products(&mut dots, x_rows, y);
    } else {
        for (i, (y, x_rows)) in y.chunks_mut(SLICE).zip(x_rows.chunks(SLICE)).enumerate() {
            let sums = a.slice(first / SLICE + i, x);
            y.copy_from_slice(&sums[..y.len()]);
            add_products(&mut dots, x_rows, &sums[..x_rows.len()]);
        }
    }
    sum_of_ways(dots)
}

/// Adds the products of the items of x and y to the sums of x.y.
#[inline(always)]
pub(super) fn add_products(dots: &mut [f64; WAYS], x: &[f64], y: &[f64]) {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<WAYS>(), y.as_chunks::<WAYS>());
    for (x, y) in x.iter().zip(y) {
        for way in 0..WAYS {
            dots[way] += x[way] * y[way];
        }
    }
    for (dot, (x, y)) in dots.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *dot += x * y;
    }
}

/// The sum of the sums that are kept apart.
#[inline(always)]
pub(super) fn sum_of_ways([a, b, c, d, e, f, g, h]: [f64; WAYS]) -> f64 {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
