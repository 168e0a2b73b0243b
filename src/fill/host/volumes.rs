//! The only place that lists element types with their numbers of nodes, dofs and points: what element loops have as constants.

/// Evaluates the macro `$build!(equation, dofs, nodes, dofs * nodes, points)` for the equation of a model and an element; other
/// elements are the error `$refused`.
macro_rules! on_volume {
    ($model:expr, $element:expr, $build:ident, $refused:expr) => {{
        let jacobian = $model.jacobian;
        match $model.equation {
            ModelEquation::Scalar(equation) => on_volume!(@ $build $element, WithJacobian { equation, jacobian }, 1, $refused;
                Hex8 8 8 8, Hex20 20 20 27, Hex27 27 27 27, Tet4 4 4 4, Tet10 10 10 14, Wedge6 6 6 6),
            ModelEquation::Elastic(equation) => on_volume!(@ $build $element, WithJacobian { equation, jacobian }, 3, $refused;
                Hex8 8 24 8, Hex20 20 60 27, Hex27 27 81 27, Tet4 4 12 4, Tet10 10 30 14, Wedge6 6 18 6),
        }
    }};
    (@ $build:ident $type:expr, $equation:expr, $dofs:literal, $refused:expr;
     $($element:ident $nodes:literal $all:literal $points:literal),*) => {
        match $type {
            $(ElementType::$element => $build!($equation, $dofs, $nodes, $all, $points),)*
            ElementType::Tri3 | ElementType::Quad4 => $refused,
        }
    };
}
pub(super) use on_volume;
