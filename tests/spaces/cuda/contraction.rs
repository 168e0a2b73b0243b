//! The nine contractions against the host's: all layouts, ragged sizes, over NaNs and into old values.
//!
//! Arrays begin behind a few items that belong to nobody; all of an output's memory is compared, gaps included.

#[path = "../../../src/contraction/tests/arrays.rs"]
#[allow(dead_code)]
pub mod arrays;

use super::gpu;
use arrays::{Array, Float, PACKED, PLACES, Place, indices, integer, random};
use minifenl::Result;
use minifenl::contraction::*;
use minifenl::space::{Cuda, CudaArray, DeviceView, DeviceViewMut, ExecutionSpace, Layout, Serial};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    FieldField,
    DataField,
    DataData,
}

/// Extents of a case; a kernel takes as many of `dims` as it has.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub cells: usize,
    pub fields: [usize; 2],
    pub points: usize,
    pub dims: [usize; 2],
    /// Of the data of a data-field contraction: `points`, or 1.
    pub data_points: usize,
}

pub const fn sizes(cells: usize, fields: [usize; 2], points: usize, dims: [usize; 2]) -> Sizes {
    Sizes { cells, fields, points, dims, data_points: points }
}

/// Variants that apply to all shapes and strides without compiling for them; the others are in `contraction_variants`.
const ALWAYS: [Variant; 6] =
    [Variant::Auto, Variant::AutoInOrder, Variant::Flat, Variant::Tile1x8, Variant::Tile4x4, Variant::Tile8x8];

/// Items in front of an array.
const FIRST: usize = 3;
/// What lies between the items of an output, and must stay.
pub const GAP: f64 = -77.0;

/// An array in the GPU's memory, from item `FIRST` on.
pub struct OnDevice<T: Float> {
    array: CudaArray<T>,
    extents: Vec<usize>,
    strides: Vec<usize>,
}

impl<T: Float> OnDevice<T> {
    pub fn new(space: &Cuda, host: &Array<T>) -> Self {
        let items = [&[T::of(GAP); FIRST][..], &host.items].concat();
        OnDevice { array: space.upload(&items).unwrap(), extents: host.extents.clone(), strides: host.strides.clone() }
    }

    fn view<const R: usize>(&self) -> DeviceView<'_, T, R> {
        let [extents, strides] = [&self.extents, &self.strides].map(|x| x[..].try_into().unwrap());
        DeviceView::strided(&self.array, FIRST, extents, strides).unwrap()
    }

    fn view_mut<const R: usize>(&mut self) -> DeviceViewMut<'_, T, R> {
        let [extents, strides] = [&self.extents, &self.strides].map(|x| x[..].try_into().unwrap());
        DeviceViewMut::strided(&mut self.array, FIRST, extents, strides).unwrap()
    }

    /// All of the memory, to be compared bit by bit.
    pub fn bits(&self, space: &Cuda) -> Vec<u64> {
        let items = space.download(&self.array).unwrap();
        assert!(items[..FIRST].iter().all(|x| Into::<f64>::into(*x) == GAP), "written before the view");
        items[FIRST..].iter().map(|&x| Into::<f64>::into(x).to_bits()).collect()
    }
}

pub type Host<T> = fn(&Array<T>, &Array<T>, &mut Array<T>, Sum) -> Result<()>;
pub type Device<T> = fn(&With<'_>, &OnDevice<T>, &OnDevice<T>, &mut OnDevice<T>, Sum) -> Result<()>;

/// One of the nine, here and there.
pub struct Kernel<T: Float> {
    pub name: &'static str,
    pub form: Form,
    pub rank: usize,
    pub host: Host<T>,
    pub device: Device<T>,
}

macro_rules! nine {
    ($($form:ident $rank:literal $kernel:ident;)*) => {
        pub fn nine<T: Float>() -> [Kernel<T>; 9] {
            [$(Kernel {
                name: stringify!($kernel),
                form: Form::$form,
                rank: $rank,
                host: |a, b, out, sum| $kernel(&Serial, &a.view(), &b.view(), &mut out.view_mut(), sum),
                device: |with, a, b, out, sum| $kernel(with, &a.view(), &b.view(), &mut out.view_mut(), sum),
            }),*]
        }
    };
}
nine! {
    FieldField 0 field_field_scalar; FieldField 1 field_field_vector; FieldField 2 field_field_tensor;
    DataField 0 data_field_scalar; DataField 1 data_field_vector; DataField 2 data_field_tensor;
    DataData 0 data_data_scalar; DataData 1 data_data_vector; DataData 2 data_data_tensor;
}

impl<T: Float> Kernel<T> {
    /// Extents of both inputs and the output.
    pub fn extents(&self, sizes: &Sizes) -> [Vec<usize>; 3] {
        let Sizes { cells, fields: [left, right], points, dims, data_points } = *sizes;
        let field = |count| [&[cells, count, points][..], &dims[..self.rank]].concat();
        let data = |points| [&[cells, points][..], &dims[..self.rank]].concat();
        match self.form {
            Form::FieldField => [field(left), field(right), vec![cells, left, right]],
            Form::DataField => [data(data_points), field(right), vec![cells, right]],
            Form::DataData => [data(points), data(points), vec![cells]],
        }
    }

    /// The output's memory from the GPU.
    fn run(&self, space: &Cuda, variant: Variant, inputs: &[OnDevice<T>; 2], before: &Array<T>, sum: Sum) -> Vec<u64> {
        let mut out = OnDevice::new(space, before);
        (self.device)(&With(space, variant), &inputs[0], &inputs[1], &mut out, sum).unwrap();
        out.bits(space)
    }
}

/// Bit by bit on small integers, for which every product and sum is exact.
fn exact<T: Float>(space: &Cuda, kernel: &Kernel<T>, sizes: &Sizes, places: [Place; 3]) {
    let [a, b, out] = kernel.extents(sizes);
    let a = Array::new(&a, places[0], f64::NAN, integer(1));
    let b = Array::new(&b, places[1], f64::NAN, integer(2));
    let inputs = [OnDevice::new(space, &a), OnDevice::new(space, &b)];
    for (sum, old) in [(Sum::Overwrite, f64::NAN), (Sum::Into, 2.0)] {
        let before = Array::new(&out, places[2], GAP, |_| T::of(old));
        let mut wanted = before.clone();
        (kernel.host)(&a, &b, &mut wanted, sum).unwrap();
        for variant in ALWAYS {
            let found = kernel.run(space, variant, &inputs, &before, sum);
            assert!(found == wanted.bits(), "{} {variant} {sizes:?} {places:?} {sum:?}", kernel.name);
        }
    }
}

fn every_case<T: Float>(space: &Cuda) {
    // All places the same, and each place once in each position beside others.
    let mut places: Vec<[Place; 3]> = PLACES.map(|place| [place; 3]).into();
    places.extend((0..4).map(|i| [PLACES[i], PLACES[(i + 1) % 4], PLACES[(i + 3) % 4]]));
    places.push([PACKED[1], PACKED[1], PACKED[0]]);
    let mut cases: Vec<Sizes> =
        (1..=9).map(|n| sizes(4 * n - 3, [n, 10 - n], (n * 5) % 9 + 1, [n % 4 + 1, 2])).collect();
    cases.extend([
        sizes(0, [3, 2], 4, [3, 3]),
        sizes(33, [3, 2], 0, [3, 3]),
        sizes(5, [0, 0], 2, [3, 3]),
        sizes(5, [2, 3], 2, [0, 3]),
        sizes(65, [8, 8], 8, [3, 3]),
        sizes(31, [17, 12], 1, [1, 5]),
    ]);
    for kernel in nine::<T>() {
        for sizes in &cases {
            for &places in &places {
                exact(space, &kernel, sizes, places);
                if kernel.form == Form::DataField {
                    exact(space, &kernel, &Sizes { data_points: 1, ..*sizes }, places);
                }
            }
        }
    }
}

#[test]
fn integers_are_exact_in_f32() {
    let Some(space) = gpu("integers_are_exact_in_f32") else { return };
    every_case::<f32>(&space);
}

#[test]
fn integers_are_exact_in_f64() {
    let Some(space) = gpu("integers_are_exact_in_f64") else { return };
    every_case::<f64>(&space);
}

/// Each entry within twice K eps sum|a||b| of the host's (each of them may be once); variants give the same bits.
fn bounded<T: Float>(space: &Cuda, kernel: &Kernel<T>, sizes: &Sizes, place: Place) {
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
        let flat = kernel.run(space, Variant::Flat, &inputs, &before, sum);
        for index in indices(&extents[2]) {
            let (found, at) = (f64::from_bits(flat[wanted.offset(&index)]), wanted.offset(&index));
            let bound = 2.0 * terms as f64 * T::EPSILON * Into::<f64>::into(size.items[at]);
            let error = (found - Into::<f64>::into(wanted.items[at])).abs();
            assert!(error <= bound, "{} {sizes:?} {place:?} {sum:?} {index:?}: {error} > {bound}", kernel.name);
        }
        for variant in ALWAYS.into_iter().filter(|variant| variant.keeps_order()) {
            let found = kernel.run(space, variant, &inputs, &before, sum);
            assert!(found == flat, "{} {variant} {sizes:?} {place:?} {sum:?}: other bits", kernel.name);
        }
    }
}

fn random_numbers<T: Float>(space: &Cuda) {
    for kernel in nine::<T>() {
        for place in PLACES {
            for sizes in [sizes(33, [8, 8], 8, [3, 3]), sizes(17, [5, 7], 27, [2, 1]), sizes(2, [20, 21], 33, [4, 4])] {
                bounded(space, &kernel, &sizes, place);
            }
        }
    }
    // So many cells that the largest tile is chosen.
    for kernel in nine::<T>().iter().filter(|kernel| kernel.rank == 0) {
        bounded(space, kernel, &sizes(40_003, [8, 7], 3, [1, 1]), PACKED[0]);
    }
}

#[test]
fn random_numbers_within_the_bound_in_f32() {
    let Some(space) = gpu("random_numbers_within_the_bound_in_f32") else { return };
    random_numbers::<f32>(&space);
}

#[test]
fn random_numbers_within_the_bound_in_f64() {
    let Some(space) = gpu("random_numbers_within_the_bound_in_f64") else { return };
    random_numbers::<f64>(&space);
}

#[test]
fn wrong_shapes_are_refused_as_on_the_host() {
    let Some(space) = gpu("wrong_shapes_are_refused_as_on_the_host") else { return };
    for kernel in nine::<f64>() {
        let right = kernel.extents(&sizes(3, [4, 5], 6, [3, 2]));
        for (which, d) in (0..3).flat_map(|which| (0..right[which].len()).map(move |d| (which, d))) {
            for extent in [0, right[which][d] - 1, right[which][d] + 1] {
                let mut extents = right.clone();
                extents[which][d] = extent;
                let [a, b, out] = [0, 1, 2].map(|i| Array::new(&extents[i], PACKED[1], 0.0, |_| 1.0));
                let on_device = [OnDevice::new(&space, &a), OnDevice::new(&space, &b)];
                let (mut host, mut device) = (out.clone(), OnDevice::new(&space, &out));
                let wanted = (kernel.host)(&a, &b, &mut host, Sum::Into).unwrap_err();
                let with = With(&space, Variant::Auto);
                let found = (kernel.device)(&with, &on_device[0], &on_device[1], &mut device, Sum::Into).unwrap_err();
                assert_eq!(found.to_string(), wanted.to_string());
                assert!(device.bits(&space) == out.bits(), "{found}: the output has changed");
            }
        }
    }
}

#[test]
fn views_stay_inside_their_arrays() {
    let Some(space) = gpu("views_stay_inside_their_arrays") else { return };
    let mut array = space.zeros::<f64>(24).unwrap();
    assert!(DeviceView::new(&array, [2, 3, 4], Layout::Left).is_ok());
    for (first, extents, strides) in [
        (1, [2, 3, 4], [12, 4, 1]),
        (0, [2, 3, 5], [1, 2, 6]),
        (0, [2, 3, 4], [usize::MAX, 4, 1]),
        (24, [1; 3], [1; 3]),
    ] {
        let error = DeviceView::strided(&array, first, extents, strides).unwrap_err().to_string();
        assert!(error.contains("the array has 24"), "{error}");
    }
    assert!(DeviceView::strided(&array, 99, [0, 3, 4], [12, 4, 1]).is_ok());
    assert!(DeviceView::strided(&array, 0, [2, 3, 4], [0, 1, 1]).is_ok());
    let error = DeviceViewMut::strided(&mut array, 0, [2, 3, 4], [0, 4, 1]).unwrap_err().to_string();
    assert!(error.contains("share their place"), "{error}");
    // The same library call on the space itself.
    let (a, mut out) = (space.upload(&[1.0f64, 2.0, 3.0, 4.0]).unwrap(), space.zeros(2).unwrap());
    let a = DeviceView::new(&a, [2, 2], Layout::Right).unwrap();
    data_data_scalar(&space, &a, &a, &mut DeviceViewMut::new(&mut out, [2], Layout::Left).unwrap(), Sum::Overwrite)
        .unwrap();
    assert_eq!(space.download(&out).unwrap(), [5.0, 25.0]);
}
