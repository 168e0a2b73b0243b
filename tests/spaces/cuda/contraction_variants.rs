//! Every variant of the nine contractions where it applies: integers bit by bit, random numbers within the bound, the same
//! bits at each run and, where it is promised, those of `flat`; elsewhere a refusal that names it and leaves the output alone.

use super::contraction_cases::arrays::{Array, PACKED, PLACES};
use super::contraction_cases::{
    Applied, Form, OnDevice, Sizes, bounded, exact, integers, nine, places, random_numbers, run, sizes,
};
use super::gpu;
use minifenl::contraction::{Sum, Variant};
use minifenl::space::Cuda;
use minifenl::space::lanes::Real;

/// Variants of kernels that are compiled once.
fn general() -> Vec<Variant> {
    Variant::ALL.into_iter().map(|(variant, _)| variant).filter(|variant| !variant.is_specialised()).collect()
}

/// Variants that are compiled for each shape: half a second each, so they see fewer shapes.
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
fn every_variant_is_within_the_rounding_bound_in_f32() {
    let Some(space) = gpu("every_variant_is_within_the_rounding_bound_in_f32") else { return };
    random_numbers::<f32>(&space, &general());
}

#[test]
fn every_variant_is_within_the_rounding_bound_in_f64() {
    let Some(space) = gpu("every_variant_is_within_the_rounding_bound_in_f64") else { return };
    random_numbers::<f64>(&space, &general());
}

/// Shapes for kernels that are compiled for them: FEM sizes, ragged ones, one of everything, several tiles.
const FIXED: [Sizes; 12] = [
    sizes(37, [8, 8], 8, [3, 3]),
    sizes(33, [10, 10], 7, [2, 1]),
    sizes(5, [1, 1], 1, [1, 1]),
    sizes(67, [3, 17], 5, [3, 2]),
    sizes(3, [27, 27], 27, [1, 1]),
    sizes(2, [40, 36], 12, [1, 2]),
    // Of few cells, of many, of half tiles; packed rows at multiples of 16 bytes in some of them.
    sizes(1, [16, 24], 4, [3, 1]),
    sizes(9, [27, 27], 4, [3, 2]),
    sizes(130, [8, 5], 12, [3, 3]),
    sizes(33, [3, 2], 20, [3, 1]),
    sizes(300, [8, 8], 8, [3, 3]),
    sizes(3, [125, 125], 8, [3, 1]),
];

fn compiled<T: Real>(space: &Cuda) {
    let (mut applied, variants) = (Applied::default(), fixed());
    for kernel in nine::<T>() {
        // The first shape with all nine, the others with one rank each.
        let of_rank = |number: usize| number == 0 || number % 3 == kernel.rank;
        for (number, sizes) in FIXED.iter().enumerate().filter(|(number, _)| of_rank(*number)) {
            let some: Vec<_> = match number {
                0 => places(),
                1..6 => PLACES.map(|place| [place; 3]).into(),
                _ => vec![[PACKED[1]; 3]],
            };
            exact(space, &kernel, sizes, &some, &variants, &mut applied);
            if kernel.form == Form::DataField {
                let constant = Sizes { data_points: 1, ..*sizes };
                exact(space, &kernel, &constant, &[[PACKED[1]; 3]], &variants, &mut applied);
            }
            for place in PACKED.into_iter().filter(|_| number < 6) {
                bounded(space, &kernel, sizes, place, &variants, &mut applied);
            }
        }
        let none = sizes(7, [3, 2], 0, [3, 3]);
        exact(space, &kernel, &none, &[[PACKED[1]; 3]], &variants, &mut applied);
    }
    // Tensor cores are of f64.
    let tensor_cores = [Variant::Dmma, Variant::DmmaBlocked];
    applied.check(variants.iter().filter(|variant| !tensor_cores.contains(variant) || T::EPSILON < 1e-10));
}

#[test]
fn specialised_kernels_are_exact_and_within_the_bound_in_f32() {
    let Some(space) = gpu("specialised_kernels_are_exact_and_within_the_bound_in_f32") else { return };
    compiled::<f32>(&space);
}

#[test]
fn specialised_kernels_are_exact_and_within_the_bound_in_f64() {
    let Some(space) = gpu("specialised_kernels_are_exact_and_within_the_bound_in_f64") else { return };
    compiled::<f64>(&space);
}

#[test]
fn a_variant_that_does_not_apply_is_refused_by_name() {
    let Some(space) = gpu("a_variant_that_does_not_apply_is_refused_by_name") else { return };
    for kernel in nine::<f32>() {
        let [a, b, out] = kernel.extents(&sizes(5, [4, 3], 6, [3, 3]));
        let [a, b, out] = [a, b, out].map(|extents| Array::new(&extents, PACKED[0], 0.0, |_| 1.0f32));
        let inputs = [OnDevice::new(&space, &a, 0), OnDevice::new(&space, &b, 0)];
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
