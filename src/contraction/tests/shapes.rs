//! Each of the nine refuses each wrong extent, says which array has which extents, and leaves the output alone.

use super::*;

const SIZES: Sizes = Sizes { cells: 3, fields: [4, 5], points: 6, dims: [3, 2], data_points: 6 };

/// The name of the array, the extents that it has and those that it should have.
type Refusal = (&'static str, Vec<usize>, Vec<usize>);

/// What is refused when index `d` of array `which` is wrong.
///
/// Everything is measured against `left`, or `fields`; the number of fields of an input is measured by `out`.
fn refusal(form: Form, right: &[Vec<usize>; 3], wrong: &[usize], which: usize, d: usize) -> Refusal {
    let [a, b, out] = right;
    let with = |extents: &[usize], at: usize| {
        let mut extents = extents.to_vec();
        extents[at] = wrong[d];
        extents
    };
    match (form, which, d) {
        (_, 2, _) => ("out", wrong.to_vec(), out.clone()),
        (Form::FieldField, _, 1) => ("out", out.clone(), with(out, 1 + which)),
        (Form::DataField, 1, 1) => ("out", out.clone(), with(out, 1)),
        (Form::FieldField | Form::DataData, 0, _) => ("right", b.clone(), with(b, d)),
        (Form::FieldField | Form::DataData, _, _) => ("right", wrong.to_vec(), b.clone()),
        (Form::DataField, 0, _) => ("data", wrong.to_vec(), a.clone()),
        (Form::DataField, _, _) => ("data", a.clone(), with(a, d.saturating_sub(1))),
    }
}

fn every_wrong_extent<T: Float>() {
    let mut refused = 0;
    for kernel in nine::<T>() {
        let right = kernel.extents(&SIZES);
        for which in 0..3 {
            for d in 0..right[which].len() {
                for extent in [0, right[which][d] - 1, right[which][d] + 1] {
                    let mut extents = right.clone();
                    extents[which][d] = extent;
                    // A data point stands for all points: not wrong.
                    assert!(!(kernel.form == Form::DataField && which == 0 && d == 1 && extent == 1));
                    let [a, b, _] = [0, 1, 2].map(|i| Array::new(&extents[i], PACKED[1], 0.0, |_| T::of(1.0)));
                    let (name, actual, expected) = refusal(kernel.form, &right, &extents[which], which, d);
                    for (sum, old) in [(Sum::Overwrite, f64::NAN), (Sum::Into, 2.0)] {
                        let mut out = Array::new(&extents[2], PACKED[1], 0.0, |_| T::of(old));
                        let before = out.bits();
                        let message = (kernel.run)(None, &a, &b, &mut out, sum).unwrap_err().to_string();
                        let wanted = format!("{}: `{name}` has extents {actual:?}, expected {expected:?}", kernel.name);
                        assert_eq!(message, wanted);
                        assert!(out.bits() == before, "{message}: the output has changed");
                        refused += 1;
                    }
                }
            }
        }
    }
    // Indices of all arrays of the nine, times three extents, times two sums.
    assert_eq!(refused, (9 + 11 + 13 + 7 + 9 + 11 + 5 + 7 + 9) * 6);
}

#[test]
fn every_wrong_extent_is_refused_in_f32() {
    every_wrong_extent::<f32>();
}

#[test]
fn every_wrong_extent_is_refused_in_f64() {
    every_wrong_extent::<f64>();
}
