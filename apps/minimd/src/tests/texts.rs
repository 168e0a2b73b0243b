//! What a GPU compiles, without a GPU: the functions in the loops of the layer.

use crate::functions::{
    CountBins, CountGhosts, End, Energy, Full, Ghosts, Half, HalfSlabs, Largest, Layers, Leaves, List, ListGhosts,
    Lost, Pack, PlaceAtoms, Reorder, SortBin, Split, Squares, Start, Sum, Sums, Unpack, Wrap,
};
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
        reduction_text(of::<Sum>(), 1, Some(true)),
        reduction_text(of::<Sum>(), 1, None),
        reduction_text(of::<Lost>(), 1, Some(true)),
        items_text(of::<Wrap>(), 0, 1),
        indices_text(of::<CountBins>(), [1, 0, 3], "unsigned"),
        indices_text(of::<PlaceAtoms>(), [0, 3, 1], "unsigned"),
        indices_text(of::<SortBin>(), [0, 1, 1], "unsigned"),
        indices_text(of::<Layers>(), [0, 1, 1], "unsigned"),
        indices_text(of::<Reorder>(), [2, 1, 2], "double"),
        indices_text(of::<Leaves>(), [1, 0, 1], "unsigned"),
        indices_text(of::<Split>(), [0, 2, 2], "unsigned"),
        indices_text(of::<Pack>(), [2, 1, 1], "double"),
        indices_text(of::<Unpack>(), [1, 0, 2], "double"),
        indices_text(of::<CountGhosts>(), [2, 0, 1], "unsigned"),
        indices_text(of::<ListGhosts>(), [2, 2, 2], "unsigned"),
        indices_text(of::<Ghosts>(), [1, 2, 1], "double"),
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
