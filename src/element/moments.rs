//! Residual and matrix of a trilinear hexahedron by sum-factorised moments. Equals [`reference`](super::reference()) up
//! to rounding.
//!
//! On the unit cube the basis is phi = n_i(x) n_j(y) n_k(z) with n_0 = 1 - x, n_1 = x and derivatives s_i = -1, +1. The
//! product of two functions (i, j, k) and (I, J, K) depends on the sums i + I, j + J, k + K only, since n_0 n_1 = n_1
//! n_0. With the metric G = w K det J J^-1 J^-T and r = 2 w det J T at the points,
//!
//! ```text
//! A = D[i+I, j+J, k+K] + s_i s_J XY[I, j, k+K] + s_j s_I XY[i, J, k+K] + (the same for xz, yz)
//! D[a, b, c]  = sum_p r p_a(x) p_b(y) p_c(z) + s_i s_I G_xx p_b(y) p_c(z) + (the same for yy, zz)
//! XY[a, b, c] = sum_p G_xy n_a(x) n_b(y) p_c(z)      p_0 = n_0 n_0, p_1 = n_0 n_1, p_2 = n_1 n_1
//! ```
//!
//! Each sum is taken one axis at a time: G_xx joins r once x is summed out, G_yy once y is. 27 + 36 moments replace 64
//! sums of 4 products over 8 points. The residual is A T minus the integral of T^2 phi, because A T contains that
//! integral twice. Source: sum factorisation (Orszag, Journal of Computational Physics 37, 1980), here for degree one.
//! Limits: this equation, 8 nodes, 2x2x2 points.

use super::HEX8_NODES;
use super::equations::Heat;
use super::geometry::{DIM, cross, dot};
use crate::space::lanes::Number;

/// 1/sqrt(3), the coordinate of the two Gauss points per axis of [-1, 1].
const GAUSS: f64 = 0.577_350_269_189_625_8;
/// n_0 at the point nearest to node 0 (equal to n_1 at the point nearest to node 1), then n_0 at the other point.
const NEAR: f64 = 0.5 * (1.0 + GAUSS);
const FAR: f64 = 0.5 * (1.0 - GAUSS);
/// 1 / (n_0 n_1), the same at both points. [`products`] returns its sums times this factor, so that the middle one needs no
/// multiplication; the weights divide by it.
const SCALE: f64 = 6.0;

/// Corner of each node, `[node, axis]`.
const CORNER: [[usize; DIM]; HEX8_NODES] =
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];

/// A value per point (or corner), `[x, y, z]`.
type Cube<N> = [[[N; 2]; 2]; 2];

/// Returns sum_q n_i(q) v_q for i = 0, 1. The points lie symmetrically, so the function also interpolates nodal values
/// to the points.
#[inline(always)]
fn linear<N: Number>(v: [N; 2]) -> [N; 2] {
    let difference = v[0] - v[1];
    [difference.times_plus(N::from(NEAR), v[1]), difference.times_plus(N::from(FAR), v[1])]
}

/// Returns SCALE sum_q p_b(q) v_q for b = 0, 1, 2. By n_0 + n_1 = 1 the first sum is FAR^2 (v_0 + v_1) + GAUSS v_0.
#[inline(always)]
fn products<N: Number>(v: [N; 2]) -> [N; 3] {
    let sum = v[0] + v[1];
    let (common, own) = (sum * N::from(SCALE * FAR * FAR), N::from(SCALE * GAUSS));
    [v[0].times_plus(own, common), sum, v[1].times_plus(own, common)]
}

/// Applies one rule along the first axis of a 2 x 2 face and another along the second.
#[inline(always)]
fn on_face<N: Number, const A: usize, const B: usize>(
    v: [[N; 2]; 2],
    first: impl Fn([N; 2]) -> [N; A],
    second: impl Fn([N; 2]) -> [N; B],
) -> [[N; B]; A] {
    let (left, right) = (first([v[0][0], v[1][0]]), first([v[0][1], v[1][1]]));
    let mut out = [[v[0][0]; B]; A];
    for a in 0..A {
        out[a] = second([left[a], right[a]]);
    }
    out
}

/// Applies [`linear`] along all three axes.
#[inline(always)]
fn linear_cube<N: Number>(v: &Cube<N>) -> Cube<N> {
    let (low, high) = (on_face(v[0], linear, linear), on_face(v[1], linear, linear));
    let mut out = *v;
    for j in 0..2 {
        for k in 0..2 {
            [out[0][j][k], out[1][j][k]] = linear([low[j][k], high[j][k]]);
        }
    }
    out
}

/// Computes the matrix of one element and returns its residual. The matrix is symmetric to the last bit: `put` gets row, column and
/// value of each entry with `row <= column`.
#[inline(always)]
pub fn moments<N: Number>(
    coords: &[[N; DIM]; HEX8_NODES],
    temperature: &[N; HEX8_NODES],
    heat: Heat,
    mut put: impl FnMut(usize, usize, N),
) -> [N; HEX8_NODES] {
    let points = AtPoints::new(coords, temperature, heat);
    let moments = Moments {
        equal: points.equal_axes(),
        xy: points.mixed(|i, j, k| [i, j, k], 0),
        xz: points.mixed(|i, k, j| [i, j, k], 1),
        yz: points.mixed(|j, k, i| [i, j, k], 2),
    };
    let load = linear_cube(&points.load);
    let mut residual = *temperature;
    for m in 0..HEX8_NODES {
        let [i, j, k] = CORNER[m];
        // A T holds the integral of T^2 phi twice; the residual needs it once.
        residual[m] = -load[i][j][k];
    }
    // Unrolled by a macro: with constant corners, the indices and signs of an entry cost nothing at run time.
    macro_rules! row {
        ($m:literal: $($n:literal)*) => {$(
            let entry = moments.entry::<$m, $n>();
            put($m, $n, entry);
            residual[$m] = entry.times_plus(temperature[$n], residual[$m]);
            if $m != $n {
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
    residual
}

/// The moments of the formula in the module's documentation.
struct Moments<N> {
    /// D, `[a, b, c]`.
    equal: [[[N; 3]; 3]; 3],
    /// `[c]`
    xy: [Mixed<N>; 3],
    /// `[b]`
    xz: [Mixed<N>; 3],
    /// `[a]`
    yz: [Mixed<N>; 3],
}

impl<N: Number> Moments<N> {
    /// Returns the matrix entry of nodes `P` and `Q`.
    #[inline(always)]
    fn entry<const P: usize, const Q: usize>(&self) -> N {
        let ([i, j, k], [ii, jj, kk]) = (CORNER[P], CORNER[Q]);
        let (a, b, c) = (i + ii, j + jj, k + kk);
        let entry = self.xy[c].add_to(self.equal[a][b][c], [i, ii], [j, jj]);
        let entry = self.xz[b].add_to(entry, [i, ii], [k, kk]);
        self.yz[a].add_to(entry, [j, jj], [k, kk])
    }
}

/// The two terms of a pair of axes, V[u, v] = XY[u, v, c] for one c, with the sums that several entries use.
struct Mixed<N> {
    /// V.
    value: [[N; 2]; 2],
    /// V[u, 0] - V[u, 1], for corners that differ along the second axis.
    second: [N; 2],
    /// V[0, v] - V[1, v], for corners that differ along the first axis.
    first: [N; 2],
    /// V[0, 0] + V[1, 1] and V[0, 1] + V[1, 0], for corners that differ along both axes.
    diagonals: [N; 2],
}

impl<N: Number> Mixed<N> {
    #[inline(always)]
    fn new(v: [[N; 2]; 2]) -> Self {
        Mixed {
            value: v,
            second: [v[0][0] - v[0][1], v[1][0] - v[1][1]],
            first: [v[0][0] - v[1][0], v[0][1] - v[1][1]],
            diagonals: [v[0][0] + v[1][1], v[0][1] + v[1][0]],
        }
    }

    /// Returns `entry` + s_i s_J V[I, j] + s_j s_I V[i, J].
    #[inline(always)]
    fn add_to(&self, entry: N, [i, ii]: [usize; 2], [j, jj]: [usize; 2]) -> N {
        let (plus, sum) = match (i == ii, j == jj) {
            (true, true) => return self.value[i][j].times_plus(N::from(if i == j { 2.0 } else { -2.0 }), entry),
            (true, false) => (i == 1, self.second[i]),
            (false, true) => (j == 1, self.first[j]),
            (false, false) => (i != j, self.diagonals[usize::from(i == j)]),
        };
        if plus { entry + sum } else { entry - sum }
    }
}

/// Integrands of the moments at the points.
struct AtPoints<N> {
    /// G_xx, G_yy, G_zz over SCALE^2.
    diagonal: [Cube<N>; DIM],
    /// G_xy, G_xz, G_yz over SCALE.
    mixed: [Cube<N>; DIM],
    /// 2 w det J T over SCALE^3.
    mass: Cube<N>,
    /// w det J T^2.
    load: Cube<N>,
}

impl<N: Number> AtPoints<N> {
    #[inline(always)]
    fn new(coords: &[[N; DIM]; HEX8_NODES], temperature: &[N; HEX8_NODES], heat: Heat) -> Self {
        let zero = [[[N::from(0.0); 2]; 2]; 2];
        let mut at = AtPoints { diagonal: [zero; DIM], mixed: [zero; DIM], mass: zero, load: zero };
        let [edge_x, edge_y, edge_z] = columns(coords);
        let mut nodal = zero;
        for m in 0..HEX8_NODES {
            let [i, j, k] = CORNER[m];
            nodal[i][j][k] = temperature[m];
        }
        let temperature = linear_cube(&nodal);
        // Each axis of the unit cube has weight 1/2 at both points.
        let weight = 0.125;
        let (mass, load) = (N::from(2.0 * weight / (SCALE * SCALE * SCALE)), N::from(weight));
        let (scale, over) = (N::from(weight * heat.conductivity / SCALE), N::from(1.0 / SCALE));
        for [i, j, k] in CORNER {
            // Column d of J does not depend on coordinate d, so it is stored on a face.
            let (u, v, w) = (edge_x[j][k], edge_y[i][k], edge_z[i][j]);
            // The rows of det J J^-1.
            let rows = [cross(v, w), cross(w, u), cross(u, v)];
            let determinant = dot(u, rows[0]);
            let scale = scale / determinant;
            let diagonal = scale * over;
            for d in 0..DIM {
                at.diagonal[d][i][j][k] = diagonal * dot(rows[d], rows[d]);
            }
            at.mixed[0][i][j][k] = scale * dot(rows[0], rows[1]);
            at.mixed[1][i][j][k] = scale * dot(rows[0], rows[2]);
            at.mixed[2][i][j][k] = scale * dot(rows[1], rows[2]);
            let product = determinant * temperature[i][j][k];
            at.mass[i][j][k] = product * mass;
            at.load[i][j][k] = product * temperature[i][j][k] * load;
        }
        at
    }

    /// Returns D, `[a, b, c]`.
    #[inline(always)]
    fn equal_axes(&self) -> [[[N; 3]; 3]; 3] {
        let [xx, yy, zz] = &self.diagonal;
        let zero = N::from(0.0);
        let (mut along_x, mut along_y, mut moments) = ([[[zero; 2]; 2]; 3], [[[zero; 2]; 3]; 3], [[[zero; 3]; 3]; 3]);
        // Each metric term needs products along two axes only; the third axis is a plain sum.
        let (mut along_zy, mut along_zz) = ([[zero; 2]; 2], [[zero; 2]; 2]);
        for q in 0..2 {
            for r in 0..2 {
                let mass = products([self.mass[0][q][r], self.mass[1][q][r]]);
                let sum = xx[0][q][r] + xx[1][q][r];
                for a in 0..3 {
                    along_x[a][q][r] = add_sign_of(a, mass[a], sum);
                }
                along_zy[q][r] = yy[q][0][r] + yy[q][1][r];
                along_zz[q][r] = zz[q][r][0] + zz[q][r][1];
            }
        }
        for r in 0..2 {
            let sum = products([along_zy[0][r], along_zy[1][r]]);
            for a in 0..3 {
                let line = products([along_x[a][0][r], along_x[a][1][r]]);
                for b in 0..3 {
                    along_y[a][b][r] = add_sign_of(b, line[b], sum[a]);
                }
            }
        }
        let sum = on_face(along_zz, products, products);
        for a in 0..3 {
            for b in 0..3 {
                let line = products(along_y[a][b]);
                for c in 0..3 {
                    moments[a][b][c] = add_sign_of(c, line[c], sum[a][b]);
                }
            }
        }
        moments
    }

    /// Returns XY (or XZ, YZ: number `pair`): [`linear`] along two axes and [`products`] along the third, which is the
    /// first index of the result. `point` sorts the indices along these axes into the order x, y, z.
    #[inline(always)]
    fn mixed(&self, point: impl Fn(usize, usize, usize) -> [usize; DIM], pair: usize) -> [Mixed<N>; 3] {
        let zero = N::from(0.0);
        let mut faces = [[[zero; 2]; 2]; 2];
        for r in 0..2 {
            let mut face = [[zero; 2]; 2];
            for p in 0..2 {
                for q in 0..2 {
                    let [i, j, k] = point(p, q, r);
                    face[p][q] = self.mixed[pair][i][j][k];
                }
            }
            faces[r] = on_face(face, linear, linear);
        }
        let mut lines = [[[zero; 2]; 2]; 3];
        for p in 0..2 {
            for q in 0..2 {
                let line = products([faces[0][p][q], faces[1][p][q]]);
                for c in 0..3 {
                    lines[c][p][q] = line[c];
                }
            }
        }
        [Mixed::new(lines[0]), Mixed::new(lines[1]), Mixed::new(lines[2])]
    }
}

/// Returns `value` + s_i s_I `term` for i + I = `index`.
#[inline(always)]
fn add_sign_of<N: Number>(index: usize, value: N, term: N) -> N {
    if index == 1 { value - term } else { value + term }
}

/// Returns the columns of J at the points, `[column][first, second axis][component]`. Each column varies along two axes
/// only.
#[inline(always)]
fn columns<N: Number>(coords: &[[N; DIM]; HEX8_NODES]) -> [[[[N; DIM]; 2]; 2]; DIM] {
    // Not a loop over the components: LLVM would vectorise it by scatters to every third element.
    let [x, y, z] = [component(coords, 0), component(coords, 1), component(coords, 2)];
    let mut columns = [[[[N::from(0.0); DIM]; 2]; 2]; DIM];
    for axis in 0..DIM {
        for a in 0..2 {
            for b in 0..2 {
                columns[axis][a][b] = [x[axis][a][b], y[axis][a][b], z[axis][a][b]];
            }
        }
    }
    columns
}

/// Returns one component of the columns of J, `[column][first, second axis]`.
#[inline(always)]
fn component<N: Number>(coords: &[[N; DIM]; HEX8_NODES], c: usize) -> [[[N; 2]; 2]; DIM] {
    // The edges along an axis from node p to node q, in the order of the two other axes.
    let column = |edges: [[usize; 2]; 4]| {
        let [e00, e10, e01, e11] = edges.map(|[p, q]| coords[q][c] - coords[p][c]);
        on_face([[e00, e01], [e10, e11]], linear, linear)
    };
    [
        column([[0, 1], [3, 2], [4, 5], [7, 6]]),
        column([[0, 3], [1, 2], [4, 7], [5, 6]]),
        column([[0, 4], [1, 5], [3, 7], [2, 6]]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Residue, operations};
    use crate::element::testing::{distorted_hex, temperatures};
    use crate::element::{BasisTables, ElementType, reference};
    use crate::space::lanes::{LANES, Lanes};
    use proptest::prelude::*;

    #[test]
    fn the_documented_cost_is_that_counted() {
        let coords = crate::element::testing::CORNERS.map(|corner| corner.map(Residue::from));
        let temperature = [Residue::from(1.5); HEX8_NODES];
        let counted = operations(|| moments(&coords, &temperature, Heat::new(2.0), |_, _, _| {}));
        assert_eq!(counted, crate::element::MOMENTS_FLOPS);
    }

    proptest! {
        #[test]
        fn moments_equal_the_reference_in_every_lane(coords in distorted_hex(), t in temperatures(), k in 0.1..5.0f64) {
            let heat = Heat::new(k);
            let (residual, matrix) = reference(&BasisTables::of(ElementType::Hex8), coords, t, &heat).unwrap();
            let largest = |values: &[f64]| values.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            let tolerance = 1e-13 * largest(matrix.as_flattened());

            let mut a = [[0.0; HEX8_NODES]; HEX8_NODES];
            let r = moments(&coords, &t, heat, |m, n, entry| a[m][n] = entry);
            let wide = coords.map(|x| x.map(Lanes::<false>::splat));
            let mut wide_a = [[Lanes::ZERO; HEX8_NODES]; HEX8_NODES];
            let wide_r = moments(&wide, &t.map(Lanes::splat), heat, |m, n, entry| wide_a[m][n] = entry);
            for m in 0..HEX8_NODES {
                prop_assert!((r[m] - residual[m]).abs() < tolerance * largest(&t));
                prop_assert_eq!(wide_r[m].0, [r[m]; LANES]);
                for n in m..HEX8_NODES {
                    prop_assert!((a[m][n] - matrix[m][n]).abs() < tolerance);
                    prop_assert!((a[m][n] - matrix[n][m]).abs() < tolerance);
                    prop_assert_eq!(wide_a[m][n].0, [a[m][n]; LANES]);
                }
            }
        }
    }
}
