//! Element matrices by contractions of numbers at the points with tables that all elements share.
//!
//! ```text
//! A_mn = sum_(k, p) P_k[p, (m, n)] S_k[p]      P_k = B_d[p, m] B_e[p, n] + B_e[p, m] B_d[p, n], once if d = e
//! R_m  = sum_(d, p) B_d[p, m] f_d[p]           B_d = d phi / d xi_d, and phi for the last k and d
//! S    = w det J K J^-1 J^-T (xx, yy, zz, xy, xz, yz), 2 T w det J        f = S dT/dxi, T^2 w det J
//! ```
//!
//! Any scalar equation with a symmetric Jacobian has this form and enters by S and f alone. B_d does not depend on coordinate d,
//! so S_dd and f_d are summed along lines first: 44 and 20 terms instead of 56 and 32. The twin of
//! `kernels/fill_contraction.cu`; source: Kirby and Logg, ACM Transactions on Mathematical Software 32, 2006, here point by point.
//! Shapes: S and f of a batch of elements, side by side (4 kB); P `[term, pair m <= n]`, 13 kB. Cost per element: 3488
//! operations in contractions and 1272 before them, see [`TableKernel::FLOPS`].

use super::gather::{Elements, Gathered};
use super::{ElementBatch, ElementKernel, Evaluate, Wanted};
use crate::Result;
use crate::element::cubature::HEX8_POINTS;
use crate::element::equations::Heat;
use crate::element::{DIM, HEX8, HEX8_NODES, geometry};
use crate::mesh::ElemNode;
use crate::space::lanes::{HALF_LANES, LANES, Lanes, Number};
use multiversion::multiversion;
use multiversion::target::match_target;
use std::ops::Range;

/// Pairs m <= n.
const PAIRS: usize = HEX8_NODES * (HEX8_NODES + 1) / 2;
/// Sums that are kept in registers: eight lanes each, in 8 or 16 registers.
const TILE: usize = HEX8_NODES;
/// Pairs up to a whole number of tiles.
const WHOLE_TILES: usize = PAIRS.next_multiple_of(TILE);
/// Lines of points along an axis.
const LINES: usize = HEX8_POINTS / 2;
/// Terms of a matrix entry: sums along lines for three axes, three mixed pairs of axes and the mass at the points.
const TERMS: usize = DIM * LINES + 4 * HEX8_POINTS;
/// Terms of a residual: sums along lines for three axes, and the source at the points.
const LOADS: usize = DIM * LINES + HEX8_POINTS;
/// Pairs of axes.
const MIXED: [[usize; 2]; DIM] = [[0, 1], [0, 2], [1, 2]];

/// The two points of each line, `[axis, line]`; also the nodes of each edge, lower end first.
const ON_LINE: [[[usize; 2]; LINES]; DIM] =
    [[[0, 1], [3, 2], [4, 5], [7, 6]], [[0, 3], [1, 2], [4, 7], [5, 6]], [[0, 4], [1, 5], [2, 6], [3, 7]]];

/// The line of each point, `[axis, point]`.
const LINE_OF: [[usize; HEX8_POINTS]; DIM] =
    [[0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 1, 0, 2, 3, 3, 2], [0, 1, 2, 3, 0, 1, 2, 3]];

/// The nodes of each pair.
const NODES_OF: [[usize; 2]; PAIRS] = {
    let (mut pairs, mut pair, mut m) = ([[0; 2]; PAIRS], 0, 0);
    while m < HEX8_NODES {
        let mut n = m;
        while n < HEX8_NODES {
            pairs[pair] = [m, n];
            (pair, n) = (pair + 1, n + 1);
        }
        m += 1;
    }
    pairs
};

/// Returns the axis of a term that is summed along lines, and one of its points.
const fn line_term(term: usize) -> (usize, usize) {
    (term / LINES, ON_LINE[term / LINES][term % LINES][0])
}

/// P, `[term, pair]`; the last columns are zero.
static PRODUCTS: [[f64; WHOLE_TILES]; TERMS] = {
    let (mut table, mut term) = ([[0.0; WHOLE_TILES]; TERMS], 0);
    while term < TERMS {
        let mut pair = 0;
        while pair < PAIRS {
            let [m, n] = NODES_OF[pair];
            table[term][pair] = if term < DIM * LINES {
                let (d, p) = line_term(term);
                HEX8.gradients[p][m][d] * HEX8.gradients[p][n][d]
            } else {
                let (kind, p) = ((term - DIM * LINES) / HEX8_POINTS, (term - DIM * LINES) % HEX8_POINTS);
                if kind < DIM {
                    let ([d, e], at) = (MIXED[kind], &HEX8.gradients[p]);
                    at[m][d] * at[n][e] + at[m][e] * at[n][d]
                } else {
                    HEX8.values[p][m] * HEX8.values[p][n]
                }
            };
            pair += 1;
        }
        term += 1;
    }
    table
};

/// B, `[term, node]`.
static BASIS: [[f64; HEX8_NODES]; LOADS] = {
    let (mut table, mut term) = ([[0.0; HEX8_NODES]; LOADS], 0);
    while term < LOADS {
        let mut m = 0;
        while m < HEX8_NODES {
            table[term][m] = if term < DIM * LINES {
                let (d, p) = line_term(term);
                HEX8.gradients[p][m][d]
            } else {
                HEX8.values[term - DIM * LINES][m]
            };
            m += 1;
        }
        term += 1;
    }
    table
};

/// Geometry, then contractions with shared tables, on batches of elements.
#[derive(Clone, Copy, Debug)]
pub struct TableKernel<'a> {
    elements: Elements<'a>,
}

impl<'a> TableKernel<'a> {
    /// Floating-point operations per element. Derivatives of coordinates and temperature along 12 lines 384; at a point:
    /// temperature 16, cofactors and determinant 32, scale and volume 3, S 36, f 15, sums along lines 6, mass and source 3. Then
    /// two per term and output.
    pub const FLOPS: usize = 384 + HEX8_POINTS * 111 + 2 * (PAIRS * TERMS + HEX8_NODES * LOADS);

    /// Makes the kernel of these elements.
    pub fn new(elements: Elements<'a>) -> Self {
        TableKernel { elements }
    }
}

impl ElementKernel<HEX8_NODES> for TableKernel<'_> {
    fn evaluator(&self, _: Wanted, _: Range<usize>) -> Result<Evaluate<'_, HEX8_NODES>> {
        Ok(Box::new(|batch, out| {
            evaluate(&self.elements, batch, out);
            Ok(())
        }))
    }

    fn elem_node(&self) -> Option<&ElemNode> {
        Some(self.elements.elem_node)
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn evaluate(elements: &Elements<'_>, elems: Range<usize>, out: &mut ElementBatch<HEX8_NODES>) {
    match_target! {
        "x86_64+avx512f" => batch::<true>(elements, elems, out),
        "x86_64+fma" => batch::<true>(elements, elems, out),
        _ => batch::<false>(elements, elems, out),
    }
}

#[inline(always)]
fn batch<const FUSED: bool>(elements: &Elements<'_>, elems: Range<usize>, out: &mut ElementBatch<HEX8_NODES>) {
    // Half lanes: the compiler leaves part of the wider arithmetic scalar.
    let mut halves = [Integrands::<Lanes<FUSED, f64, HALF_LANES>>::ZERO; LANES / HALF_LANES];
    for (part, first) in elems.clone().step_by(HALF_LANES).enumerate() {
        halves[part].set(&elements.gather(first, elems.end), elements.heat);
    }
    let [low, high] = &halves;
    // Arrays of their own: sums that go straight to their places are not kept in vector registers.
    let (mut entries, mut sums) = ([Lanes::<FUSED>::ZERO; WHOLE_TILES], [Lanes::<FUSED>::ZERO; HEX8_NODES]);
    data_table::<TILE, _, _, _>(&joined(&low.matrix, &high.matrix), &PRODUCTS, &mut entries);
    data_table::<TILE, _, _, _>(&joined(&low.residual, &high.residual), &BASIS, &mut sums);
    for (entry, [m, n]) in entries.iter().zip(NODES_OF) {
        out.matrix[m][n] = entry.0;
        out.matrix[n][m] = entry.0;
    }
    for m in 0..HEX8_NODES {
        out.residual[m] = sums[m].0;
    }
}

/// `out[f] = sum_k data[k] table[k][f]`, `TILE` fields at a time, which divides F.
#[inline(always)]
fn data_table<const TILE: usize, V: Number, const F: usize, const K: usize>(
    data: &[V; K],
    table: &[[f64; F]; K],
    out: &mut [V; F],
) {
    const { assert!(F.is_multiple_of(TILE), "whole tiles") };
    for first in (0..F).step_by(TILE) {
        let mut sums = [V::from(0.0); TILE];
        for (&number, row) in data.iter().zip(table) {
            for f in 0..TILE {
                sums[f] = number.times_plus(V::from(row[first + f]), sums[f]);
            }
        }
        out[first..first + TILE].copy_from_slice(&sums);
    }
}

/// Puts the lanes of two halves side by side.
#[inline(always)]
fn joined<const FUSED: bool, const K: usize>(
    low: &[Lanes<FUSED, f64, HALF_LANES>; K],
    high: &[Lanes<FUSED, f64, HALF_LANES>; K],
) -> [Lanes<FUSED>; K] {
    let mut both = [Lanes::ZERO; K];
    for k in 0..K {
        both[k].0[..HALF_LANES].copy_from_slice(&low[k].0);
        both[k].0[HALF_LANES..].copy_from_slice(&high[k].0);
    }
    both
}

/// S and f of half a batch of elements.
#[derive(Clone, Copy)]
struct Integrands<N> {
    matrix: [N; TERMS],
    residual: [N; LOADS],
}

impl<const FUSED: bool, const WIDTH: usize> Integrands<Lanes<FUSED, f64, WIDTH>> {
    const ZERO: Self = Integrands { matrix: [Lanes::ZERO; TERMS], residual: [Lanes::ZERO; LOADS] };

    /// Computes the terms of elements; all are zero before.
    #[inline(always)]
    fn set(&mut self, Gathered { coords, temperature }: &Gathered<FUSED, WIDTH>, heat: Heat) {
        let zero = Lanes::<FUSED, f64, WIDTH>::ZERO;
        // Derivatives of x, y, z and T on the lines along each axis.
        let mut columns = [[[zero; DIM]; LINES]; DIM];
        let mut slopes = [[zero; LINES]; DIM];
        for d in 0..DIM {
            for [low, high] in ON_LINE[d] {
                let (x, y) = (&coords[high], &coords[low]);
                let edge = [x[0] - y[0], x[1] - y[1], x[2] - y[2]];
                let rise = temperature[high] - temperature[low];
                for line in 0..LINES {
                    let weight = Lanes::splat(HEX8.gradients[ON_LINE[d][line][0]][high][d]);
                    for a in 0..DIM {
                        columns[d][line][a] = edge[a].mul_add(weight, columns[d][line][a]);
                    }
                    slopes[d][line] = rise.mul_add(weight, slopes[d][line]);
                }
            }
        }
        for p in 0..HEX8_POINTS {
            let mut value = zero;
            for m in 0..HEX8_NODES {
                value = temperature[m].mul_add(Lanes::splat(HEX8.values[p][m]), value);
            }
            let line = [LINE_OF[0][p], LINE_OF[1][p], LINE_OF[2][p]];
            let [u, v, w] = [columns[0][line[0]], columns[1][line[1]], columns[2][line[2]]];
            let slope = [slopes[0][line[0]], slopes[1][line[1]], slopes[2][line[2]]];
            // The rows of det J J^-1.
            let rows = [geometry::cross(v, w), geometry::cross(w, u), geometry::cross(u, v)];
            let determinant = geometry::dot(u, rows[0]);
            let volume = determinant * Lanes::splat(HEX8.weights[p]);
            let scale = Lanes::splat(heat.conductivity * HEX8.weights[p]) / determinant;
            let mut s = [[zero; DIM]; DIM];
            for d in 0..DIM {
                s[d][d] = scale * geometry::dot(rows[d], rows[d]);
                self.matrix[d * LINES + line[d]] += s[d][d];
            }
            for (kind, [d, e]) in MIXED.into_iter().enumerate() {
                let entry = scale * geometry::dot(rows[d], rows[e]);
                (s[d][e], s[e][d]) = (entry, entry);
                self.matrix[DIM * LINES + kind * HEX8_POINTS + p] = entry;
            }
            for d in 0..DIM {
                self.residual[d * LINES + line[d]] += geometry::dot(s[d], slope);
            }
            let source = value * volume;
            self.matrix[DIM * (LINES + HEX8_POINTS) + p] = source + source;
            self.residual[DIM * LINES + p] = value * source;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_every_tile_is_a_sum_over_all_terms() {
        // Small integers: sums are exact.
        let table: [[f64; 6]; 3] = std::array::from_fn(|k| std::array::from_fn(|f| (7 * k + f * f) as f64));
        let data: [Lanes<false, f64, 4>; 3] =
            std::array::from_fn(|k| Lanes(std::array::from_fn(|lane| (k + 1) as f64 - 2.0 * lane as f64)));
        let mut out = [Lanes::splat(f64::NAN); 6];
        data_table::<2, _, _, _>(&data, &table, &mut out);
        for f in 0..6 {
            for lane in 0..4 {
                let expected: f64 = (0..3).map(|k| data[k].0[lane] * table[k][f]).sum();
                assert_eq!(out[f].0[lane], expected, "field {f}, lane {lane}");
            }
        }
    }
}
