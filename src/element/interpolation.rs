//! Nodal values to the points of a cubature rule and back: gradients in reference coordinates and values.
//!
//! ```text
//! at_p[k]  = sum_m g_k(m, p) nodal_m          interpolate:  g = (d phi_m / d xi_0, .. xi_1, .. xi_2, phi_m) at point p
//! nodal_m += sum_p sum_k g_k(m, p) at_p[k]    collect: the transpose
//! ```
//! A hexahedron of n nodes along an edge with n points along each axis is done axis by axis (sum factorisation; Orszag 1980, Spectral
//! methods for problems in complex geometries): 9 n^4 products per field instead of 4 n^6, so 144 instead of 256 for `hex8` and 729
//! instead of 2916 for `hex27`. Other elements are done by tables.
//!
//! Shapes: `nodal [m]` in the order of [`Interpolation::order`], `at [p]`. Pure and generic over the number, so a vector lane may hold an
//! element.

use super::{BasisTables, ElementType};
use crate::space::lanes::Number;

/// Gradient in reference coordinates and value at a point.
pub type AtPoint<N> = [N; 4];

/// Nodes and points along an edge, at most.
const EDGE: usize = 3;

/// The basis of an element at the points of its rule.
#[derive(Clone, Debug)]
pub struct Interpolation {
    /// Nodes along an edge of an element that is done by axes, else 0.
    edge: usize,
    order: Vec<usize>,
    weights: Vec<f64>,
    /// `[p][m]`, for elements that are not done by axes.
    table: Vec<Vec<[f64; 4]>>,
    /// Values and derivatives of the functions of an edge, `[q][i]`.
    line: [[[f64; EDGE]; EDGE]; 2],
}

impl Interpolation {
    /// Tabulates the basis of an element.
    pub fn new(element: ElementType) -> Self {
        let (BasisTables { nodes: count, values, gradients, weights, .. }, rule) =
            (BasisTables::of(element), element.rule());
        if let Some(nodes) = element.tensor_edge() {
            let (by_axis, points) = (by_axis(element.reference_nodes()), by_axis(&rule.points));
            // The functions of all nodes with the same place along the edge add up to that of the edge.
            let along = |of: &dyn Fn(usize, usize) -> f64| {
                let mut line = [[0.0; EDGE]; EDGE];
                for (q, i) in (0..nodes).flat_map(|q| (0..nodes).map(move |i| (q, i))) {
                    line[q][i] = by_axis.iter().skip(i).step_by(nodes).map(|&m| of(points[q], m)).sum();
                }
                line
            };
            let line = [along(&|p, m| values[p * count + m]), along(&|p, m| gradients[p * count + m][0])];
            let weights = points.iter().map(|&p| weights[p]).collect();
            return Interpolation { edge: nodes, order: by_axis, weights, table: Vec::new(), line };
        }
        let all: Vec<_> = gradients.iter().zip(values).map(|(&[a, b, c], value)| [a, b, c, value]).collect();
        let table = all.chunks(count).map(<[_]>::to_vec).collect();
        Interpolation { edge: 0, order: (0..count).collect(), weights, table, line: [[[0.0; EDGE]; EDGE]; 2] }
    }

    /// Returns the element's node at each place of `nodal`: along the axes where the element is done by axes, else as it is.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the weights of the points.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the nodes per edge of an element evaluated axis by axis, else 0.
    pub fn edge(&self) -> usize {
        self.edge
    }

    /// Returns the operations of [`interpolate`](Self::interpolate) and of [`collect`](Self::collect).
    pub(super) fn flops(&self) -> [usize; 2] {
        match self.edge {
            // By axes: 2 + 3 + 4 sums over the nodes of each line.
            edge @ 1.. => [9 * edge.pow(3) * (2 * edge - 1), 9 * edge.pow(3) * 2 * edge],
            0 => [8 * self.order.len() * self.weights.len(); 2],
        }
    }

    /// Returns the numbers as `kernels/apply.cu` reads them: by axes values and derivatives of the edge's functions `[q][i]`, else
    /// `[p][m][4]`; the weights; the order.
    pub fn numbers(&self) -> Vec<f64> {
        let nodes = self.edge();
        let line =
            self.line.iter().flat_map(move |of| of[..nodes].iter().flat_map(move |row| row[..nodes].iter().copied()));
        let table = self.table.iter().flatten().flatten().copied();
        line.chain(table).chain(self.weights.iter().copied()).chain(self.order.iter().map(|&m| m as f64)).collect()
    }

    /// Overwrites `at` with gradients and values at the points.
    #[inline(always)]
    pub fn interpolate<N: Number, const NN: usize, const NP: usize>(&self, nodal: &[N; NN], at: &mut [AtPoint<N>; NP]) {
        match (self.table.is_empty(), NN, NP) {
            (true, 8, 8) => forward::<N, 2>(&self.line, nodal, at),
            (true, 27, 27) => forward::<N, 3>(&self.line, nodal, at),
            _ => {
                for (at, table) in at.iter_mut().zip(&self.table) {
                    let mut sums = [N::from(0.0); 4];
                    for (nodal, g) in nodal.iter().zip(table) {
                        for k in 0..4 {
                            sums[k] = nodal.times_plus(N::from(g[k]), sums[k]);
                        }
                    }
                    *at = sums;
                }
            }
        }
    }

    /// Overwrites `nodal` with the sums over the points.
    #[inline(always)]
    pub fn collect<N: Number, const NN: usize, const NP: usize>(&self, at: &[AtPoint<N>; NP], nodal: &mut [N; NN]) {
        match (self.table.is_empty(), NN, NP) {
            (true, 8, 8) => backward::<N, 2>(&self.line, at, nodal),
            (true, 27, 27) => backward::<N, 3>(&self.line, at, nodal),
            _ => {
                *nodal = [N::from(0.0); NN];
                for (at, table) in at.iter().zip(&self.table) {
                    for (nodal, g) in nodal.iter_mut().zip(table) {
                        // A hidden address keeps LLVM from vectorising over the nodes by gathers and scatters.
                        let g = std::hint::black_box(g);
                        for k in 0..4 {
                            *nodal = at[k].times_plus(N::from(g[k]), *nodal);
                        }
                    }
                }
            }
        }
    }
}

/// Returns the ids of positions, those along the first axis side by side, then along the second.
pub(crate) fn by_axis(positions: &[[f64; 3]]) -> Vec<usize> {
    let mut ids: Vec<usize> = (0..positions.len()).collect();
    ids.sort_by(|&a, &b| {
        let axes = [2, 1, 0].map(|axis| positions[a][axis].total_cmp(&positions[b][axis]));
        axes[0].then(axes[1]).then(axes[2])
    });
    ids
}

/// One item for each node or point of the cube, `[z][y][x]`.
type Cube<N, const L: usize> = [[[N; L]; L]; L];

/// Returns sum_i of line[i] items[i]. Written without closures, which LLVM may leave behind as functions for other processors.
#[inline(always)]
fn dot<N: Number, const L: usize>(line: &[f64; EDGE], items: &[N; L]) -> N {
    let mut sum = N::from(line[0]) * items[0];
    for i in 1..L {
        sum = N::from(line[i]).times_plus(items[i], sum);
    }
    sum
}

/// The transpose: adds the sums over q of line[q][i] items[q] to out[i].
#[inline(always)]
fn add<N: Number, const L: usize>(line: &[[f64; EDGE]; EDGE], items: &[N; L], out: &mut [N; L]) {
    for i in 0..L {
        for q in 0..L {
            out[i] = N::from(line[q][i]).times_plus(items[q], out[i]);
        }
    }
}

/// Hides an index from the compiler where an edge has three nodes. LLVM would vectorise a loop over a known index by gathers and scatters,
/// though each number already fills a register, and would unroll it to more code than an instruction cache holds.
#[inline(always)]
fn hidden<const L: usize>(index: usize) -> usize {
    if L < EDGE { index } else { std::hint::black_box(index).min(L - 1) }
}

#[inline(always)]
fn forward<N: Number, const L: usize>(
    [values, slopes]: &[[[f64; EDGE]; EDGE]; 2],
    nodal: &[N],
    out: &mut [AtPoint<N>],
) {
    let zero = N::from(0.0);
    // Along x: values and derivatives; then along y: derivative by x, by y, value; then along z. Lines are gathered first.
    let (mut b, mut d): (Cube<N, L>, Cube<N, L>) = ([[[zero; L]; L]; L], [[[zero; L]; L]; L]);
    for k in 0..L {
        let k = hidden::<L>(k);
        for j in 0..L {
            let mut line = [zero; L];
            for i in 0..L {
                line[i] = nodal[(k * L + j) * L + i];
            }
            for q in 0..L {
                let q = hidden::<L>(q);
                b[k][j][q] = dot(&values[q], &line);
                d[k][j][q] = dot(&slopes[q], &line);
            }
        }
    }
    let mut by_y: [Cube<N, L>; 3] = [[[[zero; L]; L]; L]; 3];
    for k in 0..L {
        let k = hidden::<L>(k);
        for q in 0..L {
            let (mut value, mut slope) = ([zero; L], [zero; L]);
            for j in 0..L {
                value[j] = b[k][j][q];
                slope[j] = d[k][j][q];
            }
            for r in 0..L {
                let r = hidden::<L>(r);
                by_y[0][k][r][q] = dot(&values[r], &slope);
                by_y[1][k][r][q] = dot(&slopes[r], &value);
                by_y[2][k][r][q] = dot(&values[r], &value);
            }
        }
    }
    for r in 0..L {
        let r = hidden::<L>(r);
        for q in 0..L {
            let mut lines = [[zero; L]; 3];
            for k in 0..L {
                for term in 0..3 {
                    lines[term][k] = by_y[term][k][r][q];
                }
            }
            for s in 0..L {
                let s = hidden::<L>(s);
                out[(s * L + r) * L + q] = [
                    dot(&values[s], &lines[0]),
                    dot(&values[s], &lines[1]),
                    dot(&slopes[s], &lines[2]),
                    dot(&values[s], &lines[2]),
                ];
            }
        }
    }
}

#[inline(always)]
fn backward<N: Number, const L: usize>([values, slopes]: &[[[f64; EDGE]; EDGE]; 2], at: &[AtPoint<N>], out: &mut [N]) {
    let zero = N::from(0.0);
    let mut by_z: [Cube<N, L>; 3] = [[[[zero; L]; L]; L]; 3];
    for r in 0..L {
        let r = hidden::<L>(r);
        for q in 0..L {
            let q = hidden::<L>(q);
            let (mut lines, mut sums) = ([[zero; L]; 4], [[zero; L]; 3]);
            for s in 0..L {
                for term in 0..4 {
                    lines[term][s] = at[(s * L + r) * L + q][term];
                }
            }
            add(values, &lines[0], &mut sums[0]);
            add(values, &lines[1], &mut sums[1]);
            add(slopes, &lines[2], &mut sums[2]);
            add(values, &lines[3], &mut sums[2]);
            for k in 0..L {
                for term in 0..3 {
                    by_z[term][k][r][q] = sums[term][k];
                }
            }
        }
    }
    for k in 0..L {
        let k = hidden::<L>(k);
        let (mut value, mut slope): ([[N; L]; L], [[N; L]; L]) = ([[zero; L]; L], [[zero; L]; L]);
        for q in 0..L {
            let q = hidden::<L>(q);
            let (mut lines, mut sums) = ([[zero; L]; 3], [[zero; L]; 2]);
            for r in 0..L {
                for term in 0..3 {
                    lines[term][r] = by_z[term][k][r][q];
                }
            }
            add(values, &lines[0], &mut sums[0]);
            add(slopes, &lines[1], &mut sums[1]);
            add(values, &lines[2], &mut sums[1]);
            for j in 0..L {
                slope[j][q] = sums[0][j];
                value[j][q] = sums[1][j];
            }
        }
        for j in 0..L {
            let j = hidden::<L>(j);
            let mut sums = [zero; L];
            add(slopes, &slope[j], &mut sums);
            add(values, &value[j], &mut sums);
            for i in 0..L {
                out[(k * L + j) * L + i] = sums[i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Basis;

    fn noise(k: usize) -> f64 {
        ((k * 7919 + 13) % 101) as f64 / 50.0 - 1.0
    }

    /// Against the basis itself, whose tables the interpolation does not read; the transpose by its definition.
    fn check<const NN: usize, const NP: usize>(element: ElementType) {
        let (of, basis, rule) = (Interpolation::new(element), Basis::new(element), element.rule());
        let nodal: [f64; NN] = std::array::from_fn(noise);
        let mut found = [[f64::NAN; 4]; NP];
        of.interpolate(&nodal, &mut found);
        let at: [AtPoint<f64>; NP] = std::array::from_fn(|p| std::array::from_fn(|k| noise(4 * p + k + 100)));
        let mut collected = [f64::NAN; NN];
        of.collect(&at, &mut collected);
        let mut expected = [0.0; NN];
        let points: Vec<usize> = if of.edge() > 0 { by_axis(&rule.points) } else { (0..NP).collect() };
        for (p, &point) in points.iter().enumerate() {
            assert_eq!(of.weights()[p], rule.weights[point], "{element}");
            let (values, gradients) = (basis.values(rule.points[point]), basis.gradients(rule.points[point]));
            let mut sums = [0.0; 4];
            for (place, &m) in of.order().iter().enumerate() {
                let g = [gradients[m][0], gradients[m][1], gradients[m][2], values[m]];
                for k in 0..4 {
                    sums[k] += g[k] * nodal[place];
                    expected[place] += g[k] * at[p][k];
                }
            }
            for k in 0..4 {
                assert!((found[p][k] - sums[k]).abs() < 1e-13, "{element}, point {p}: {:?} {sums:?}", found[p]);
            }
        }
        for (found, expected) in collected.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{element}: {found} {expected}");
        }
    }

    #[test]
    fn sums_by_axes_and_by_tables_are_those_of_the_basis() {
        check::<8, 8>(ElementType::Hex8);
        check::<20, 27>(ElementType::Hex20);
        check::<27, 27>(ElementType::Hex27);
        check::<4, 4>(ElementType::Tet4);
        check::<10, 14>(ElementType::Tet10);
        check::<6, 6>(ElementType::Wedge6);
        check::<15, 18>(ElementType::Wedge15);
    }
}
