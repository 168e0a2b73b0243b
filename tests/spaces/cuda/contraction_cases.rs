//! Cases of the nine contractions on the GPU against naive loops: arrays there, extents, and what has to be equal.
//!
//! Arrays begin at the beginning of their memory, so that rows may lie at multiples of 16 bytes, or behind a few items that
//! belong to nobody, so that none does; all of an output's memory is compared, gaps included.

#[path = "../../../src/contraction/tests/arrays.rs"]
#[allow(dead_code)]
pub mod arrays;

#[path = "../../../src/contraction/tests/oracle.rs"]
pub mod oracle;

use arrays::{Array, PACKED, PLACES, Place, integer, random};
use minifenl::Result;
use minifenl::contraction::*;
use minifenl::space::lanes::Real;
use minifenl::space::{Cuda, CudaArray, DeviceView, DeviceViewMut, ExecutionSpace, Serial};
pub use oracle::{Form, Sizes};
use oracle::{Formula, accurate};

pub const fn sizes(cells: usize, fields: [usize; 2], points: usize, dims: [usize; 2]) -> Sizes {
    Sizes { cells, fields, points, dims, data_points: points }
}

/// Variants that apply to all shapes and strides without compiling for them.
pub const ALWAYS: [Variant; 6] =
    [Variant::Auto, Variant::AutoInOrder, Variant::Flat, Variant::Tile1x8, Variant::Tile4x4, Variant::Tile8x8];

/// Items in front of an array: rows at multiples of 16 bytes, where their lengths are, and rows that are at none.
const FIRST: [usize; 2] = [0, 3];
/// What lies between the items of an output, and must stay.
pub const GAP: f64 = -77.0;

/// An array in the GPU's memory, from item `first` on.
pub struct OnDevice<T: Real> {
    array: CudaArray<T>,
    first: usize,
    extents: Vec<usize>,
    strides: Vec<usize>,
}

impl<T: Real> OnDevice<T> {
    pub fn new(space: &Cuda, host: &Array<T>, first: usize) -> Self {
        let items = [&vec![T::of(GAP); first][..], &host.items].concat();
        let (extents, strides) = (host.extents.clone(), host.strides.clone());
        OnDevice { array: space.upload(&items).unwrap(), first, extents, strides }
    }

    fn view<const R: usize>(&self) -> DeviceView<'_, T, R> {
        let [extents, strides] = [&self.extents, &self.strides].map(|x| x[..].try_into().unwrap());
        DeviceView::with_strides(&self.array, self.first, extents, strides).unwrap()
    }

    fn view_mut<const R: usize>(&mut self) -> DeviceViewMut<'_, T, R> {
        let [extents, strides] = [&self.extents, &self.strides].map(|x| x[..].try_into().unwrap());
        DeviceViewMut::with_strides(&mut self.array, self.first, extents, strides).unwrap()
    }

    /// All of the memory, to be compared bit by bit.
    pub fn bits(&self, space: &Cuda) -> Vec<u64> {
        let items = space.download(&self.array).unwrap();
        assert!(items[..self.first].iter().all(|x| Into::<f64>::into(*x) == GAP), "written before the view");
        items[self.first..].iter().map(|&x| Into::<f64>::into(x).to_bits()).collect()
    }
}

pub type Host<T> = fn(&Array<T>, &Array<T>, &mut Array<T>, Sum) -> Result<()>;
pub type Device<T> = fn(&With<'_>, &OnDevice<T>, &OnDevice<T>, &mut OnDevice<T>, Sum) -> Result<()>;

/// One of the nine, here and there.
pub struct Kernel<T: Real> {
    pub name: &'static str,
    pub form: Form,
    pub rank: usize,
    pub host: Host<T>,
    pub device: Device<T>,
}

macro_rules! nine {
    ($($form:ident $rank:literal $kernel:ident;)*) => {
        pub fn nine<T: Real>() -> [Kernel<T>; 9] {
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

impl<T: Real> Kernel<T> {
    /// Extents of both inputs and the output.
    pub fn extents(&self, sizes: &Sizes) -> [Vec<usize>; 3] {
        Formula(self.form, self.rank).extents(sizes)
    }
}

/// The output's memory, or the refusal, which none of `ALWAYS` may give.
pub fn run<T: Real>(
    space: &Cuda,
    kernel: &Kernel<T>,
    variant: Variant,
    inputs: &[OnDevice<T>; 2],
    before: &Array<T>,
    sum: Sum,
) -> std::result::Result<Vec<u64>, String> {
    let mut out = OnDevice::new(space, before, inputs[0].first);
    let done = (kernel.device)(&With(space, variant), &inputs[0], &inputs[1], &mut out, sum);
    let bits = out.bits(space);
    done.map(|()| bits.clone()).map_err(|error| {
        assert!(bits == before.bits(), "{} {variant}: refused, and the output has changed", kernel.name);
        let error = error.to_string();
        assert!(!ALWAYS.contains(&variant), "{}: {error}", kernel.name);
        assert!(error.contains(&format!("variant {variant}:")), "{}: {error}", kernel.name);
        error
    })
}

/// Counts the cases in which each variant applied.
#[derive(Default)]
pub struct Applied(std::collections::BTreeMap<String, usize>);

impl Applied {
    fn note(&mut self, variant: Variant) {
        *self.0.entry(variant.to_string()).or_default() += 1;
    }

    pub fn check<'a>(&self, variants: impl IntoIterator<Item = &'a Variant>) {
        for variant in variants.into_iter().map(Variant::to_string) {
            assert!(self.0.contains_key(&variant), "{variant} was never tried: {:?}", self.0);
        }
    }
}

/// Small integers: exact in any order, so every variant gives the naive loops' bits.
pub fn exact<T: Real>(
    space: &Cuda,
    kernel: &Kernel<T>,
    sizes: &Sizes,
    places: &[[Place; 3]],
    variants: &[Variant],
    applied: &mut Applied,
) {
    let [a_extents, b_extents, out_extents] = kernel.extents(sizes);
    let a = Array::new(&a_extents, PACKED[1], 0.0, integer(1));
    let b = Array::new(&b_extents, PACKED[1], 0.0, integer(2));
    let mut naive = Array::new(&out_extents, PACKED[1], 0.0, |_| T::of(0.0));
    Formula(kernel.form, kernel.rank).pairs(sizes, &a, &b, |index, pairs| {
        let at = naive.offset(index);
        naive.items[at] = pairs.iter().fold(T::of(0.0), |sum, &(x, y)| sum + x * y);
    });
    for (places, first) in places.iter().flat_map(|places| FIRST.map(|first| (places, first))) {
        let inputs = [(&a, places[0]), (&b, places[1])].map(|(x, place)| OnDevice::new(space, &x.moved(place), first));
        for (sum, old, begin) in [(Sum::Overwrite, f64::NAN, 0.0), (Sum::Into, 2.0, 2.0)] {
            let before = Array::new(&out_extents, places[2], GAP, |_| T::of(old));
            let wanted = Array::new(&out_extents, places[2], GAP, |index| T::of(begin) + naive.at(index)).bits();
            for &variant in variants {
                if let Ok(found) = run(space, kernel, variant, &inputs, &before, sum) {
                    let name = kernel.name;
                    assert!(found == wanted, "{name} {variant} {sizes:?} {places:?} from {first} on, {sum:?}");
                    applied.note(variant);
                }
            }
        }
    }
}

/// Random numbers: within K eps sum|a||b| of sums in twice the precision, the same bits again, those of flat where promised.
pub fn bounded<T: Real>(
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
    for (sum, old) in [(Sum::Overwrite, f64::NAN), (Sum::Into, 2.0)] {
        let before = Array::new(&extents[2], place, GAP, |_| T::of(old));
        // With `Sum::Into` the old value is one more term.
        let (begin, more) = if sum == Sum::Into { (old, 1) } else { (0.0, 0) };
        let mut wanted = Vec::new();
        Formula(kernel.form, kernel.rank).pairs(sizes, &a, &b, |index, pairs| {
            let (value, size) = accurate(pairs, begin);
            wanted.push((before.offset(index), value, (pairs.len() + more) as f64 * T::EPSILON * size));
        });
        for first in FIRST {
            let inputs = [OnDevice::new(space, &a, first), OnDevice::new(space, &b, first)];
            let what = |variant| format!("{} {variant} {sizes:?} {place:?} from {first} on, {sum:?}", kernel.name);
            let within = |variant: Variant, found: &[u64]| {
                for &(at, value, bound) in &wanted {
                    let error = (f64::from_bits(found[at]) - value).abs();
                    assert!(error <= bound, "{} item {at}: {error} > {bound}", what(variant));
                }
            };
            let flat = run(space, kernel, Variant::Flat, &inputs, &before, sum).unwrap();
            within(Variant::Flat, &flat);
            for &variant in variants {
                let Ok(found) = run(space, kernel, variant, &inputs, &before, sum) else { continue };
                applied.note(variant);
                if found != flat {
                    within(variant, &found);
                }
                assert!(!variant.keeps_order() || found == flat, "{}: not the bits of flat", what(variant));
                if variant != Variant::SegmentsAtomic {
                    let again = run(space, kernel, variant, &inputs, &before, sum).unwrap();
                    assert!(found == again, "{}: other bits at the second run", what(variant));
                }
            }
        }
    }
}

/// All places the same, and each place once in each position beside others.
pub fn places() -> Vec<[Place; 3]> {
    let mut places: Vec<[Place; 3]> = PLACES.map(|place| [place; 3]).into();
    places.extend((0..4).map(|i| [PLACES[i], PLACES[(i + 1) % 4], PLACES[(i + 3) % 4]]));
    places.push([PACKED[1], PACKED[1], PACKED[0]]);
    places
}

/// Small integers in every kernel, place and kind of shape.
pub fn integers<T: Real>(space: &Cuda, variants: &[Variant]) {
    let mut applied = Applied::default();
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
            exact(space, &kernel, sizes, &places(), variants, &mut applied);
            if kernel.form == Form::DataField {
                let constant = Sizes { data_points: 1, ..*sizes };
                exact(space, &kernel, &constant, &places(), variants, &mut applied);
            }
        }
    }
    applied.check(variants);
}

/// Random numbers in every kernel and place.
pub fn random_numbers<T: Real>(space: &Cuda, variants: &[Variant]) {
    let mut applied = Applied::default();
    for kernel in nine::<T>() {
        for place in PLACES {
            for sizes in [
                sizes(33, [8, 8], 8, [3, 3]),
                sizes(17, [5, 7], 27, [2, 1]),
                sizes(2, [20, 21], 33, [4, 4]),
                sizes(9, [6, 3], 1025, [1, 1]),
            ] {
                bounded(space, &kernel, &sizes, place, variants, &mut applied);
            }
        }
    }
    applied.check(variants);
}
