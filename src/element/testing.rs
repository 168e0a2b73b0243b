//! Random elements for tests, and determinants at their points.

use super::geometry::{DIM, cross, dot, jacobian};
use super::{BasisTables, ElementType, HEX8_NODES};
use proptest::prelude::*;

/// Reference coordinates of each node of a hexahedron, `[node, axis]`.
pub const CORNERS: [[f64; DIM]; HEX8_NODES] = *ElementType::Hex8.reference_nodes().first_chunk().unwrap();

/// Generates hexahedra of size about one, anywhere near the origin. Nodes move by up to 0.18 per axis: no face stays
/// plane, and no element is folded.
pub fn distorted_hex() -> impl Strategy<Value = [[f64; DIM]; HEX8_NODES]> {
    let moves = prop::array::uniform8(prop::array::uniform3(-0.18..0.18f64));
    (moves, prop::array::uniform3(-2.0..2.0f64))
        .prop_map(|(moves, origin)| {
            let node = |m: usize, d: usize| origin[d] + 0.5 * CORNERS[m][d] + moves[m][d];
            std::array::from_fn(|m| std::array::from_fn(|d| node(m, d)))
        })
        .prop_filter("folded", |coords| min_determinant(*coords).1 > 0.01)
}

/// Generates nodal temperatures of both signs.
pub fn temperatures() -> impl Strategy<Value = [f64; HEX8_NODES]> {
    prop::array::uniform8(-3.0..3.0f64)
}

/// Returns det J of a trilinear hexahedron at its 2x2x2 Gauss points.
pub fn determinants(coords: [[f64; DIM]; HEX8_NODES]) -> [f64; 8] {
    let gradients = BasisTables::of(ElementType::Hex8).gradients;
    std::array::from_fn(|p| {
        let [x, y, z] = jacobian(coords, &gradients[HEX8_NODES * p..]);
        dot(x, cross(y, z))
    })
}

/// Returns the smallest of the [`determinants`] and its point. NaN coordinates give NaN, so that a check fails.
pub fn min_determinant(coords: [[f64; DIM]; HEX8_NODES]) -> (usize, f64) {
    let smaller =
        // A comparison with NaN is false, so NaN is kept explicitly.
        |least: (usize, f64), this: (usize, f64)| if this.1 < least.1 || this.1.is_nan() { this } else { least };
    determinants(coords).into_iter().enumerate().fold((0, f64::INFINITY), smaller)
}
