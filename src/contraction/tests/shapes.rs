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

fn every_wrong_extent<T: Real>() {
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

/// Each of the nine refuses an output whose stride along an index is 0, or within the reach of another, and leaves it alone.
#[test]
fn outputs_that_share_an_item_are_refused() {
    let mut refused = 0;
    for kernel in nine::<f64>() {
        let [left, right, out] = kernel.extents(&SIZES);
        let [a, b] = [left, right].map(|extents| Array::new(&extents, PACKED[1], 0.0, |_| 1.0));
        for place in PLACES {
            let whole = Array::new(&out, place, 0.0, |_| 2.0);
            for (d, shared) in (0..out.len()).flat_map(|d| [(d, 0), (d, whole.strides[(d + 1) % out.len()])]) {
                if out.len() == 1 && shared != 0 {
                    continue;
                }
                let mut found = whole.clone();
                found.strides[d] = shared;
                found.items.resize(10 * whole.items.len(), 2.0);
                let before = found.bits();
                for sum in [Sum::Overwrite, Sum::Into] {
                    let message = (kernel.run)(None, &a, &b, &mut found, sum).unwrap_err().to_string();
                    let wanted = format!("{}: `out`: view to write of extents {out:?} and strides ", kernel.name);
                    assert!(
                        message.starts_with(&wanted) && message.ends_with("items may share their place"),
                        "{message}"
                    );
                    assert!(found.bits() == before, "{message}: the output has changed");
                    refused += 1;
                }
            }
            // One cell, whose stride is then of no importance.
            let one = Sizes { cells: 1, ..SIZES };
            let [a, b, out] = kernel.extents(&one).map(|extents| Array::new(&extents, place, 0.0, |_| 1.0));
            let mut out = out;
            out.strides[0] = 0;
            (kernel.run)(None, &a, &b, &mut out, Sum::Overwrite).unwrap();
        }
    }
    assert_eq!(refused, 3 * 4 * 2 * (6 + 4 + 1));
}
