//! The element types that element loops are compiled for.

/// Evaluates `build!(arguments, nodes, points)` with the constants of an element, or `$refused` for one of fewer dimensions.
macro_rules! on_volume {
    ($element:expr, $build:ident($($argument:expr),*), $refused:expr) => {
        match $element {
            ElementType::Hex8 => on_volume!(@ Hex8, $build($($argument),*)),
            ElementType::Hex20 => on_volume!(@ Hex20, $build($($argument),*)),
            ElementType::Hex27 => on_volume!(@ Hex27, $build($($argument),*)),
            ElementType::Tet4 => on_volume!(@ Tet4, $build($($argument),*)),
            ElementType::Tet10 => on_volume!(@ Tet10, $build($($argument),*)),
            ElementType::Wedge6 => on_volume!(@ Wedge6, $build($($argument),*)),
            ElementType::Wedge15 => on_volume!(@ Wedge15, $build($($argument),*)),
            _ => $refused,
        }
    };
    (@ $volume:ident, $build:ident($($argument:expr),*)) => {
        $build!($($argument,)* { ElementType::$volume.nodes() }, { ElementType::$volume.points() })
    };
}
pub(super) use on_volume;
