//! Every variant of the nine contractions where it applies: integers bit by bit, random numbers within the bound, the same
//! bits at each run and, where it is promised, those of `flat`; elsewhere a refusal that names it and leaves the output alone.

use super::contraction_cases::arrays::{Array, Float, PACKED, PLACES, integer};
use super::contraction_cases::{
    Applied, Form, OnDevice, Sizes, bounded, exact, integers, nine, places, random_numbers, run, sizes,
};
use super::gpu;
use minifenl::contraction::{Sum, Variant, With};
use minifenl::space::Cuda;

/// Variants of kernels that are compiled once.
fn general() -> Vec<Variant> {
    Variant::ALL.into_iter().map(|(variant, _)| variant).filter(|variant| !variant.is_specialised()).collect()
}

/// Variants that are compiled for each shape: a second each, so they see fewer shapes.
fn fixed() -> Vec<Variant> {
    Variant::ALL.into_iter().map(|(variant, _)| variant).filter(|variant| variant.is_specialised()).collect()
}

#[test]
fn integers_are_exact_in_every_variant_in_f32() {
    let Some(space) = gpu("integers_are_exact_in_every_variant_in_f32") else { return };
    integers::<f32>(&space, &general());
}

#[test]
fn integers_are_exact_in_every_variant_in_f64() {
    let Some(space) = gpu("integers_are_exact_in_every_variant_in_f64") else { return };
    integers::<f64>(&space, &general());
}

#[test]
fn every_variant_within_the_bound_in_f32() {
    let Some(space) = gpu("every_variant_within_the_bound_in_f32") else { return };
    random_numbers::<f32>(&space, &general());
}

#[test]
fn every_variant_within_the_bound_in_f64() {
    let Some(space) = gpu("every_variant_within_the_bound_in_f64") else { return };
    random_numbers::<f64>(&space, &general());
}

/// Shapes for kernels that are compiled for them: FEM sizes, ragged ones, one of everything, several tiles.
const FIXED: [Sizes; 6] = [
    sizes(37, [8, 8], 8, [3, 3]),
    sizes(33, [10, 10], 7, [2, 1]),
    sizes(5, [1, 1], 1, [1, 1]),
    sizes(67, [3, 17], 5, [3, 2]),
    sizes(3, [27, 27], 27, [1, 1]),
    sizes(2, [40, 36], 12, [1, 2]),
];

fn compiled<T: Float>(space: &Cuda) {
    let (mut applied, variants) = (Applied::default(), fixed());
    for kernel in nine::<T>() {
        // The first shape with all nine, the others with one rank each.
        let of_rank = |number: usize| number == 0 || number % 3 == kernel.rank;
        for (number, sizes) in FIXED.iter().enumerate().filter(|(number, _)| of_rank(*number)) {
            let some = if number == 0 { places() } else { PLACES.map(|place| [place; 3]).into() };
            for places in some {
                exact(space, &kernel, sizes, places, &variants, &mut applied);
            }
            if kernel.form == Form::DataField {
                let constant = Sizes { data_points: 1, ..*sizes };
                exact(space, &kernel, &constant, [PACKED[1]; 3], &variants, &mut applied);
            }
            for place in PACKED {
                bounded(space, &kernel, sizes, place, &variants, &mut applied);
            }
        }
        let none = sizes(7, [3, 2], 0, [3, 3]);
        exact(space, &kernel, &none, [PACKED[1]; 3], &variants, &mut applied);
    }
    // Tensor cores are of f64.
    let tensor_cores = [Variant::Dmma, Variant::DmmaBlocked];
    applied.check(variants.iter().filter(|variant| !tensor_cores.contains(variant) || T::EPSILON < 1e-10));
}

#[test]
fn what_is_compiled_for_its_sizes_in_f32() {
    let Some(space) = gpu("what_is_compiled_for_its_sizes_in_f32") else { return };
    compiled::<f32>(&space);
}

#[test]
fn what_is_compiled_for_its_sizes_in_f64() {
    let Some(space) = gpu("what_is_compiled_for_its_sizes_in_f64") else { return };
    compiled::<f64>(&space);
}

/// Rows at multiples of 16 bytes need an array that begins there: vector loads, tensor cores by twos, pairs of outputs.
#[test]
fn rows_at_multiples_of_vectors() {
    use minifenl::contraction::{data_field_vector, field_field_vector};
    use minifenl::space::{CudaArray, DeviceView, DeviceViewMut, ExecutionSpace, Layout, Serial, View, ViewMut};
    let Some(space) = gpu("rows_at_multiples_of_vectors") else { return };
    fn check<T: Float>(space: &Cuda, cells: usize, fields: [usize; 2], points: usize) {
        let [l, r] = fields;
        let extents = [[cells, l, points, 3], [cells, r, points, 3]];
        let numbers = |seed, count: usize| -> Vec<T> {
            (0..count).map(|_| 0).scan(integer::<T>(seed), |f, _| Some(f(&[]))).collect()
        };
        let host = extents.map(|extents| numbers(extents[1], extents.iter().product()));
        let device: Vec<CudaArray<T>> = host.iter().map(|items| space.upload(items).unwrap()).collect();
        for variant in fixed() {
            let views = [0, 1].map(|i| View::new(&host[i], extents[i], Layout::Right).unwrap());
            let on = [0, 1].map(|i| DeviceView::new(&device[i], extents[i], Layout::Right).unwrap());
            let mut wanted = vec![T::of(2.0); cells * l * r];
            let mut found = space.upload(&wanted).unwrap();
            let mut out = ViewMut::new(&mut wanted, [cells, l, r], Layout::Right).unwrap();
            field_field_vector(&Serial, &views[0], &views[1], &mut out, Sum::Into).unwrap();
            let mut out = DeviceViewMut::new(&mut found, [cells, l, r], Layout::Right).unwrap();
            if field_field_vector(&With(space, variant), &on[0], &on[1], &mut out, Sum::Into).is_ok() {
                assert!(space.download(&found).unwrap() == wanted, "{variant} {cells} {fields:?} {points}");
            }
            let data = View::new(&host[0], [cells, points, 3], Layout::Right).unwrap();
            let on_data = DeviceView::new(&device[0], [cells, points, 3], Layout::Right).unwrap();
            let mut wanted = vec![T::of(f64::NAN); cells * r];
            let mut found = space.upload(&wanted).unwrap();
            let mut out = ViewMut::new(&mut wanted, [cells, r], Layout::Right).unwrap();
            data_field_vector(&Serial, &data, &views[1], &mut out, Sum::Overwrite).unwrap();
            let mut out = DeviceViewMut::new(&mut found, [cells, r], Layout::Right).unwrap();
            if data_field_vector(&With(space, variant), &on_data, &on[1], &mut out, Sum::Overwrite).is_ok() {
                assert!(space.download(&found).unwrap() == wanted, "{variant} {cells} data x {r} {points}");
            }
        }
    }
    for (cells, fields, points) in
        [(35, [8, 8], 8), (1, [16, 24], 4), (9, [27, 27], 4), (130, [8, 5], 12), (3, [125, 125], 8), (33, [3, 2], 20)]
    {
        check::<f32>(&space, cells, fields, points);
        check::<f64>(&space, cells, fields, points);
    }
}

#[test]
fn what_does_not_apply_is_refused_by_name() {
    let Some(space) = gpu("what_does_not_apply_is_refused_by_name") else { return };
    for kernel in nine::<f32>() {
        let [a, b, out] = kernel.extents(&sizes(5, [4, 3], 6, [3, 3]));
        let [a, b, out] = [a, b, out].map(|extents| Array::new(&extents, PACKED[0], 0.0, |_| 1.0f32));
        let inputs = [OnDevice::new(&space, &a), OnDevice::new(&space, &b)];
        let refused = |variant| run(&space, &kernel, variant, &inputs, &out, Sum::Overwrite).unwrap_err();
        assert!(refused(Variant::Dmma).contains("f64"));
        assert!(refused(Variant::FixedRows).contains("side by side"));
        if kernel.form != Form::FieldField {
            for variant in [Variant::Tile8, Variant::Tile16, Variant::Tile32, Variant::Adaptive, Variant::FixedStaged] {
                assert!(refused(variant).contains("field_field only"));
            }
        }
        if kernel.form == Form::DataData {
            assert!(refused(Variant::Slicing).contains("twice"));
        }
        if kernel.rank > 0 {
            assert!(refused(Variant::Segments).contains("16 terms"));
            assert!(refused(Variant::SegmentsAtomic).contains("16 terms"));
        }
    }
}
