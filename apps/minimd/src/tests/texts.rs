//! What a GPU compiles, without a GPU: the functions in the loops of the layer.

use crate::functions::{
    CountBins, CountGhosts, End, Energy, Full, Ghosts, Half, HalfSlabs, KeepBins, Largest, Leaves, List, ListGhosts,
    Lost, Pack, PlaceAtoms, Reorder, SortBin, Split, Squares, Start, Sum, Sums, Unpack, Wrap,
};
use minifenl::space::DeviceText;
use minifenl::space::cuda::Architecture;
use support::{Functions, indices_front, items_front, loop_text, reduction_front};

fn of<F: DeviceText>() -> Functions {
    Functions::of::<F>(F::TEXT, F::NAME)
}

#[test]
fn nvrtc_compiles_the_functions() {
    let texts = [
        items_front(of::<Start>(), 1, 2),
        items_front(of::<End>(), 1, 1),
        reduction_front(of::<Squares>(), 1, Some(true)),
        reduction_front(of::<Sums>(), 2, Some(true)),
        reduction_front(of::<Largest>(), 1, Some(true)),
        reduction_front(of::<Sum>(), 1, Some(true)),
        reduction_front(of::<Sum>(), 1, None),
        reduction_front(of::<Lost>(), 1, Some(true)),
        items_front(of::<Wrap>(), 0, 1),
        indices_front(of::<CountBins>(), [1, 0, 3], "unsigned"),
        indices_front(of::<PlaceAtoms>(), [0, 3, 1], "unsigned"),
        indices_front(of::<SortBin>(), [0, 1, 1], "unsigned"),
        indices_front(of::<KeepBins>(), [0, 2, 2], "unsigned"),
        indices_front(of::<Reorder>(), [2, 1, 2], "double"),
        indices_front(of::<Leaves>(), [1, 0, 1], "unsigned"),
        indices_front(of::<Split>(), [0, 2, 2], "unsigned"),
        indices_front(of::<Pack>(), [2, 1, 1], "double"),
        indices_front(of::<Unpack>(), [1, 0, 2], "double"),
        indices_front(of::<CountGhosts>(), [2, 0, 1], "unsigned"),
        indices_front(of::<ListGhosts>(), [2, 2, 2], "unsigned"),
        indices_front(of::<Ghosts>(), [1, 2, 1], "double"),
        indices_front(of::<List>(), [1, 4, 2], "unsigned"),
        indices_front(of::<Full>(), [1, 2, 1], "double"),
        indices_front(of::<Half>(), [1, 2, 1], "double"),
        indices_front(of::<HalfSlabs>(), [1, 3, 1], "double"),
        indices_front(of::<Energy>(), [1, 2, 2], "double"),
    ];
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let target = Architecture::new(architecture);
        let Some(target) = support::or_skip("nvrtc_compiles_the_functions", target, "MINIFENL_NEEDS_NVRTC") else {
            return;
        };
        for text in &texts {
            target.compile("minimd", &loop_text(text)).unwrap_or_else(|error| panic!("{architecture}: {error}"));
        }
    }
}
