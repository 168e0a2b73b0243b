//! Contractions with several fields in both operands, cell by cell: vectors hold right fields.
//!
//! A panel of right rows is transposed, so that the fields of one term are contiguous. Each sum is one chain over k, whose
//! order depends on K alone.
//!
//! Shapes: left `[L, K]`, right `[R, K]`, out `[L, R]`. Cost per cell: 2 L R K operations; the transposition reads and
//! writes the right rows once.

use super::gathered::{Gather, Rows};
use super::operands::Operands;
use super::output::Output;
use super::prefetch::{DISTANCE, Prefetcher, STEP};
use super::{Sum, dots, hex8};
use crate::space::lanes::{Lanes, Real};
use std::ops::Range;

/// Computes a range of cells: one field in an operand by `dots`, the sizes of hex8 by `hex8`, all others here.
#[inline(always)]
pub fn each<const FUSED: bool, const W: usize, T: Real>(
    operands: &Operands<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = &operands.pair;
    let sizes = [left.fields(), right.fields(), left.count];
    let packed = left.is_packed() && right.is_packed() && out.strides == [sizes[0] * sizes[1], sizes[1], 1];
    match (sizes, W) {
        ([1, ..] | [_, 1, _], _) => return dots::each::<FUSED, W, T>(operands, cells, out),
        ([8, 8, 8], 4) if packed => return hex8::each::<8, FUSED, W, 2, 4, T>(operands, cells, out),
        ([8, 8, 24], 4) if packed => return hex8::each::<24, FUSED, W, 2, 4, T>(operands, cells, out),
        ([8, 8, 72], 4) if packed => return hex8::each::<72, FUSED, W, 2, 4, T>(operands, cells, out),
        ([8, 8, 8], 8) if packed => return hex8::each::<8, FUSED, W, 1, 8, T>(operands, cells, out),
        ([8, 8, 24], 8) if packed => return hex8::each::<24, FUSED, W, 1, 8, T>(operands, cells, out),
        ([8, 8, 72], 8) if packed => return hex8::each::<72, FUSED, W, 1, 8, T>(operands, cells, out),
        _ => {}
    }
    let [mut left_gather, mut right_gather] = [Gather::new(), Gather::new()];
    let count = left.count;
    let mut panel = vec![Lanes::splat(T::default()); WIDEST * count];
    let mut sums = vec![T::default(); SUMS * W];
    let cell_bytes = (left.fields() + right.fields()) * count * size_of::<T>();
    let distance = DISTANCE.div_ceil(cell_bytes);
    // Tiles are 8 fields by 1 vector, or 4 fields by 2 or 3 vectors.
    let tiles = match right.fields().div_ceil(W) {
        1 => left.fields().div_ceil(8),
        vectors => left.fields().div_ceil(4) * vectors.div_ceil(3),
    };
    let part = Prefetcher::part(operands, 1, tiles * count.div_ceil(STEP));
    for cell in cells.clone() {
        let mut prefetcher = Prefetcher::new(operands, cell + distance, 1, part);
        let (a, b) = (left_gather.rows(left, cell), right_gather.rows(right, cell));
        let c = cell - cells.start;
        let mut first = 0;
        while first <= b.last {
            first += W * match (b.last + 1 - first).div_ceil(W) {
                1 => strips::<FUSED, W, 1, 8, T>(&a, (&b, first), (&mut panel, &mut sums), &mut prefetcher, (out, c)),
                3 => strips::<FUSED, W, 3, 4, T>(&a, (&b, first), (&mut panel, &mut sums), &mut prefetcher, (out, c)),
                _ => strips::<FUSED, W, 2, 4, T>(&a, (&b, first), (&mut panel, &mut sums), &mut prefetcher, (out, c)),
            };
        }
    }
}

/// Vectors per term in the widest panel, and vectors of sums in the largest tile.
const WIDEST: usize = 3;
const SUMS: usize = 12;

/// Multiplies all left fields by `V` vectors of right fields from `first` on, `H` left fields at a time. Returns `V`.
///
/// `V H` = 8 to 12 vectors of sums hide the latency of two FMA units and leave room for the operands in 16 registers.
#[inline(always)]
fn strips<const FUSED: bool, const W: usize, const V: usize, const H: usize, T: Real>(
    left: &Rows<'_, T>,
    (right, first): (&Rows<'_, T>, usize),
    (panel, sums): (&mut [Lanes<FUSED, T, W>], &mut [T]),
    prefetcher: &mut Prefetcher<'_, T>,
    (out, cell): (&mut Output<'_, T>, usize),
) -> usize {
    let count = right.count;
    for v in 0..V {
        let mut rows = [&[][..]; W];
        for i in 0..W {
            rows[i] = right.row(first + v * W + i);
        }
        transpose(rows, &mut panel[v * count..][..count]);
    }
    let ([_, l_stride, r_stride], sum) = (out.strides, out.sum);
    let out = out.cell(cell);
    let used = right.last + 1 - first;
    let whole = r_stride == 1 && used >= V * W && sum == Sum::Overwrite;
    for l in (0..=left.last).step_by(H) {
        let out = &mut out[l * l_stride + first * r_stride..];
        let (mut rows, mut columns) = ([&[][..]; H], [&[][..]; V]);
        for i in 0..H {
            rows[i] = left.row(l + i);
        }
        for v in 0..V {
            columns[v] = &panel[v * count..][..count];
        }
        let whole = whole && l + H <= left.last + 1;
        let (to, stride) = if whole { (&mut *out, l_stride) } else { (&mut *sums, V * W) };
        tile::<FUSED, W, V, H, T>(rows, columns, prefetcher, to, stride);
        if whole {
            continue;
        }
        for i in 0..H.min(left.last + 1 - l) {
            for j in 0..used.min(V * W) {
                let out = &mut out[i * l_stride + j * r_stride];
                let value = sums[i * V * W + j];
                *out = if sum == Sum::Into { *out + value } else { value };
            }
        }
    }
    V
}

/// `out[i stride + v W + lane] = sum_k rows[i][k] columns[v][k][lane]`.
#[inline(always)]
fn tile<const FUSED: bool, const W: usize, const V: usize, const H: usize, T: Real>(
    rows: [&[T]; H],
    columns: [&[Lanes<FUSED, T, W>]; V],
    prefetcher: &mut Prefetcher<'_, T>,
    out: &mut [T],
    stride: usize,
) {
    let count = rows[0].len();
    let (mut a_rows, mut b_columns) = ([&[][..]; H], [&[][..]; V]);
    for i in 0..H {
        a_rows[i] = &rows[i][..count];
    }
    for v in 0..V {
        b_columns[v] = &columns[v][..count];
    }
    let (rows, columns) = (a_rows, b_columns);
    let mut sums = [[Lanes::<FUSED, T, W>::splat(T::default()); V]; H];
    for step in (0..count).step_by(STEP) {
        prefetcher.next_part();
        for k in step..(step + STEP).min(count) {
            for i in 0..H {
                let a = Lanes::splat(rows[i][k]);
                for v in 0..V {
                    sums[i][v] = a.mul_add(columns[v][k], sums[i][v]);
                }
            }
        }
    }
    for i in 0..H {
        let out = &mut out[i * stride..][..V * W];
        for v in 0..V {
            *out[v * W..].first_chunk_mut().expect("a vector") = sums[i][v].0;
        }
    }
}

/// `columns[k][i] = rows[i][k]`. LLVM turns loads along k and stores along i into transposes in registers.
#[inline(always)]
fn transpose<const FUSED: bool, const W: usize, T: Real>(rows: [&[T]; W], columns: &mut [Lanes<FUSED, T, W>]) {
    let mut all = [&[][..]; W];
    for i in 0..W {
        all[i] = &rows[i][..columns.len()];
    }
    let rows = all;
    for k in 0..columns.len() {
        let mut column = [T::default(); W];
        for i in 0..W {
            column[i] = rows[i][k];
        }
        columns[k] = Lanes(column);
    }
}
