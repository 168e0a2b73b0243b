//! Contractions cell by cell with sizes that are known at compile time: eight fields in both operands, `K` terms, all arrays
//! packed (trilinear hexahedra).
//!
//! As in `rows.rs`, the right fields are transposed and each sum is one chain over k. Bounds checks, remainders and strides
//! drop out.
//!
//! Shapes: left and right `[cells, 8, K]`, out `[cells, 8, 8]`. Cost per cell: 128 K operations, 16 K + 64 numbers.

use super::Sum;
use super::operands::Operands;
use super::output::Output;
use super::prefetch::{DISTANCE, STEP};
use crate::space::lanes::{Lanes, Real};
use crate::space::prefetch;
use std::hint::black_box;
use std::ops::Range;

/// Fields per operand.
const F: usize = 8;

/// Computes a range of cells in tiles of `H` left fields by `V` vectors: V W = 8.
#[inline(always)]
pub fn each<const K: usize, const FUSED: bool, const W: usize, const V: usize, const H: usize, T: Real>(
    operands: &Operands<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = operands.pair.each_ref().map(|operand| operand.data.as_chunks::<K>().0.as_chunks::<F>().0);
    let sum = out.sum;
    let (out, _) = out.cell(0).as_chunks_mut::<F>().0.as_chunks_mut::<F>();
    let mut panel = [[Lanes::<FUSED, T, W>::splat(T::default()); K]; V];
    // Hides K from LLVM: it generates slower code for a transposition that it can unroll fully.
    let count = black_box(K).min(K);
    for (cell, out) in cells.clone().zip(out) {
        let soon = (cell + DISTANCE.div_ceil(2 * F * K * size_of::<T>())).min(cells.end - 1);
        let soon =
            if operands.exceeds_cache { Some([left[soon].as_flattened(), right[soon].as_flattened()]) } else { None };
        transpose(&right[cell], &mut panel, count);
        for h in 0..F / H {
            let rows: &[[T; K]; H] = left[cell][h * H..].first_chunk().expect("H divides F");
            let tile = tile(rows, &panel, soon, h);
            let out: &mut [[T; F]; H] = out[h * H..].first_chunk_mut().expect("H divides F");
            for i in 0..H {
                for v in 0..V {
                    let out: &mut [T; W] = out[i][v * W..].first_chunk_mut().expect("W divides F");
                    match sum {
                        Sum::Overwrite => *out = tile[i][v].0,
                        Sum::Into => *out = (Lanes::<FUSED, T, W>(*out) + tile[i][v]).0,
                    }
                }
            }
        }
    }
}

/// `columns[v][k][i] = rows[v W + i][k]`.
#[inline(always)]
fn transpose<const K: usize, const FUSED: bool, const W: usize, const V: usize, T: Real>(
    rows: &[[T; K]; F],
    columns: &mut [[Lanes<FUSED, T, W>; K]; V],
    count: usize,
) {
    for v in 0..V {
        for k in 0..count {
            let mut column = [T::default(); W];
            for i in 0..W {
                column[i] = rows[v * W + i][k];
            }
            columns[v][k] = Lanes(column);
        }
    }
}

/// `sums[i][v][lane] = sum_k rows[i][k] columns[v][k][lane]`. Prefetches part `part` of the later cell `soon` meanwhile.
#[inline(always)]
fn tile<const K: usize, const FUSED: bool, const W: usize, const V: usize, const H: usize, T: Real>(
    rows: &[[T; K]; H],
    columns: &[[Lanes<FUSED, T, W>; K]; V],
    soon: Option<[&[T]; 2]>,
    part: usize,
) -> [[Lanes<FUSED, T, W>; V]; H] {
    let line = 64 / size_of::<T>();
    let mut sums = [[Lanes::splat(T::default()); V]; H];
    for step in (0..K).step_by(STEP) {
        if let Some(later) = soon {
            for at in (0..H * STEP).step_by(line) {
                prefetch(later[0], (part * K + step) * H + at);
                prefetch(later[1], (part * K + step) * H + at);
            }
        }
        for k in step..step + STEP {
            for i in 0..H {
                let a = Lanes::splat(rows[i][k]);
                for v in 0..V {
                    sums[i][v] = a.mul_add(columns[v][k], sums[i][v]);
                }
            }
        }
    }
    sums
}
