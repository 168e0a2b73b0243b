//! The element types that element loops are compiled for.

/// Evaluates an expression with an element's type as the constant `$of`, or calls a function with the numbers of dofs per node, nodes and
/// dofs as constants; `$refused` for an element of fewer dimensions.
macro_rules! on_volume {
    ($element:expr, |$of:ident| $made:expr, $refused:expr) => {
        on_volume!(@ [Hex8 Hex20 Hex27 Tet4 Tet10 Wedge6 Wedge15] $element, $of, $made, $refused)
    };
    ($element:expr, $build:ident::<$dofs:literal> $arguments:tt, $refused:expr) => {
        on_volume!($element, |OF| $build::<$dofs, { OF.nodes() }, { $dofs * OF.nodes() }> $arguments, $refused)
    };
    (@ [$($volume:ident)*] $element:expr, $of:ident, $made:expr, $refused:expr) => {
        match $element {
            $(ElementType::$volume => {
                const $of: ElementType = ElementType::$volume;
                $made
            })*
            _ => $refused,
        }
    };
}
pub(super) use on_volume;
