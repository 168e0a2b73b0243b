//! The nine against a naive sum: exactly on small integers, within K eps sum|a||b| on random numbers.

use super::*;
use crate::space::{Layout, Serial, Threads};

/// Small integers, so that every product and sum is exact in any order and in f32 as in f64.
fn integers(len: usize, seed: usize) -> Vec<f64> {
    (0..len).map(|i| ((i * 7 + seed * 13 + i * i % 11) % 17) as f64 - 8.0).collect()
}

/// Strides of a packed layout, or of one with a gap after each run of the first or last index.
fn strides<const R: usize>(extents: [usize; R], layout: Layout, gap: usize) -> ([usize; R], usize) {
    let mut padded = extents;
    padded[if layout == Layout::Left { 0 } else { R - 1 }] += gap;
    (layout.strides(padded), padded.iter().product())
}

/// Position in a packed row-major array -> index.
fn unravel<const R: usize>(mut at: usize, extents: [usize; R]) -> [usize; R] {
    let mut index = [0; R];
    for d in (0..R).rev() {
        index[d] = at % extents[d];
        at /= extents[d];
    }
    index
}

macro_rules! against_oracle {
    ($test:ident, $real:ty, $field_field:ident, $data_field:ident, $data_data:ident, $rank:literal, $data_rank:literal, $points:expr) => {
        #[test]
        fn $test() {
            let threads = Threads::new(2).unwrap();
            let (l_count, r_count) = (3, 7);
            for cells in [0, 1, 31, 33] {
                for (layout, gap) in [(Layout::Left, 0), (Layout::Right, 0), (Layout::Left, 2), (Layout::Right, 2)] {
                    for sum in [Sum::Overwrite, Sum::Into] {
                        // Lower-rank shapes by leaving the points' trailing dims out.
                        let points: [usize; $data_rank - 1] = $points;
                        let with = |fields: usize| -> [usize; $rank] {
                            std::array::from_fn(|d| [&[cells, fields][..], &points].concat()[d])
                        };
                        let without = |first: usize| -> [usize; $data_rank] {
                            std::array::from_fn(|d| {
                                if d == 0 {
                                    cells
                                } else if d == 1 {
                                    first
                                } else {
                                    points[d - 1]
                                }
                            })
                        };
                        let per_field: usize = points.iter().product();
                        let make = |seed, len: usize| -> Vec<$real> {
                            integers(len, seed).iter().map(|&x| x as $real).collect()
                        };
                        let (left_strides, left_len) = strides(with(l_count), layout, gap);
                        let (right_strides, right_len) = strides(with(r_count), layout, gap);
                        let (left, right) = (make(1, left_len), make(2, right_len));
                        let left = View::strided(&left, with(l_count), left_strides).unwrap();
                        let right = View::strided(&right, with(r_count), right_strides).unwrap();
                        let old: $real = if sum == Sum::Into { 2.0 } else { <$real>::NAN };
                        let begin: $real = if sum == Sum::Into { 2.0 } else { 0.0 };
                        let fields_index = |c, f, k| -> [usize; $rank] {
                            let point = unravel(k, points);
                            std::array::from_fn(|d| [&[c, f][..], &point].concat()[d])
                        };
                        let (out_strides, out_len) = strides([cells, l_count, r_count], layout, gap);
                        for serial in [true, false] {
                            let mut out = vec![old; out_len];
                            let mut view = ViewMut::strided(&mut out, [cells, l_count, r_count], out_strides).unwrap();
                            if serial {
                                $field_field(&Serial, &left, &right, &mut view, sum).unwrap();
                            } else {
                                $field_field(&threads, &left, &right, &mut view, sum).unwrap();
                            }
                            for at in 0..cells * l_count * r_count {
                                let [c, l, r] = unravel(at, [cells, l_count, r_count]);
                                let naive: $real = (0..per_field)
                                    .map(|k| left[fields_index(c, l, k)] * right[fields_index(c, r, k)])
                                    .sum();
                                assert_eq!(view[[c, l, r]], begin + naive, "{layout:?} {gap} {sum:?} {c} {l} {r}");
                            }
                        }
                        for data_points in [points[0], 1] {
                            let (data_strides, data_len) = strides(without(data_points), layout, gap);
                            let data = make(3, data_len);
                            let data = View::strided(&data, without(data_points), data_strides).unwrap();
                            let data_index = |c, k| -> [usize; $data_rank] {
                                let mut point = unravel(k, points);
                                point[0] = point[0].min(data_points - 1);
                                std::array::from_fn(|d| if d == 0 { c } else { point[d - 1] })
                            };
                            let (out_strides, out_len) = strides([cells, r_count], layout, gap);
                            let mut out = vec![old; out_len];
                            let mut view = ViewMut::strided(&mut out, [cells, r_count], out_strides).unwrap();
                            $data_field(&threads, &data, &right, &mut view, sum).unwrap();
                            for at in 0..cells * r_count {
                                let [c, f] = unravel(at, [cells, r_count]);
                                let naive: $real =
                                    (0..per_field).map(|k| data[data_index(c, k)] * right[fields_index(c, f, k)]).sum();
                                assert_eq!(view[[c, f]], begin + naive);
                            }
                            let mut out = vec![old; cells];
                            let mut view = ViewMut::new(&mut out, [cells], layout).unwrap();
                            $data_data(&threads, &data, &data, &mut view, sum).unwrap();
                            let each = per_field / points[0] * data_points;
                            for c in 0..cells {
                                let naive: $real = (0..each)
                                    .map(|k| {
                                        let mut extents = points;
                                        extents[0] = data_points;
                                        let point = unravel(k, extents);
                                        let x = data[std::array::from_fn(|d| if d == 0 { c } else { point[d - 1] })];
                                        x * x
                                    })
                                    .sum();
                                assert_eq!(view[[c]], begin + naive);
                            }
                        }
                    }
                }
            }
        }
    };
}
against_oracle!(scalar_exactly, f64, field_field_scalar, data_field_scalar, data_data_scalar, 3, 2, [9]);
against_oracle!(vector_exactly, f64, field_field_vector, data_field_vector, data_data_vector, 4, 3, [9, 13]);
against_oracle!(tensor_exactly, f64, field_field_tensor, data_field_tensor, data_data_tensor, 5, 4, [9, 3, 5]);
against_oracle!(vector_exactly_f32, f32, field_field_vector, data_field_vector, data_data_vector, 4, 3, [9, 13]);

#[test]
fn random_numbers_within_the_bound_and_any_thread_count_the_same_bits() {
    let (cells, fields, k) = (1025, 9, 24);
    let numbers: Vec<f64> = (0..cells * fields * k).map(|i| (i as f64 * 0.618).sin()).collect();
    for layout in [Layout::Left, Layout::Right] {
        let left = View::new(&numbers, [cells, fields, k], layout).unwrap();
        let run = |threads: usize| {
            let mut out = vec![f64::NAN; cells * fields * fields];
            let mut view = ViewMut::new(&mut out, [cells, fields, fields], layout).unwrap();
            field_field_scalar(&Threads::new(threads).unwrap(), &left, &left, &mut view, Sum::Overwrite).unwrap();
            out
        };
        let out = run(1);
        assert_eq!(out, run(2));
        let out = View::new(&out, [cells, fields, fields], layout).unwrap();
        for at in 0..cells * fields * fields {
            let [c, l, r] = unravel(at, [cells, fields, fields]);
            let product = |i| left[[c, l, i]] * left[[c, r, i]];
            let (naive, size) = (0..k).fold((0.0, 0.0), |(s, a), i| (s + product(i), a + f64::abs(product(i))));
            assert!((out[[c, l, r]] - naive).abs() <= k as f64 * f64::EPSILON * size);
        }
    }
}

#[test]
fn wrong_shapes_name_the_array_and_both_extents() {
    let data = [0.0; 256];
    let mut out = [0.0; 256];
    let fields = |extents| View::new(&data, extents, Layout::Right).unwrap();
    let mut view = ViewMut::new(&mut out, [2, 3, 4], Layout::Right).unwrap();
    let mut refused = |left, right| {
        field_field_vector(&Serial, &fields(left), &fields(right), &mut view, Sum::Into).unwrap_err().to_string()
    };
    assert!(refused([2, 3, 5, 3], [2, 4, 6, 3]).contains("`right` has extents [2, 4, 6, 3], expected [2, 4, 5, 3]"));
    assert!(refused([2, 3, 5, 3], [1, 4, 5, 3]).contains("`right`"));
    assert!(refused([2, 2, 5, 3], [2, 4, 5, 3]).contains("`out` has extents [2, 3, 4], expected [2, 2, 4]"));
    let scalar = View::new(&data, [2, 2], Layout::Left).unwrap();
    let three = View::new(&data, [2, 4, 3], Layout::Left).unwrap();
    let mut view = ViewMut::new(&mut out, [2, 4], Layout::Left).unwrap();
    let error = data_field_scalar(&Serial, &scalar, &three, &mut view, Sum::Overwrite).unwrap_err().to_string();
    assert!(error.contains("`data` has extents [2, 2], expected [2, 3]"), "{error}");
}
