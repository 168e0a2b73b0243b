//! What GPUs compile, without a GPU: the functions in the loops of the layer, and the kernels by hand.

use crate::functions::{
    Add, AddByExchange, AddUnshared, Axpby, Centroid, Dot, Full, Gram, Half, HalfUnshared, Normalise, Prefix, Project,
    Ramp, RowProduct, Scale, Series, Triad,
};
use crate::native::TEXT;
use minifenl::space::DeviceText;
use minifenl::space::cuda::Architecture;
use support::{Functions, indices_front, items_front, loop_text, reduction_front, teams_front, tiles_front};

/// A struct of functions.
fn of<F: DeviceText>() -> Functions {
    Functions::of::<F>(F::TEXT, F::NAME)
}

#[test]
fn nvrtc_compiles_the_functions_and_the_kernels_by_hand() {
    let texts = [
        items_front(of::<Ramp>(), 0, 1),
        items_front(of::<Scale>(), 0, 1),
        items_front(of::<Axpby>(), 1, 1),
        items_front(of::<Triad>(), 2, 1),
        reduction_front(of::<Dot>(), 2, Some(true)),
        reduction_front(of::<Centroid>(), 4, Some(true)),
        reduction_front(of::<Prefix>(), 1, None),
        indices_front(of::<Add>(), [0, 1, 1], "double"),
        indices_front(of::<AddByExchange>(), [0, 1, 1], "double"),
        indices_front(of::<AddUnshared>(), [0, 1, 1], "double"),
        indices_front(of::<Full>(), [1, 2, 1], "double"),
        indices_front(of::<Half>(), [1, 2, 1], "double"),
        indices_front(of::<HalfUnshared>(), [1, 2, 1], "double"),
        items_front(of::<Series>(), 1, 1),
        indices_front(of::<Normalise>(), [1, 0, 1], "double"),
        indices_front(of::<Project>(), [2, 0, 1], "double"),
        teams_front(of::<RowProduct>(), [2, 2, 1], 8),
        tiles_front(of::<Gram>(), [16, 0, 1], [256, 528]),
    ];
    let texts: Vec<String> = texts.iter().map(|front| loop_text(front)).chain([TEXT.into()]).collect();
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
