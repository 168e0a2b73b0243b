//! What a GPU compiles, without a GPU: the functions in the loops of the layer.

use crate::functions::{End, Energy, Full, Ghosts, Half, HalfSlabs, Largest, List, Squares, Start, Sums};
use minifenl::space::DeviceText;
use minifenl::space::cuda::Architecture;
use support::{Functions, indices_text, items_text, reduction_text};

fn of<F: DeviceText>() -> Functions {
    [F::TEXT, F::NAME]
}

#[test]
fn nvrtc_compiles_the_functions() {
    let texts = [
        items_text(of::<Start>(), 1, 2),
        items_text(of::<End>(), 1, 1),
        reduction_text(of::<Squares>(), 1, Some(true)),
        reduction_text(of::<Sums>(), 2, Some(true)),
        reduction_text(of::<Largest>(), 1, Some(true)),
        indices_text(of::<Ghosts>(), [1, 1, 1], "double"),
        indices_text(of::<List>(), [1, 4, 2], "unsigned"),
        indices_text(of::<Full>(), [1, 2, 1], "double"),
        indices_text(of::<Half>(), [1, 2, 1], "double"),
        indices_text(of::<HalfSlabs>(), [1, 3, 1], "double"),
        indices_text(of::<Energy>(), [1, 2, 2], "double"),
    ];
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let target = Architecture::new(architecture);
        let Some(target) = support::or_skip("nvrtc_compiles_the_functions", target, "MINIFENL_NEEDS_NVRTC") else {
            return;
        };
        for text in &texts {
            target.compile("minimd", text).unwrap_or_else(|error| panic!("{architecture}: {error}"));
        }
    }
}
