//! Residual and matrix of a trilinear hexahedron by sum-factorised moments; equals [`reference`](super::reference()).
//!
//! On the unit cube the basis is phi = n_i(x) n_j(y) n_k(z) with n_0 = 1 - x, n_1 = x and derivatives s_i = -1, +1.
//! Where two functions (i, j, k), (I, J, K) meet, n_i n_I depends on i + I alone. So with the metric
//! G = w K det J J^-1 J^-T and r = 2 w det J T at the points,
//!
//! ```text
//! A = s_i s_I X[j+J, k+K] + s_i s_J XY[I, j, k+K] + s_j s_I XY[i, J, k+K] + (the same for y, z) + M[i+I, j+J, k+K]
//! X[b, c]     = sum_p G_xx           p_b(y) p_c(z)      p_0 = n_0 n_0, p_1 = n_0 n_1, p_2 = n_1 n_1
//! XY[a, b, c] = sum_p G_xy n_a(x) n_b(y) p_c(z)
//! M[a, b, c]  = sum_p r    p_a(x) p_b(y) p_c(z)
//! ```
//!
//! and each sum is taken one axis at a time. 63 + 27 moments replace 64 sums over 8 points of 4 products; the residual
//! is A T minus the integral of T^2 phi, which A T has twice. Source: sum factorisation (Orszag 1980; Melenk, Gerdes,
//! Schwab 2001), here for degree one. Cost: about 2000 operations, one division a point. Limits: this equation, eight
//! nodes, 2x2x2 points.

use super::basis::{DIM, HEX8_NODES};
use super::cubature::GAUSS;
use super::geometry::{cross, dot};
use crate::space::lanes::Number;

/// n_0 at the point beside node 0 (n_1 at the point beside node 1), and at the other one.
const NEAR: f64 = 0.5 * (1.0 + GAUSS);
const FAR: f64 = 0.5 * (1.0 - GAUSS);

/// Corner of each node.
const CORNER: [[usize; DIM]; HEX8_NODES] =
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];

/// A value at each point (or corner), `[x, y, z]`.
type Cube<N> = [[[N; 2]; 2]; 2];

/// sum_q v_q: for an axis on which nothing depends.
#[inline(always)]
fn total<N: Number>(v: [N; 2]) -> [N; 1] {
    [v[0] + v[1]]
}

/// v_1 - v_0: the derivative along an axis.
#[inline(always)]
fn difference<N: Number>(v: [N; 2]) -> [N; 1] {
    [v[1] - v[0]]
}

/// sum_q n_i(q) v_q, i = 0, 1. The points lie symmetrically, so it also interpolates nodal values to the points.
#[inline(always)]
fn linear<N: Number>(v: [N; 2]) -> [N; 2] {
    let (near, far) = (N::from(NEAR), N::from(FAR));
    [v[0].times_plus(near, far * v[1]), v[0].times_plus(far, near * v[1])]
}

/// sum_q p_b(q) v_q, b = 0, 1, 2.
#[inline(always)]
fn products<N: Number>(v: [N; 2]) -> [N; 3] {
    let (near, mixed, far) = (N::from(NEAR * NEAR), N::from(NEAR * FAR), N::from(FAR * FAR));
    [v[0].times_plus(near, far * v[1]), mixed * (v[0] + v[1]), v[0].times_plus(far, near * v[1])]
}

/// Contracts the points with one of the rules above along each axis.
#[inline(always)]
fn contract<N: Number, const A: usize, const B: usize, const C: usize>(
    g: &Cube<N>,
    x: impl Fn([N; 2]) -> [N; A],
    y: impl Fn([N; 2]) -> [N; B],
    z: impl Fn([N; 2]) -> [N; C],
) -> [[[N; C]; B]; A] {
    let zero = N::from(0.0);
    let (mut along_x, mut along_y, mut moments) = ([[[zero; 2]; 2]; A], [[[zero; 2]; B]; A], [[[zero; C]; B]; A]);
    for q in 0..2 {
        for r in 0..2 {
            let line = x([g[0][q][r], g[1][q][r]]);
            for a in 0..A {
                along_x[a][q][r] = line[a];
            }
        }
    }
    for a in 0..A {
        for r in 0..2 {
            let line = y([along_x[a][0][r], along_x[a][1][r]]);
            for b in 0..B {
                along_y[a][b][r] = line[b];
            }
        }
        for b in 0..B {
            moments[a][b] = z(along_y[a][b]);
        }
    }
    moments
}

/// Residual and matrix of one element; the matrix is symmetric to the bit.
#[inline(always)]
pub fn moments<N: Number>(
    coords: &[[N; DIM]; HEX8_NODES],
    temperature: &[N; HEX8_NODES],
    conductivity: f64,
    residual: &mut [N; HEX8_NODES],
    matrix: &mut [[N; HEX8_NODES]; HEX8_NODES],
) {
    let points = AtPoints::new(coords, temperature, conductivity);
    let [xx, yy, zz] = points.diagonal;
    let [xy, xz, yz] = points.mixed;
    let [x] = contract(&xx, total, products, products);
    let y = contract(&yy, products, total, products);
    let z = contract(&zz, products, products, total);
    let xy = contract(&xy, linear, linear, products);
    let xz = contract(&xz, linear, products, linear);
    let yz = contract(&yz, products, linear, linear);
    let mass = contract(&points.mass, products, products, products);
    let load = contract(&points.load, linear, linear, linear);

    for m in 0..HEX8_NODES {
        let [i, j, k] = CORNER[m];
        residual[m] = -load[i][j][k];
    }
    let moments = Moments { x: &x, y: &y, z: &z, xy: &xy, xz: &xz, yz: &yz, mass: &mass };
    // Unrolled by hand: with constant corners the indices and signs below cost nothing.
    macro_rules! row {
        ($m:literal: $($n:literal)*) => {$(
            let entry = moments.entry::<$m, $n>();
            matrix[$m][$n] = entry;
            residual[$m] = entry.times_plus(temperature[$n], residual[$m]);
            if $m != $n {
                matrix[$n][$m] = entry;
                residual[$n] = entry.times_plus(temperature[$m], residual[$n]);
            }
        )*};
    }
    row!(0: 0 1 2 3 4 5 6 7);
    row!(1: 1 2 3 4 5 6 7);
    row!(2: 2 3 4 5 6 7);
    row!(3: 3 4 5 6 7);
    row!(4: 4 5 6 7);
    row!(5: 5 6 7);
    row!(6: 6 7);
    row!(7: 7);
}

/// The moments of the formula above; where an axis is summed out its extent is one.
struct Moments<'a, N> {
    x: &'a [[N; 3]; 3],
    y: &'a [[[N; 3]; 1]; 3],
    z: &'a [[[N; 1]; 3]; 3],
    xy: &'a [[[N; 3]; 2]; 2],
    xz: &'a [[[N; 2]; 3]; 2],
    yz: &'a [[[N; 2]; 2]; 3],
    mass: &'a [[[N; 3]; 3]; 3],
}

impl<N: Number> Moments<'_, N> {
    /// Entry of the matrix for nodes `P` and `Q`.
    #[inline(always)]
    fn entry<const P: usize, const Q: usize>(&self) -> N {
        let ([i, j, k], [ii, jj, kk]) = (CORNER[P], CORNER[Q]);
        let (a, b, c) = (i + ii, j + jj, k + kk);
        let mut entry = self.mass[a][b][c];
        entry = add_signed(entry, i, ii, self.x[b][c]);
        entry = add_signed(entry, j, jj, self.y[a][0][c]);
        entry = add_signed(entry, k, kk, self.z[a][b][0]);
        entry = add_signed(entry, i, jj, self.xy[ii][j][c]);
        entry = add_signed(entry, j, ii, self.xy[i][jj][c]);
        entry = add_signed(entry, i, kk, self.xz[ii][b][k]);
        entry = add_signed(entry, k, ii, self.xz[i][b][kk]);
        entry = add_signed(entry, j, kk, self.yz[a][jj][k]);
        add_signed(entry, k, jj, self.yz[a][j][kk])
    }
}

/// Adds s_p s_q times a moment: +1 for equal corners, -1 for opposite ones.
#[inline(always)]
fn add_signed<N: Number>(entry: N, p: usize, q: usize, moment: N) -> N {
    if p == q { entry + moment } else { entry - moment }
}

/// What the moments are taken of.
struct AtPoints<N> {
    /// G_xx, G_yy, G_zz.
    diagonal: [Cube<N>; DIM],
    /// G_xy, G_xz, G_yz.
    mixed: [Cube<N>; DIM],
    /// 2 w det J T.
    mass: Cube<N>,
    /// w det J T^2.
    load: Cube<N>,
}

impl<N: Number> AtPoints<N> {
    #[inline(always)]
    fn new(coords: &[[N; DIM]; HEX8_NODES], temperature: &[N; HEX8_NODES], conductivity: f64) -> Self {
        let zero = [[[N::from(0.0); 2]; 2]; 2];
        let mut at = AtPoints { diagonal: [zero; DIM], mixed: [zero; DIM], mass: zero, load: zero };
        let [edge_x, edge_y, edge_z] = columns(coords);
        let mut nodal = zero;
        for m in 0..HEX8_NODES {
            let [i, j, k] = CORNER[m];
            nodal[i][j][k] = temperature[m];
        }
        let temperature = contract(&nodal, linear, linear, linear);
        // Each axis of the unit cube has weight 1/2 at both points.
        let (weight, scale) = (N::from(0.125), N::from(0.125 * conductivity));
        for [i, j, k] in CORNER {
            let (u, v, w) = (edge_x[j][k], edge_y[i][k], edge_z[i][j]);
            // det J J^-1 has these rows.
            let rows = [cross(v, w), cross(w, u), cross(u, v)];
            let determinant = dot(u, rows[0]);
            let scale = scale / determinant;
            let mut scaled = rows;
            for row in &mut scaled {
                for item in row {
                    *item = scale * *item;
                }
            }
            for d in 0..DIM {
                at.diagonal[d][i][j][k] = dot(scaled[d], rows[d]);
            }
            at.mixed[0][i][j][k] = dot(scaled[0], rows[1]);
            at.mixed[1][i][j][k] = dot(scaled[0], rows[2]);
            at.mixed[2][i][j][k] = dot(scaled[1], rows[2]);
            let load = weight * determinant * temperature[i][j][k];
            at.mass[i][j][k] = load + load;
            at.load[i][j][k] = load * temperature[i][j][k];
        }
        at
    }
}

/// The columns of J at the points, each of which varies along two axes: `[column][first, second of the axes][component]`.
#[inline(always)]
fn columns<N: Number>(coords: &[[N; DIM]; HEX8_NODES]) -> [[[[N; DIM]; 2]; 2]; DIM] {
    let mut columns = [[[[N::from(0.0); DIM]; 2]; 2]; DIM];
    for c in 0..DIM {
        let mut x = [[[N::from(0.0); 2]; 2]; 2];
        for m in 0..HEX8_NODES {
            let [i, j, k] = CORNER[m];
            x[i][j][k] = coords[m][c];
        }
        let [along_x] = contract(&x, difference, linear, linear);
        let along_y = contract(&x, linear, difference, linear);
        let along_z = contract(&x, linear, linear, difference);
        for a in 0..2 {
            for b in 0..2 {
                columns[0][a][b][c] = along_x[a][b];
                columns[1][a][b][c] = along_y[a][0][b];
                columns[2][a][b][c] = along_z[a][b][0];
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::reference;
    use crate::element::testing::{distorted_hex, temperatures};
    use crate::space::lanes::{LANES, Lanes};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_reference_in_every_lane(coords in distorted_hex(), t in temperatures(), k in 0.1..5.0f64) {
            let (residual, matrix) = reference(coords, t, k);
            let largest = |values: &[f64]| values.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            let tolerance = 1e-13 * largest(matrix.as_flattened());

            let (mut r, mut a) = ([0.0; HEX8_NODES], [[0.0; HEX8_NODES]; HEX8_NODES]);
            moments(&coords, &t, k, &mut r, &mut a);
            let wide = coords.map(|x| x.map(Lanes::<false>::splat));
            let (mut wide_r, mut wide_a) = ([Lanes::ZERO; HEX8_NODES], [[Lanes::ZERO; HEX8_NODES]; HEX8_NODES]);
            moments(&wide, &t.map(Lanes::splat), k, &mut wide_r, &mut wide_a);
            for m in 0..HEX8_NODES {
                prop_assert!((r[m] - residual[m]).abs() < tolerance * largest(&t));
                prop_assert_eq!(wide_r[m].0, [r[m]; LANES]);
                for n in 0..HEX8_NODES {
                    prop_assert!((a[m][n] - matrix[m][n]).abs() < tolerance);
                    prop_assert_eq!(a[m][n].to_bits(), a[n][m].to_bits());
                    prop_assert_eq!(wide_a[m][n].0, [a[m][n]; LANES]);
                }
            }
        }
    }
}
