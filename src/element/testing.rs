//! Random elements for tests.

use super::basis::{CORNERS, DIM, HEX8_NODES};
use super::geometry::min_determinant;
use proptest::prelude::*;

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
