//! The nine contractions against naive loops by the variants that always apply: all layouts, ragged sizes, over NaNs and into
//! old values; wrong shapes and views are refused.

use super::contraction_cases::arrays::{Array, PACKED};
use super::contraction_cases::{ALWAYS, Applied, OnDevice, bounded, integers, nine, random_numbers, sizes};
use super::gpu;
use minifenl::contraction::{Sum, Variant, With, data_data_scalar};
use minifenl::space::lanes::Real;
use minifenl::space::{Cuda, DeviceView, DeviceViewMut, ExecutionSpace, Layout, remap};

#[test]
fn integers_are_exact_in_f32() {
    let Some(space) = gpu("integers_are_exact_in_f32") else { return };
    integers::<f32>(&space, &ALWAYS);
}

#[test]
fn integers_are_exact_in_f64() {
    let Some(space) = gpu("integers_are_exact_in_f64") else { return };
    integers::<f64>(&space, &ALWAYS);
}

fn random<T: Real>(space: &Cuda) {
    random_numbers::<T>(space, &ALWAYS);
    // So many cells that the largest tile is chosen.
    for kernel in nine::<T>().iter().filter(|kernel| kernel.rank == 0) {
        bounded(space, kernel, &sizes(40_003, [8, 7], 3, [1, 1]), PACKED[0], &ALWAYS, &mut Applied::default());
    }
}

#[test]
fn random_numbers_are_within_the_rounding_bound_in_f32() {
    let Some(space) = gpu("random_numbers_are_within_the_rounding_bound_in_f32") else { return };
    random::<f32>(&space);
}

#[test]
fn random_numbers_are_within_the_rounding_bound_in_f64() {
    let Some(space) = gpu("random_numbers_are_within_the_rounding_bound_in_f64") else { return };
    random::<f64>(&space);
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
                let on_device = [OnDevice::new(&space, &a, 0), OnDevice::new(&space, &b, 0)];
                let (mut host, mut device) = (out.clone(), OnDevice::new(&space, &out, 0));
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
        let error = DeviceView::with_strides(&array, first, extents, strides).unwrap_err().to_string();
        assert!(error.contains("the array has 24"), "{error}");
    }
    assert!(DeviceView::with_strides(&array, 99, [0, 3, 4], [12, 4, 1]).is_ok());
    assert!(DeviceView::with_strides(&array, 0, [2, 3, 4], [0, 1, 1]).is_ok());
    // Items that share memory may be read, not written.
    let from = space.zeros::<f64>(24).unwrap();
    let from = DeviceView::new(&from, [2, 3, 4], Layout::Left).unwrap();
    let mut shared = DeviceViewMut::with_strides(&mut array, 0, [2, 3, 4], [0, 4, 1]).unwrap();
    let error = remap(&space, &from, &mut shared).unwrap_err().to_string();
    assert!(error.contains("share their place"), "{error}");
    // The same library call on the space itself.
    let (a, mut out) = (space.upload(&[1.0f64, 2.0, 3.0, 4.0]).unwrap(), space.zeros(2).unwrap());
    let a = DeviceView::new(&a, [2, 2], Layout::Right).unwrap();
    data_data_scalar(&space, &a, &a, &mut DeviceViewMut::new(&mut out, [2], Layout::Left).unwrap(), Sum::Overwrite)
        .unwrap();
    assert_eq!(space.download(&out).unwrap(), [5.0, 25.0]);
}
