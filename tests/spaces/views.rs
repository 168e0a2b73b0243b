//! `DualView` on any space: what is copied, and what is refused.

use minifenl::space::{DualView, ExecutionSpace, Serial, Threads};

const COUNT: usize = 1009;

fn numbers(factor: f64) -> Vec<f64> {
    (0..COUNT).map(|i| factor * (i as f64 + 0.5)).collect()
}

/// Changes on either side arrive on the other one when they are copied, and not before.
pub fn dual_views_copy_what_is_newer<S: ExecutionSpace>(space: &S) {
    let mut view = DualView::new(space, numbers(1.0)).unwrap();
    assert!(!view.sync_host().unwrap() && !view.sync_device().unwrap());
    view.modify_host().unwrap().copy_from_slice(&numbers(2.0));
    assert!(view.needs_sync_device() && !view.needs_sync_host());
    let message = view.device().unwrap_err().to_string();
    assert!(
        message.contains("DualView::device: the host holds changes") && message.contains("sync_device"),
        "{message}"
    );
    assert!(view.modify_device().unwrap_err().to_string().contains("modify_device"));
    assert!(view.sync_device().unwrap() && !view.sync_device().unwrap());
    // What the space holds.
    let held = |view: &mut DualView<f64, S>| {
        let mut copy = space.zeros::<f64>(COUNT).unwrap();
        assert!(view.modify_device().is_ok() && view.sync_host().unwrap());
        space.overwrite(view.host().unwrap(), &mut copy).unwrap();
        space.download(&copy).unwrap()
    };
    assert_eq!(held(&mut view), numbers(2.0));
    // The space is newer: the host's numbers are not handed out.
    let _ = view.modify_device().unwrap();
    let message = view.host().unwrap_err().to_string();
    assert!(message.contains(&space.label()) && message.contains("sync_host"), "{message}");
    assert!(view.modify_host().is_err());
    assert!(view.sync_host().unwrap() && !view.needs_sync_host());
    assert_eq!(view.host().unwrap(), numbers(2.0));
    let zeros = DualView::<u32, S>::zeros(space, 3).unwrap();
    assert_eq!((zeros.host().unwrap(), zeros.len(), zeros.is_empty()), (&[0; 3][..], 3, false));
    let mut short = space.zeros::<f64>(2).unwrap();
    assert!(space.overwrite(&[1.0; 3], &mut short).is_err());
    space.overwrite(&[4.0], &mut short).unwrap();
    assert_eq!(space.download(&short).unwrap(), [4.0, 0.0]);
}

#[test]
fn on_hosts() {
    dual_views_copy_what_is_newer(&Serial);
    dual_views_copy_what_is_newer(&Threads::new(3).unwrap());
}
