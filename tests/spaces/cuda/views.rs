//! `DualView` on a GPU: as on hosts, and with a kernel that writes the GPU's side.

use super::gpu;
use crate::views::dual_views_copy_what_is_newer;
use minifenl::blas::Blas;
use minifenl::space::DualView;

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
