//! What holds between the nine: bit by bit, since each entry adds the same products in the same order.

use super::*;

const SIZES: Sizes = Sizes { cells: 11, fields: [5, 6], points: 4, dims: [3, 2], data_points: 4 };

/// Both inputs, on random numbers.
fn inputs<T: Real>(kernel: &Kernel<T>, sizes: &Sizes, layout: Layout) -> [Array<T>; 2] {
    let [a, b, _] = kernel.extents(sizes);
    [Array::new(&a, Place::Packed(layout), 0.0, random(1)), Array::new(&b, Place::Packed(layout), 0.0, random(2))]
}

/// The same values with other extents.
fn reshaped<T: Real>(array: &Array<T>, extents: &[usize], layout: Layout) -> Array<T> {
    let mut values = indices(&array.extents).map(|index| array.at(&index));
    let reshaped = Array::new(extents, PACKED[1], 0.0, |_| values.next().unwrap()).moved(Place::Packed(layout));
    assert!(values.next().is_none());
    reshaped
}

fn left_and_right_swapped_transpose_the_output<T: Real>(layout: Layout) {
    for kernel in nine::<T>().iter().filter(|kernel| kernel.form != Form::DataField) {
        let [a, b] = inputs(kernel, &SIZES, layout);
        let out = kernel.overwritten(&SIZES, &a, &b, layout);
        let swapped = Sizes { fields: [SIZES.fields[1], SIZES.fields[0]], ..SIZES };
        let swapped = kernel.overwritten(&swapped, &b, &a, layout);
        let back = Array::new(&out.extents, Place::Packed(layout), 0.0, |index| match *index {
            [c, l, r] => swapped.at(&[c, r, l]),
            _ => swapped.at(index),
        });
        assert_eq!(out.bits(), back.bits(), "{}", kernel.name);
    }
}

/// A vector of one number is a scalar, a tensor of one column a vector; any of them is a scalar with more points.
fn fewer_dimensions_are_a_lower_rank<T: Real>(layout: Layout) {
    let nine = nine::<T>();
    for (lower, higher) in (0..9).filter(|i| i % 3 != 2).map(|i| (&nine[i], &nine[i + 1])) {
        let mut sizes = SIZES;
        sizes.dims[lower.rank] = 1;
        same(lower, &sizes, higher, &sizes, layout);
    }
    for kernel in &nine {
        let points = SIZES.points * SIZES.dims[..kernel.rank].iter().product::<usize>();
        let flat = Sizes { points, data_points: points, ..SIZES };
        let scalar = nine.iter().find(|scalar| scalar.form == kernel.form).unwrap();
        same(scalar, &flat, kernel, &SIZES, layout);
    }
}

/// Asserts that two kernels agree on the same numbers.
fn same<T: Real>(one: &Kernel<T>, one_sizes: &Sizes, other: &Kernel<T>, other_sizes: &Sizes, layout: Layout) {
    let [a, b] = inputs(other, other_sizes, layout);
    let wanted = other.overwritten(other_sizes, &a, &b, layout);
    let [a_extents, b_extents, _] = one.extents(one_sizes);
    let (a, b) = (reshaped(&a, &a_extents, layout), reshaped(&b, &b_extents, layout));
    assert_eq!(one.overwritten(one_sizes, &a, &b, layout).bits(), wanted.bits(), "{} {}", one.name, other.name);
}

/// f(3 x + y) = 3 f(x) + f(y) for each input, exactly on integers; `Sum::Into` adds.
fn linear_in_each_input<T: Real>(layout: Layout) {
    let place = Place::Packed(layout);
    let three = T::of(3.0);
    for kernel in &nine::<T>() {
        let extents = kernel.extents(&SIZES);
        for side in 0..2 {
            let [x, y] = [3, 4].map(|seed| Array::<T>::new(&extents[side], place, 0.0, integer(seed)));
            let other = Array::new(&extents[1 - side], place, 0.0, integer(5));
            let mixed = Array::new(&extents[side], place, 0.0, |index| three * x.at(index) + y.at(index));
            let f = |input: &Array<T>, out: &mut Array<T>, sum| {
                let (a, b) = if side == 0 { (input, &other) } else { (&other, input) };
                (kernel.run)(None, a, b, out, sum).unwrap();
            };
            let nan = Array::new(&extents[2], place, 0.0, |_| T::of(f64::NAN));
            let [mut of_mixed, mut of_x, mut of_y] = [nan.clone(), nan.clone(), nan];
            f(&mixed, &mut of_mixed, Sum::Overwrite);
            f(&x, &mut of_x, Sum::Overwrite);
            f(&y, &mut of_y, Sum::Overwrite);
            let combined = Array::new(&extents[2], place, 0.0, |index| three * of_x.at(index) + of_y.at(index));
            assert_eq!(of_mixed.bits(), combined.bits(), "{} input {side}", kernel.name);
            for _ in 0..3 {
                f(&x, &mut of_y, Sum::Into);
            }
            assert_eq!(of_mixed.bits(), of_y.bits(), "{} input {side}", kernel.name);
        }
    }
}

fn one_point_of_data_is_replicated_data<T: Real>(layout: Layout) {
    for kernel in nine::<T>().iter().filter(|kernel| kernel.form == Form::DataField) {
        let one_point = Sizes { data_points: 1, ..SIZES };
        let [data, fields] = inputs(kernel, &one_point, layout);
        let replicated = Array::new(&kernel.extents(&SIZES)[0], Place::Packed(layout), 0.0, |index| {
            data.at(&[&[index[0], 0], &index[2..]].concat())
        });
        let [one, all] = [(&one_point, &data), (&SIZES, &replicated)]
            .map(|(sizes, data)| kernel.overwritten(sizes, data, &fields, layout));
        assert_eq!(one.bits(), all.bits(), "{}", kernel.name);
    }
}

fn ones_give_the_number_of_products<T: Real>(layout: Layout) {
    for kernel in &nine::<T>() {
        let [a, b, _] = kernel.extents(&SIZES);
        let [a, b] = [a, b].map(|extents| Array::new(&extents, Place::Packed(layout), 0.0, |_| T::of(1.0)));
        let count = SIZES.points * SIZES.dims[..kernel.rank].iter().product::<usize>();
        let out = kernel.overwritten(&SIZES, &a, &b, layout);
        assert!(out.items.iter().all(|&x| Into::<f64>::into(x) == count as f64), "{} {out:?}", kernel.name);
    }
}

macro_rules! for_each_type_and_layout {
    ($($identity:ident)*) => {$(
        mod $identity {
            use crate::space::Layout;

            #[test]
            fn f32() {
                [Layout::Left, Layout::Right].into_iter().for_each(super::$identity::<f32>);
            }

            #[test]
            fn f64() {
                [Layout::Left, Layout::Right].into_iter().for_each(super::$identity::<f64>);
            }
        }
    )*};
}
for_each_type_and_layout! {
    left_and_right_swapped_transpose_the_output
    fewer_dimensions_are_a_lower_rank
    linear_in_each_input
    one_point_of_data_is_replicated_data
    ones_give_the_number_of_products
}
