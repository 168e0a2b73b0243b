//! The nine on random numbers: each entry within K eps sum|a||b| of a dot product in twice the precision.

use super::*;
use proptest::prelude::*;

/// Numbers of many sizes.
fn wide<T: Real>(seed: u64) -> impl FnMut(&[usize]) -> T {
    let (mut number, mut exponent) = (random::<f64>(seed), random::<f64>(!seed));
    move |index| T::of(number(index) * (exponent(index) * 8.0).round().exp2())
}

fn check<T: Real>(seed: u64, sizes: &Sizes, places: [Place; 3], sum: Sum) -> Result<(), TestCaseError> {
    for kernel in nine::<T>() {
        let extents = kernel.extents(sizes);
        let a = Array::new(&extents[0], places[0], f64::NAN, wide::<T>(seed));
        let b = Array::new(&extents[1], places[1], f64::NAN, wide::<T>(seed ^ 1));
        // With `Sum::Into` the old value is one more term.
        let (old, begin, terms) = if sum == Sum::Into { (2.0, 2.0, 1) } else { (f64::NAN, 0.0, 0) };
        let mut out = Array::new(&extents[2], places[2], f64::NAN, |_| T::of(old));
        (kernel.run)(None, &a, &b, &mut out, sum).unwrap();
        let mut worst: f64 = 0.0;
        kernel.pairs(sizes, &a, &b, |index, pairs| {
            let (wanted, size) = accurate(pairs, begin);
            let bound = (pairs.len() + terms) as f64 * T::EPSILON * size;
            let ratio = (Into::<f64>::into(out.at(index)) - wanted).abs() / bound;
            // Not f64::max, which passes over a NaN.
            worst = if ratio <= worst { worst } else { ratio };
        });
        prop_assert!(worst <= 1.0, "{}: {worst} times the bound", kernel.name);
    }
    Ok(())
}

prop_compose! {
    fn sizes()(
        cells in 1..20usize,
        fields in [1..10usize, 1..10],
        points in 1..12usize,
        dims in [1..5usize, 1..5],
        one_point: bool,
    ) -> Sizes {
        Sizes { cells, fields, points, dims, data_points: if one_point { 1 } else { points } }
    }
}

fn place() -> impl Strategy<Value = Place> {
    prop::sample::select(PLACES.to_vec())
}

fn sum() -> impl Strategy<Value = Sum> {
    prop::sample::select(vec![Sum::Overwrite, Sum::Into])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

    #[test]
    fn f32_results_are_within_the_bound(seed: u64, sizes in sizes(), places in [place(), place(), place()], sum in sum()) {
        check::<f32>(seed, &sizes, places, sum)?;
    }

    #[test]
    fn f64_results_are_within_the_bound(seed: u64, sizes in sizes(), places in [place(), place(), place()], sum in sum()) {
        check::<f64>(seed, &sizes, places, sum)?;
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let sizes = Sizes { cells: 1025, fields: [5, 6], points: 6, dims: [2, 2], data_points: 6 };
    for kernel in nine::<f64>() {
        for place in PACKED {
            let [a, b, out] = kernel.extents(&sizes);
            let a = Array::new(&a, place, 0.0, random(1));
            let b = Array::new(&b, place, 0.0, random(2));
            let run = |threads: Option<&Threads>| {
                let mut out = Array::new(&out, place, 0.0, |_| f64::NAN);
                (kernel.run)(threads, &a, &b, &mut out, Sum::Overwrite).unwrap();
                out.bits()
            };
            let serial = run(None);
            for threads in [2, 3] {
                assert!(run(Some(&Threads::new(threads).unwrap())) == serial, "{} {threads} {place:?}", kernel.name);
            }
        }
    }
}
