//! Types that the values of a matrix may have: the assembled f64, or those rounded to f32. Sums are f64 for both.

use super::CrsMatrix;
use crate::space::{Item, prefetch};
use std::ops::Range;

/// Rows of a slice on a host.
pub(super) const SLICE: usize = 32;

/// Distance of the software prefetch of values and columns, in entries. The hardware prefetcher stops at page boundaries.
const PREFETCH_DISTANCE: usize = 512;

/// Independent sums per row, so that an addition need not wait for the one before. (One sum keeps a Zen 3 core at
/// 0.75 of its triad bandwidth, four bring it to 1.1.)
const WAYS: usize = 4;

/// A type of stored values. The loops over the rows of a block are compiled with this library for each type, so that a program built
/// without optimisation runs them as fast as the profile of the library says.
pub trait StoredValue: Item + Into<f64> {
    /// Relative spacing of the numbers where they are rounded, 0 where they are not.
    const EPSILON: f64;

    /// Name of the type in kernel names.
    #[doc(hidden)]
    const NAME: &'static str;
    /// Kernels of products in CRS, by [`Lanes`](super::Lanes): A x; A x with x.y; the latter during a halo exchange.
    #[doc(hidden)]
    const IN_CRS: [[&'static str; 3]; 6];
    /// The same in slices: pattern and symmetric.
    #[doc(hidden)]
    const IN_SLICES: [[&'static str; 3]; 2];

    /// The nearest number of this type.
    fn rounded(value: f64) -> Self;

    /// Whether a rounded value has full precision: neither overflow nor underflow. Infinity and NaN stay what they are.
    fn holds(value: f64, rounded: Self) -> bool;

    /// y = A x over the rows from `first` on, one for each item of y.
    #[doc(hidden)]
    fn rows(a: &CrsMatrix<Self>, first: usize, x: &[f64], y: &mut [f64]);

    /// y = A x over the rows from `first` on; returns their share of x.y.
    #[doc(hidden)]
    fn rows_dot(a: &CrsMatrix<Self>, first: usize, x: &[f64], y: &mut [f64]) -> f64;

    /// The first `split` items of `one` and the others of `two`. By bits, since the compiler turns a choice of items into gathers.
    #[doc(hidden)]
    fn joined(one: &[Self; SLICE], two: &[Self; SLICE], split: usize) -> [Self; SLICE];
}

/// The kernels of products, by the beginnings and ends of their names.
macro_rules! products {
    ($name:literal, $($storage:literal $end:literal),*) => {
        [$([
            concat!($storage, "_", $name, $end),
            concat!($storage, "_dot_", $name, $end),
            concat!($storage, "_dot_exchanging_", $name, $end),
        ]),*]
    };
}

macro_rules! stored_value {
    ($value:ty, $name:literal, $bits:ty, $epsilon:expr) => {
        impl StoredValue for $value {
            const EPSILON: f64 = $epsilon;
            const NAME: &'static str = $name;
            const IN_CRS: [[&'static str; 3]; 6] =
                products!($name, "spmv" "_1", "spmv" "_2", "spmv" "_4", "spmv" "_8", "spmv" "_16", "spmv" "_32");
            const IN_SLICES: [[&'static str; 3]; 2] = products!($name, "pattern" "", "symmetric" "");

            #[inline(always)]
            fn rounded(value: f64) -> Self {
                value as $value
            }

            #[inline(always)]
            fn holds(value: f64, rounded: Self) -> bool {
                Self::EPSILON == 0.0 || rounded.is_normal() || value == 0.0 || !value.is_finite()
            }

            #[inline(never)]
            fn rows(a: &CrsMatrix<Self>, first: usize, x: &[f64], y: &mut [f64]) {
                multiply(a, first, x, y.len(), |i, sum| y[i] = sum);
            }

            #[inline(never)]
            fn rows_dot(a: &CrsMatrix<Self>, first: usize, x: &[f64], y: &mut [f64]) -> f64 {
                let mut dot = 0.0;
                multiply(a, first, x, y.len(), |i, sum| {
                    y[i] = sum;
                    dot += sum * x[first + i];
                });
                dot
            }

            #[inline(always)]
            fn joined(one: &[Self; SLICE], two: &[Self; SLICE], split: usize) -> [Self; SLICE] {
                static MASKS: [$bits; 2 * SLICE] = {
                    let (mut masks, mut i) = ([0; 2 * SLICE], 0);
                    while i < SLICE {
                        masks[i] = <$bits>::MAX;
                        i += 1;
                    }
                    masks
                };
                let masks = &MASKS[SLICE - split..][..SLICE];
                // A loop: a closure would be compiled without the instructions of the caller.
                let mut joined = [0.0; SLICE];
                for i in 0..SLICE {
                    joined[i] = Self::from_bits((one[i].to_bits() & masks[i]) | (two[i].to_bits() & !masks[i]));
                }
                joined
            }
        }
    };
}
stored_value!(f64, "f64", u64, 0.0);
stored_value!(f32, "f32", u32, f32::EPSILON as f64);

/// Hands the product of each row `first + i`, `i` in `0..rows`, to `store(i, sum)`.
#[inline(always)]
fn multiply<V: Item + Into<f64>>(
    a: &CrsMatrix<V>,
    first: usize,
    x: &[f64],
    rows: usize,
    mut store: impl FnMut(usize, f64),
) {
    let (entries, values, x) = (a.graph().entries(), a.values(), &x[..a.graph().columns()]);
    let row_map = &a.graph().row_map()[first..=first + rows];
    let mut start = row_map[0] as usize;
    for (i, &end) in row_map[1..].iter().enumerate() {
        let row = start..end as usize;
        fetch_ahead(entries, values, row.clone());
        start = row.end;
        store(i, row_sum(&entries[row.clone()], &values[row], x));
    }
}

/// Prefetches what lies [`PREFETCH_DISTANCE`] behind a row. A cache line holds 8 values in f64 and 16 columns.
#[inline(always)]
pub(super) fn fetch_ahead<V: Item>(entries: &[u32], values: &[V], row: Range<usize>) {
    for at in row.step_by(16) {
        prefetch(values, at + PREFETCH_DISTANCE);
        prefetch(values, at + PREFETCH_DISTANCE + 8);
        prefetch(entries, at + PREFETCH_DISTANCE);
    }
}

/// The product of a row.
#[inline(always)]
pub(super) fn row_sum<V: Item + Into<f64>>(columns: &[u32], values: &[V], x: &[f64]) -> f64 {
    row_sum_of(columns, values, |column| x[column])
}

/// The product of a row with the numbers of its columns.
#[inline(always)]
pub(super) fn row_sum_of<V: Item + Into<f64>>(columns: &[u32], values: &[V], x: impl Fn(usize) -> f64) -> f64 {
    let (columns, last_columns) = columns.as_chunks::<WAYS>();
    let (terms, last_terms) = values.as_chunks::<WAYS>();
    let mut sums = [0.0; WAYS];
    for (columns, terms) in columns.iter().zip(terms) {
        for way in 0..WAYS {
            sums[way] += terms[way].into() * x(columns[way] as usize);
        }
    }
    let rest = last_columns.iter().zip(last_terms).map(|(&column, &value)| value.into() * x(column as usize));
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest.sum::<f64>()
}
