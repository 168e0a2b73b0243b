//! The coefficients against the determinant itself, and elements that each of the three tests decides.

use super::*;
use crate::element::geometry::jacobian;
use crate::element::testing::{CORNERS, determinants, distorted_hex};
use crate::element::{Basis, ElementType};
use proptest::prelude::*;

/// det J of the map from [0, 1]^3 at a point, by the basis functions.
fn determinant(coords: &[Vector; 8], point: Vector) -> f64 {
    let [u, v, w] = jacobian(*coords, &Basis::new(ElementType::Hex8).gradients(point.map(|x| 2.0 * x - 1.0)));
    8.0 * dot(u, cross(v, w))
}

/// The smallest determinant on a grid of n^3 points.
fn sampled(coords: &[Vector; 8], n: usize) -> f64 {
    let at = |i: usize| i as f64 / (n - 1) as f64;
    (0..n * n * n).map(|i| determinant(coords, [at(i % n), at(i / n % n), at(i / n / n)])).fold(f64::INFINITY, f64::min)
}

fn cube() -> [Vector; 8] {
    CORNERS.map(|corner| corner.map(|x| 0.5 * (x + 1.0)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
    #[test]
    fn coefficients_sum_to_the_determinant(coords in distorted_hex(), point in prop::array::uniform3(0.0..1.0f64)) {
        let all = coefficients(&edges(&coords));
        let weights = point.map(|x| [(1.0 - x) * (1.0 - x), 2.0 * x * (1.0 - x), x * x]);
        let sum: f64 = (0..27).map(|at| all[at] * weights[0][at % 3] * weights[1][at / 3 % 3] * weights[2][at / 9]).sum();
        prop_assert!((sum - determinant(&coords, point)).abs() < 1e-13);
        // Halves have the same polynomial: their corners are its values.
        let upper = Bernstein { degree: 2, all: all.to_vec() }.half(1, 1).all;
        prop_assert!((upper[0] - determinant(&coords, [0.0, 0.5, 0.0])).abs() < 1e-13);
        prop_assert_eq!(upper[6], all[6]);
    }

    /// Elements with moves so large that about half of them are folded.
    #[test]
    fn what_passes_is_positive_everywhere_and_what_fails_is_not(
        moves in prop::array::uniform8(prop::array::uniform3(-0.45..0.45f64))
    ) {
        let mut coords = cube();
        (0..8).for_each(|m| (0..3).for_each(|d| coords[m][d] += moves[m][d]));
        let least = sampled(&coords, 9);
        match fold(&coords) {
            None => prop_assert!(least > 0.0, "{least}"),
            Some((FoldPlace::Corner(corner), value)) => {
                let exact = determinant(&coords, CORNERS[corner].map(|x| 0.5 * (x + 1.0)));
                prop_assert!(value <= 0.0 && (value - exact).abs() < 1e-13);
            }
            Some((FoldPlace::Inside(point), value)) => {
                prop_assert!(value <= 0.0 && (value - determinant(&coords, point)).abs() < 1e-13);
            }
            // Only what is nearly folded stays open.
            Some((FoldPlace::Point(_), _)) => prop_assert!(false, "not at points of a rule"),
            Some((FoldPlace::Around(_), value)) => prop_assert!(value <= 0.0 && least < 0.01, "{least}"),
        }
    }

    /// Elements that the cheap test lets pass.
    #[test]
    fn the_cheap_test_is_on_the_safe_side(moves in prop::array::uniform8(prop::array::uniform3(-0.15..0.15f64))) {
        let mut coords = cube();
        (0..8).for_each(|m| (0..3).for_each(|d| coords[m][d] += moves[m][d]));
        if is_clearly_positive(&edges(&coords)) {
            prop_assert!(coefficients(&edges(&coords)).iter().all(|&value| value > 0.0));
        }
    }
}

#[test]
fn bricks_of_any_shape_pass_the_cheap_test_alone() {
    for size in [[1.0, 1.0, 1.0], [1e-3, 1.0, 1e3], [1e-90, 1e-90, 1e90]] {
        let coords = cube().map(|x| std::array::from_fn(|d| 0.3 * size[d] + x[d] * size[d]));
        assert!(is_clearly_positive(&edges(&coords)), "{size:?}");
    }
}

#[test]
fn a_negative_corner_is_found_where_gauss_points_are_positive() {
    // The node (1, 1, 1) behind the plane of its three neighbours.
    let mut coords = cube();
    coords[6] = [0.6; 3];
    assert!(determinants(coords).iter().all(|&d| d > 0.0), "{:?}", determinants(coords));
    assert!(matches!(fold(&coords), Some((FoldPlace::Corner(6), value)) if value < 0.0));
}

#[test]
fn a_determinant_of_exactly_zero_is_folded() {
    // The node (1, 0, 0) on the node (0, 0, 0): a wedge. And a flat element.
    let mut wedge = cube();
    wedge[1] = wedge[0];
    assert_eq!(fold(&wedge), Some((FoldPlace::Corner(0), 0.0)));
    assert_eq!(fold(&cube().map(|[x, y, _]| [x, y, 0.5])), Some((FoldPlace::Corner(0), 0.0)));
    let mut unknown = cube();
    unknown[3][1] = f64::NAN;
    assert!(fold(&unknown).is_some());
    assert!(fold(&cube().map(|[x, y, z]| [x, y, -z])).is_some(), "mirrored");
}

/// Two nodes above each other, moved along x past their neighbours: the mean edge vectors stay those of an upright element.
#[test]
fn an_edge_pushed_through_its_element_is_folded() {
    for (past, folded) in [(0.9, false), (1.0, true), (1.2, true), (1.9, true)] {
        let coords = cube().map(|[x, y, z]| if x == 1.0 && y == 1.0 { [x - past, y, z] } else { [x, y, z] });
        assert_eq!(fold(&coords).is_some(), folded, "{past}");
    }
}

/// Corners and Gauss points are positive here; an edge or the inside is not.
#[test]
fn a_fold_between_positive_corners_and_gauss_points_is_found() {
    let first: [Vector; 8] = [
        [0.2, 0.1, 0.0],
        [0.5, 0.4, -0.2],
        [1.5, 0.6, 0.5],
        [0.5, 0.7, -0.2],
        [0.0, -0.3, 1.3],
        [1.2, 0.1, 0.9],
        [0.5, 1.1, 1.0],
        [-0.3, 1.0, 0.6],
    ];
    let second: [Vector; 8] = [
        [0.0, -0.4, -0.3],
        [1.5, 0.5, 0.4],
        [0.7, 1.3, -0.3],
        [0.2, 0.7, 0.4],
        [-0.5, 0.4, 0.5],
        [1.1, 0.1, 1.0],
        [1.3, 1.2, 1.4],
        [0.4, 0.9, 0.5],
    ];
    for coords in [first, second] {
        assert!(determinants(coords).iter().all(|&d| d > 0.0));
        assert!(cube().iter().all(|&corner| determinant(&coords, corner) > 0.03) && sampled(&coords, 9) < -0.02);
        assert!(matches!(fold(&coords), Some((FoldPlace::Inside(_), value)) if value <= 0.0), "{:?}", fold(&coords));
    }
}

/// A coefficient of this element is -0.06, and its determinant 0.08 or more: smaller parts show it.
#[test]
fn an_element_that_only_its_parts_show_to_be_positive_passes() {
    let coords: [Vector; 8] = [
        [0.1, 0.4, -0.4],
        [0.7, 0.5, 0.4],
        [1.5, 1.0, -0.4],
        [-0.5, 1.1, 0.4],
        [0.2, -0.5, 1.2],
        [0.6, 0.5, 1.5],
        [0.8, 1.2, 1.0],
        [0.3, 0.6, 1.0],
    ];
    assert!(coefficients(&edges(&coords)).iter().any(|&value| value < -0.05) && sampled(&coords, 9) > 0.08);
    assert_eq!(fold(&coords), None);
}
