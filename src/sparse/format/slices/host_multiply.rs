//! Products of blocks of rows in slices on a host.

use super::host_blocks;
use super::host_rows::Rows;
use super::host_unions::SLICE;
use super::stored_value::StoredValue;
use multiversion::multiversion;

/// Sums of x.y of neighbouring rows that are kept apart.
const WAYS: usize = 8;

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
        for (x, y) in x_rows.chunks(WAYS).zip(y.chunks(WAYS)) {
            dots.iter_mut().zip(x.iter().zip(y)).for_each(|(dot, (x, y))| *dot += x * y);
        }
    } else {
        for (i, (y, x_rows)) in y.chunks_mut(SLICE).zip(x_rows.chunks(SLICE)).enumerate() {
            let sums = a.slice(first / SLICE + i, x);
            y.copy_from_slice(&sums[..y.len()]);
            for (x, sums) in x_rows.chunks(WAYS).zip(sums.chunks(WAYS)) {
                dots.iter_mut().zip(x.iter().zip(sums)).for_each(|(dot, (x, sum))| *dot += x * sum);
            }
        }
    }
    let [a, b, c, d, e, f, g, h] = dots;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
