//! What GPUs compile, without a GPU: the functions in the loops of the layer, and the kernels by hand.

use crate::functions::{
    Add, AddByExchange, AddUnshared, Axpby, Centroid, Dot, Full, Half, HalfUnshared, Prefix, Ramp, Scale, Triad,
};
use crate::native::TEXT;
use minifenl::space::DeviceText;
use minifenl::space::cuda::Architecture;
use support::{Functions, indices_text, items_text, reduction_text};

/// A struct of functions.
fn of<F: DeviceText>() -> Functions {
    [F::TEXT, F::NAME]
}

#[test]
fn nvrtc_compiles_the_functions_and_the_kernels_by_hand() {
    let texts = [
        items_text(of::<Ramp>(), 0, 1),
        items_text(of::<Scale>(), 0, 1),
        items_text(of::<Axpby>(), 1, 1),
        items_text(of::<Triad>(), 2, 1),
        reduction_text(of::<Dot>(), 2, Some(true)),
        reduction_text(of::<Centroid>(), 4, Some(true)),
        reduction_text(of::<Prefix>(), 1, None),
        indices_text(of::<Add>(), [0, 1, 1], "double"),
        indices_text(of::<AddByExchange>(), [0, 1, 1], "double"),
        indices_text(of::<AddUnshared>(), [0, 1, 1], "double"),
        indices_text(of::<Full>(), [1, 2, 1], "double"),
        indices_text(of::<Half>(), [1, 2, 1], "double"),
        indices_text(of::<HalfUnshared>(), [1, 2, 1], "double"),
        TEXT.into(),
    ];
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let test = "nvrtc_compiles_the_functions_and_the_kernels_by_hand";
        let Some(target) = support::or_skip(test, Architecture::new(architecture), "MINIFENL_NEEDS_NVRTC") else {
            return;
        };
        for text in &texts {
            target.compile("kernels", text).unwrap_or_else(|error| panic!("{architecture}: {error}"));
        }
    }
}
