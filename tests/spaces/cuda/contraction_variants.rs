//! Every variant of the nine contractions where it applies: integers bit by bit, random numbers within the bound, the same
//! bits at each run and, where it is promised, those of `flat`; elsewhere a refusal that names it and leaves the output alone.

use super::contraction::arrays::{Array, Float, PACKED, PLACES, Place, indices, integer, random};
use super::contraction::{Form, GAP, Kernel, OnDevice, Sizes, nine, sizes};
use super::gpu;
use minifenl::contraction::{Sum, Variant, With};
use minifenl::space::Cuda;

/// Variants of kernels that are compiled once.
fn general() -> impl Iterator<Item = Variant> {
    Variant::ALL.into_iter().map(|(variant, _)| variant).filter(|variant| !variant.is_specialised())
}

/// Variants that are compiled for each shape: a second each, so they see fewer shapes.
fn fixed() -> impl Iterator<Item = Variant> {
    Variant::ALL.into_iter().map(|(variant, _)| variant).filter(|variant| variant.is_specialised())
}

/// The output's memory, or the refusal.
fn run<T: Float>(
    space: &Cuda,
    kernel: &Kernel<T>,
    variant: Variant,
    inputs: &[OnDevice<T>; 2],
    before: &Array<T>,
    sum: Sum,
) -> Result<Vec<u64>, String> {
    let mut out = OnDevice::new(space, before);
    let done = (kernel.device)(&With(space, variant), &inputs[0], &inputs[1], &mut out, sum);
    let bits = out.bits(space);
    done.map(|()| bits.clone()).map_err(|error| {
        assert!(bits == before.bits(), "{} {variant}: refused, and the output has changed", kernel.name);
        let error = error.to_string();
        assert!(error.contains(&format!("variant {variant}:")), "{}: {error}", kernel.name);
        error
    })
}

/// Counts the cases in which each variant applied.
#[derive(Default)]
struct Applied(std::collections::BTreeMap<String, usize>);

impl Applied {
    fn note(&mut self, variant: Variant) {
        *self.0.entry(variant.to_string()).or_default() += 1;
    }

    fn check(&self, variants: impl Iterator<Item = Variant>) {
        for variant in variants.map(|variant| variant.to_string()) {
            assert!(self.0.contains_key(&variant), "{variant} was never tried: {:?}", self.0);
        }
    }
}

/// Small integers: exact in any order.
fn exact<T: Float>(
    space: &Cuda,
    kernel: &Kernel<T>,
    sizes: &Sizes,
    places: [Place; 3],
    variants: &[Variant],
    applied: &mut Applied,
) {
    let [a, b, out] = kernel.extents(sizes);
    let a = Array::new(&a, places[0], f64::NAN, integer(1));
    let b = Array::new(&b, places[1], f64::NAN, integer(2));
    let inputs = [OnDevice::new(space, &a), OnDevice::new(space, &b)];
    for (sum, old) in [(Sum::Overwrite, f64::NAN), (Sum::Into, 2.0)] {
        let before = Array::new(&out, places[2], GAP, |_| T::of(old));
        let mut wanted = before.clone();
        (kernel.host)(&a, &b, &mut wanted, sum).unwrap();
        for &variant in variants {
            if let Ok(found) = run(space, kernel, variant, &inputs, &before, sum) {
                assert!(found == wanted.bits(), "{} {variant} {sizes:?} {places:?} {sum:?}", kernel.name);
                applied.note(variant);
            }
        }
    }
}

/// Random numbers: within twice K eps sum|a||b| of the host's (each may be once), the same bits again, those of flat where
/// promised.
fn bounded<T: Float>(
    space: &Cuda,
    kernel: &Kernel<T>,
    sizes: &Sizes,
    place: Place,
    variants: &[Variant],
    applied: &mut Applied,
) {
    let extents = kernel.extents(sizes);
    let a = Array::new(&extents[0], place, f64::NAN, random::<T>(3));
    let b = Array::new(&extents[1], place, f64::NAN, random::<T>(4));
    let absolute = |x: &Array<T>| Array::new(&x.extents, place, 0.0, |at| T::of(Into::<f64>::into(x.at(at)).abs()));
    let (a_sizes, b_sizes) = (absolute(&a), absolute(&b));
    let inputs = [OnDevice::new(space, &a), OnDevice::new(space, &b)];
    let terms = sizes.points * sizes.dims[..kernel.rank].iter().product::<usize>() + 1;
    for (sum, old) in [(Sum::Overwrite, f64::NAN), (Sum::Into, 2.0)] {
        let before = Array::new(&extents[2], place, GAP, |_| T::of(old));
        let (mut wanted, mut size) = (before.clone(), before.clone());
        (kernel.host)(&a, &b, &mut wanted, sum).unwrap();
        (kernel.host)(&a_sizes, &b_sizes, &mut size, sum).unwrap();
        let flat = run(space, kernel, Variant::Flat, &inputs, &before, sum).unwrap();
        for &variant in variants {
            let Ok(found) = run(space, kernel, variant, &inputs, &before, sum) else { continue };
            applied.note(variant);
            let what = || format!("{} {variant} {sizes:?} {place:?} {sum:?}", kernel.name);
            for index in indices(&extents[2]) {
                let at = wanted.offset(&index);
                let bound = 2.0 * terms as f64 * T::EPSILON * Into::<f64>::into(size.items[at]);
                let error = (f64::from_bits(found[at]) - Into::<f64>::into(wanted.items[at])).abs();
                assert!(error <= bound, "{} {index:?}: {error} > {bound}", what());
            }
            assert!(!variant.keeps_order() || found == flat, "{}: not the bits of flat", what());
            if variant.is_deterministic() {
                let again = run(space, kernel, variant, &inputs, &before, sum).unwrap();
                assert!(found == again, "{}: other bits at the second run", what());
            }
        }
    }
}

/// All places the same, and each place once in each position beside others.
fn places() -> Vec<[Place; 3]> {
    let mut places: Vec<[Place; 3]> = PLACES.map(|place| [place; 3]).into();
    places.extend((0..4).map(|i| [PLACES[i], PLACES[(i + 1) % 4], PLACES[(i + 3) % 4]]));
    places.push([PACKED[1], PACKED[1], PACKED[0]]);
    places
}

fn integers<T: Float>(space: &Cuda) {
    let mut applied = Applied::default();
    let variants: Vec<Variant> = general().collect();
    let mut cases: Vec<Sizes> =
        (1..=9).map(|n| sizes(4 * n - 3, [n, 10 - n], (n * 5) % 9 + 1, [n % 4 + 1, 2])).collect();
    cases.extend([
        sizes(0, [3, 2], 4, [3, 3]),
        sizes(33, [3, 2], 0, [3, 3]),
        sizes(5, [0, 0], 2, [3, 3]),
        sizes(5, [2, 3], 2, [0, 3]),
        sizes(65, [8, 8], 8, [3, 3]),
        sizes(31, [17, 12], 1, [1, 5]),
        sizes(2, [33, 40], 37, [1, 1]),
        sizes(3, [16, 5], 16, [1, 1]),
        sizes(1025, [2, 2], 5, [1, 1]),
    ]);
    for kernel in nine::<T>() {
        for sizes in &cases {
            for places in places() {
                exact(space, &kernel, sizes, places, &variants, &mut applied);
                if kernel.form == Form::DataField {
                    let constant = Sizes { data_points: 1, ..*sizes };
                    exact(space, &kernel, &constant, places, &variants, &mut applied);
                }
            }
        }
    }
    applied.check(general());
}

#[test]
fn integers_are_exact_in_every_variant_in_f32() {
    let Some(space) = gpu("integers_are_exact_in_every_variant_in_f32") else { return };
    integers::<f32>(&space);
}

#[test]
fn integers_are_exact_in_every_variant_in_f64() {
    let Some(space) = gpu("integers_are_exact_in_every_variant_in_f64") else { return };
    integers::<f64>(&space);
}

fn random_numbers<T: Float>(space: &Cuda) {
    let mut applied = Applied::default();
    let variants: Vec<Variant> = general().collect();
    for kernel in nine::<T>() {
        for place in PLACES {
            for sizes in [
                sizes(33, [8, 8], 8, [3, 3]),
                sizes(17, [5, 7], 27, [2, 1]),
                sizes(2, [20, 21], 33, [4, 4]),
                sizes(9, [6, 3], 1025, [1, 1]),
            ] {
                bounded(space, &kernel, &sizes, place, &variants, &mut applied);
            }
        }
    }
    applied.check(general());
}

#[test]
fn every_variant_within_the_bound_in_f32() {
    let Some(space) = gpu("every_variant_within_the_bound_in_f32") else { return };
    random_numbers::<f32>(&space);
}

#[test]
fn every_variant_within_the_bound_in_f64() {
    let Some(space) = gpu("every_variant_within_the_bound_in_f64") else { return };
    random_numbers::<f64>(&space);
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
    let mut applied = Applied::default();
    let variants: Vec<Variant> = fixed().collect();
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
    applied.check(fixed().filter(|variant| *variant != Variant::Dmma || T::EPSILON < 1e-10));
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
