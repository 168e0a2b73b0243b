//! `DualView` on a GPU: as on hosts, and with a kernel that writes the GPU's side.

use super::gpu;
use crate::views::dual_views_copy_what_is_newer;
use minifenl::blas::Blas;
use minifenl::space::{DeviceView, DeviceViewMut, DualView, ExecutionSpace, Item, Serial, View, ViewMut, remap};

#[test]
fn dual_views_copy_what_is_newer_on_a_gpu() {
    let Some(space) = gpu("dual_views_copy_what_is_newer_on_a_gpu") else { return };
    dual_views_copy_what_is_newer(&space);
    let (x, mut y) =
        (DualView::new(&space, vec![1.0, 2.0, 3.0]).unwrap(), DualView::new(&space, vec![10.0; 3]).unwrap());
    space.axpy(3, 2.0, x.device().unwrap(), y.modify_device().unwrap()).unwrap();
    assert!(y.host().is_err() && y.sync_host().unwrap());
    assert_eq!(y.host().unwrap(), [12.0, 14.0, 16.0]);
}

/// Copies numbers from one view to another on the GPU and by [`Serial`]; what lies between the items keeps its value.
fn check_remap<T: Item, const R: usize>(
    name: &str,
    space: &minifenl::space::Cuda,
    extents: [usize; R],
    [from, to]: [[usize; R]; 2],
    number: impl Fn(usize) -> T,
) {
    let len =
        |strides: [usize; R]| extents.iter().zip(strides).map(|(e, s)| e.saturating_sub(1) * s).sum::<usize>() + 1;
    let numbers: Vec<T> = (0..len(from)).map(&number).collect();
    let filler = number(usize::MAX);
    let mut expected = vec![filler; len(to)];
    let view = View::with_strides(&numbers, extents, from).unwrap();
    remap(&Serial, &view, &mut ViewMut::with_strides(&mut expected, extents, to).unwrap()).unwrap();
    let (on_gpu, mut out) = (space.upload(&numbers).unwrap(), space.upload(&vec![filler; len(to)]).unwrap());
    let view = DeviceView::with_strides(&on_gpu, 0, extents, from).unwrap();
    remap(space, &view, &mut DeviceViewMut::with_strides(&mut out, 0, extents, to).unwrap()).unwrap();
    assert!(space.download(&out).unwrap() == expected, "{name}: {extents:?}, {from:?} to {to:?}");
}

#[test]
fn remapping_keeps_the_indices_of_items_on_a_gpu() {
    let Some(space) = gpu("remapping_keeps_the_indices_of_items_on_a_gpu") else { return };
    let space = &space;
    let layouts = |extents: [usize; 3]| {
        let [a, b, c] = extents;
        let (left, right) = ([1, a, a * b], [b * c, c, 1]);
        // With gaps; with the middle index the fastest.
        [left, right, [2, 2 * a + 3, (2 * a + 3) * b + 7], [b, 1, a * b]]
    };
    for extents in [[1, 1, 1], [3, 1, 5], [33, 7, 65], [100, 40, 31], [16, 17, 1000], [0, 4, 4]] {
        for from in layouts(extents) {
            for to in layouts(extents) {
                let strides = [from, to];
                check_remap("u8", space, extents, strides, |i| i as u8);
                check_remap("u32", space, extents, strides, |i| i as u32);
                check_remap("f64", space, extents, strides, |i| i as f64);
                check_remap("points", space, extents, strides, |i| [i as f64, 0.5, -(i as f64)]);
            }
        }
    }
    // One value for all items of an index, tiles of 8 x 4 items.
    check_remap("broadcast", space, [40, 50], [[0, 1], [1, 40]], |i| i as u32);
    check_remap("tiles", space, [9, 8, 20, 4], [[640, 80, 4, 1], [640, 4, 32, 1]], |i| i as f64);
    check_remap("tiles", space, [9, 8, 20, 4], [[640, 4, 32, 1], [1, 9, 72, 1440]], |i| i as f64);
    let (numbers, mut out) = (space.upload(&[1.0; 128]).unwrap(), space.zeros::<f64>(128).unwrap());
    let view = DeviceView::new(&numbers, [2; 7], minifenl::space::Layout::Left).unwrap();
    let refused =
        remap(space, &view, &mut DeviceViewMut::new(&mut out, [2; 7], minifenl::space::Layout::Right).unwrap());
    assert!(refused.unwrap_err().to_string().contains("expected at most 6"));
}
