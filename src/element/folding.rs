//! Finds folded trilinear hexahedra: a bound of its Jacobian determinant over the whole element, not at points only.
//!
//! On the unit cube the columns of J are bilinear: a(eta, zeta) from the four edge vectors along xi, b(xi, zeta), c(xi, eta).
//! det J = a . (b x c) has degree 2 in each coordinate, so 27 Bernstein coefficients bound it (Johnen, Remacle and Geuzaine
//! 2013): they are all positive only if det J is, and the 8 at corners are its values there.
//!
//! ```text
//! D[p,q,r] = 2^-(ones among p, q, r)  sum over i+i'=p, j+j'=q, k+k'=r  of  a[j,k] . (b[i,k'] x c[i',j'])      64 triple products
//! ```
//! Three tests, from cheap to sharp:
//! 1. With mean edge vectors A, B, C and largest deviations u, v, w from them (1-norms):
//!    det(A, B, C) > u (|B|+v) (|C|+w) + |A| v (|C|+w) + |A| |B| w. Nearly every element of a usable mesh passes.
//! 2. The 27 coefficients.
//! 3. The coefficients of halves, quarters, ... of the element, which tend to det J. What is open after six bisections counts as folded.
//!
//! Determinants here are those of the map from [0, 1]^3. NaN and underflow of products of three edges count as folded,
//! overflow may pass: lengths between 1e-100 and 1e100 are safe.

use super::HEX8_NODES;
use super::bernstein::Bernstein;
use super::geometry::{DIM, cross, dot};
use crate::error::FoldPlace;

/// Rounding of the cheap test, relative to the product of the lengths.
const ROUNDING: f64 = 1e-13;

type Vector = [f64; DIM];
/// Coefficients `[p + 3 q + 9 r]`.
type Coefficients = [f64; 27];

/// Node at corner (i, j, k) of the unit cube.
const fn node(i: usize, j: usize, k: usize) -> usize {
    4 * k + [[0, 3], [1, 2]][i][j]
}

/// Edge vectors `[axis][first + 2 second]` along each axis; first and second are the other two axes in ascending order.
fn edges(x: &[Vector; HEX8_NODES]) -> [[Vector; 4]; DIM] {
    // Generic, so that its loops are unrolled: a call per edge made the mesh phase half as long again.
    fn of(x: &[Vector; HEX8_NODES], nodes: impl Fn(usize, usize) -> [usize; 2]) -> [Vector; 4] {
        std::array::from_fn(|at| {
            let [from, to] = nodes(at % 2, at / 2);
            std::array::from_fn(|d| x[to][d] - x[from][d])
        })
    }
    [
        of(x, |j, k| [node(0, j, k), node(1, j, k)]),
        of(x, |i, k| [node(i, 0, k), node(i, 1, k)]),
        of(x, |i, j| [node(i, j, 0), node(i, j, 1)]),
    ]
}

pub(super) fn triple(a: Vector, b: Vector, c: Vector) -> f64 {
    dot(a, cross(b, c))
}

pub(super) fn length(vector: Vector) -> f64 {
    vector.iter().map(|x| x.abs()).sum()
}

/// Mean of four edge vectors, and the largest deviation from it.
fn mean(edges: &[Vector; 4]) -> (Vector, f64) {
    let mean: Vector = std::array::from_fn(|d| 0.25 * (edges[0][d] + edges[1][d] + edges[2][d] + edges[3][d]));
    let deviation = |edge: &Vector| length(std::array::from_fn(|d| edge[d] - mean[d]));
    (mean, edges.iter().map(deviation).fold(0.0, f64::max))
}

/// Determinants are positive above it: the reciprocal of a smaller one may be infinite.
pub(super) const LEAST: f64 = f64::MIN_POSITIVE;

/// The cheap test: true only if the determinant is positive everywhere.
fn is_clearly_positive(edges: &[[Vector; 4]; DIM]) -> bool {
    let [(a, u), (b, v), (c, w)] = [mean(&edges[0]), mean(&edges[1]), mean(&edges[2])];
    exceeds_losses([a, b, c], [u, v, w])
}

/// Whether det(A, B, C) stays positive if the columns depart by at most these lengths.
pub(super) fn exceeds_losses([a, b, c]: [Vector; DIM], [u, v, w]: Vector) -> bool {
    let [la, lb, lc] = [a, b, c].map(length);
    let lost = u * (lb + v) * (lc + w) + la * v * (lc + w) + la * lb * w;
    // Where the determinant underflows, the losses may, too.
    let determinant = triple(a, b, c);
    determinant > LEAST && determinant > lost + ROUNDING * la * lb * lc
}

fn coefficients([a, b, c]: &[[Vector; 4]; DIM]) -> Coefficients {
    let mut all = [0.0; 27];
    for bits in 0..64usize {
        let [i, i2, j, j2, k, k2] = [0, 1, 2, 3, 4, 5].map(|shift| bits >> shift & 1);
        let (p, q, r) = (i + i2, j + j2, k + k2);
        let halves = [p, q, r].iter().filter(|&&sum| sum == 1).count() as i32;
        all[p + 3 * q + 9 * r] += 0.5f64.powi(halves) * triple(a[j + 2 * k], b[i + 2 * k2], c[i2 + 2 * j2]);
    }
    all
}

fn is_positive(value: f64) -> bool {
    // A comparison with NaN is false.
    value > LEAST
}

/// Returns where a trilinear hexahedron is folded, with the determinant, or `None`.
pub fn fold(coords: &[[f64; DIM]; HEX8_NODES]) -> Option<(FoldPlace, f64)> {
    let edges = edges(coords);
    if is_clearly_positive(&edges) {
        return None;
    }
    let all = coefficients(&edges);
    for k in 0..2 {
        for (i, j) in [(0, 0), (1, 0), (1, 1), (0, 1)] {
            let value = all[2 * (i + 3 * j + 9 * k)];
            if !is_positive(value) {
                return Some((FoldPlace::Corner(node(i, j, k)), value));
            }
        }
    }
    let found = Bernstein { degree: 2, all: all.to_vec() }.search(LEAST)?;
    let place = if found.is_bound { FoldPlace::Around } else { FoldPlace::Inside };
    Some((place(found.point), found.determinant))
}

#[cfg(test)]
#[path = "folding/tests.rs"]
mod tests;
