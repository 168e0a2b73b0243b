//! The nine bit by bit against naive loops over index tuples, on small integers (every product and sum is exact).

use super::*;

/// What the output's memory holds between its items, and must keep.
const GAP: f64 = -77.0;

/// Compares one kernel with the reference, for inputs and output at all combinations of `places`.
fn check<T: Real>(kernel: &Kernel<T>, sizes: &Sizes, places: &[[Place; 3]]) {
    let threads = Threads::new(3).unwrap();
    let [a_extents, b_extents, out_extents] = kernel.extents(sizes);
    let a = Array::new(&a_extents, PACKED[1], 0.0, integer(1));
    let b = Array::new(&b_extents, PACKED[1], 0.0, integer(2));
    let mut naive = Array::new(&out_extents, PACKED[1], 0.0, |_| T::of(0.0));
    kernel.pairs(sizes, &a, &b, |index, pairs| {
        let at = naive.offset(index);
        naive.items[at] = pairs.iter().fold(T::of(0.0), |sum, &(x, y)| sum + x * y);
    });
    let [a, b] = [&a, &b].map(|x| PLACES.map(|place| x.moved(place)));
    let find = |place| PLACES.iter().position(|&at| at == place).unwrap();
    for (sum, old, begin) in [(Sum::Overwrite, f64::NAN, 0.0), (Sum::Into, 2.0, 2.0)] {
        let before = PLACES.map(|place| Array::new(&out_extents, place, GAP, |_| T::of(old)));
        let wanted =
            PLACES.map(|place| Array::new(&out_extents, place, GAP, |index| T::of(begin) + naive.at(index)).bits());
        for &[a_place, b_place, out_place] in places {
            for space in [None, Some(&threads)] {
                let mut out = before[find(out_place)].clone();
                (kernel.run)(space, &a[find(a_place)], &b[find(b_place)], &mut out, sum).unwrap();
                assert!(
                    out.bits() == wanted[find(out_place)],
                    "{} {sizes:?} {a_place:?} {b_place:?} {out_place:?} {sum:?} threads: {}: {out:?}, expected {naive:?}",
                    kernel.name,
                    space.is_some()
                );
            }
        }
    }
}

/// All combinations of the places of left, right and out.
fn combinations() -> Vec<[Place; 3]> {
    indices(&[PLACES.len(); 3]).map(|at| [at[0], at[1], at[2]].map(|i| PLACES[i])).collect()
}

/// Dimensions of a kernel with that many dimension indices.
fn dims(rank: usize) -> [usize; 2] {
    [[1, 1], [13, 1], [3, 5]][rank]
}

/// Checks the kernels of one form, with data of all points and, where that is another case, of one.
fn check_form<T: Real>(form: Form, places: &[[Place; 3]], sizes: impl Fn(usize) -> Vec<Sizes>) {
    for kernel in nine::<T>().iter().filter(|kernel| kernel.form == form) {
        for sizes in sizes(kernel.rank) {
            check(kernel, &sizes, places);
            if form == Form::DataField {
                check(kernel, &Sizes { data_points: 1, ..sizes }, places);
            }
        }
    }
}

fn ragged<T: Real>(form: Form) {
    let sizes = |rank, cells| Sizes { cells, fields: [3, 7], points: 9, dims: dims(rank), data_points: 9 };
    check_form::<T>(form, &PLACES.map(|place| [place; 3]), |rank| [0, 1, 31].map(|c| sizes(rank, c)).to_vec());
    check_form::<T>(form, &combinations(), |rank| vec![sizes(rank, 33)]);
}

/// 8 x 8 fields, 8 points, 3 dimensions: trilinear elements.
fn element<T: Real>(form: Form) {
    check_form::<T>(form, &combinations(), |rank| {
        let dims = [[1, 1], [3, 1], [3, 3]][rank];
        vec![Sizes { cells: 9, fields: [8, 8], points: 8, dims, data_points: 8 }]
    });
}

/// Pieces for several threads: more than 65 536 products. Elements as many as do not fit a cache near the core.
fn many_cells<T: Real>(form: Form) {
    let points = if form == Form::DataData { 65 } else { 2 };
    check_form::<T>(form, &PACKED.map(|place| [place; 3]), |rank| {
        let dims = [[1, 1], [2, 1], [1, 2]][rank];
        vec![Sizes { cells: 1025, fields: [2, 40], points, dims, data_points: points }]
    });
    if form == Form::FieldField {
        check_form::<T>(form, &PACKED.map(|place| [place; 3]), |rank| {
            let dims = [[1, 1], [3, 1], [3, 3]][rank];
            vec![Sizes { cells: 1101, fields: [8, 8], points: 8, dims, data_points: 8 }]
        });
    }
}

/// No points: zeros, or what was there.
fn empty<T: Real>(form: Form) {
    check_form::<T>(form, &combinations(), |rank| {
        let points = Sizes { cells: 9, fields: [3, 7], points: 0, dims: dims(rank), data_points: 0 };
        vec![points, Sizes { points: 2, data_points: 2, fields: [0, 0], ..points }]
    });
}

macro_rules! for_each_form_and_type {
    ($($test:ident)*) => {$(
        mod $test {
            use super::Form::*;
            for_each_form_and_type! { @ $test
                field_field_f32 FieldField f32, field_field_f64 FieldField f64,
                data_field_f32 DataField f32, data_field_f64 DataField f64,
                data_data_f32 DataData f32, data_data_f64 DataData f64
            }
        }
    )*};
    (@ $test:ident $($name:ident $form:ident $real:ident),*) => {$(
        #[test]
        fn $name() {
            super::$test::<$real>($form);
        }
    )*};
}
for_each_form_and_type! { ragged element many_cells empty }
