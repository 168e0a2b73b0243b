//! The clinic report's serial code (its figures 2.2 to 2.10): plain loops over packed rows, one sum at a time.
//!
//! out[c, l, r] = sum_k left[c, l, k] right[c, r, k], all in the right layout, the products in the order of k. It is
//! what the report's speedups are speedups over; results are held against sums in f64 (`check`).

use super::case::Case;
use minifenl::space::lanes::Real;

/// All cells of `out`.
#[inline(never)]
pub fn contract<T: Real>(case: &Case, left: &[T], right: &[T], out: &mut [T]) {
    let ([fields_left, fields_right], terms) = (case.fields, case.terms());
    for c in 0..case.cells {
        for l in 0..fields_left {
            let a = &left[(c * fields_left + l) * terms..][..terms];
            for r in 0..fields_right {
                let b = &right[(c * fields_right + r) * terms..][..terms];
                let mut sum = T::default();
                for k in 0..terms {
                    sum = sum + a[k] * b[k];
                }
                out[(c * fields_left + l) * fields_right + r] = sum;
            }
        }
    }
}
