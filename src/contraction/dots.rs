//! Contractions with one field on a side, cell by cell: vectors hold terms of one sum.
//!
//! Each number is used once, and turning rows would cost more than the products: `W` partial sums (k modulo `W`) are added
//! in pairs. The order depends on K and the processor alone.
//!
//! Shapes: one operand `[1, K]`, the other `[F, K]`, out `[F]`. Cost: 2 F K operations, (F + 1) K + F numbers.

use super::ahead::{AHEAD, Ahead};
use super::gathered::Gather;
use super::job::{Job, Output, store};
use crate::space::lanes::{Lanes, Real};
use std::array::from_fn;
use std::ops::Range;

/// Computes a range of cells, `W` sums at a time: of neighbouring fields, or of neighbouring cells where there is one each.
#[inline(always)]
pub fn each<const FUSED: bool, const W: usize, T: Real>(
    job: &Job<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = &job.operands;
    let ([cell_stride, l_stride, r_stride], sum) = (out.strides, out.sum);
    let fields = left.fields().max(right.fields());
    let step = if fields == 1 { W } else { 1 };
    let cells_ahead = AHEAD.div_ceil((left.fields() + right.fields()) * left.count * size_of::<T>());
    let items = Ahead::step(job, step, fields.div_ceil(W) * left.count.div_ceil(W));
    let mut gathers: [[Gather<T>; 2]; W] = from_fn(|_| [Gather::new(), Gather::new()]);
    for cell in cells.clone().step_by(step) {
        let used = step.min(cells.end - cell);
        let out = out.cell(cell - cells.start);
        let mut ahead = Ahead::new(job, cell + cells_ahead, step, items);
        // One of both has one field, which stands beside all of the other's.
        let stride = if fields == 1 {
            cell_stride
        } else if left.fields() > 1 {
            l_stride
        } else {
            r_stride
        };
        let [a, b] = &mut gathers[0];
        if fields > 1 {
            let (a, b) = (a.rows(left, cell), b.rows(right, cell));
            for f in (0..fields).step_by(W) {
                let mut pairs = [[&[][..]; W]; 2];
                for i in 0..W {
                    (pairs[0][i], pairs[1][i]) = (a.row(f + i), b.row(f + i));
                }
                let sums = dots::<FUSED, W, T>(pairs[0], pairs[1], &mut ahead);
                store(&mut out[f * stride..], stride, &sums, fields - f, sum);
            }
            continue;
        }
        let mut pairs = [[&[][..]; W]; 2];
        for (i, [a, b]) in gathers.iter_mut().enumerate() {
            let cell = cell + i.min(used - 1);
            (pairs[0][i], pairs[1][i]) = (a.only(left, cell), b.only(right, cell));
        }
        store(out, stride, &dots::<FUSED, W, T>(pairs[0], pairs[1], &mut ahead), used, sum);
    }
}

/// `out[i] = sum_k left[i][k] right[i][k]`. Loops, not closures, which may be left behind as functions of their own.
#[inline(always)]
fn dots<const FUSED: bool, const W: usize, T: Real>(
    left: [&[T]; W],
    right: [&[T]; W],
    ahead: &mut Ahead<'_, T>,
) -> [T; W] {
    let count = left[0].len();
    let (mut rows, mut others) = ([&[][..]; W], [&[][..]; W]);
    for i in 0..W {
        (rows[i], others[i]) = (&left[i][..count], &right[i][..count]);
    }
    let rest = count % W;
    // Before the sums, which are in registers as long as nothing else looks at them.
    let mut ends = [Lanes::<FUSED, T, W>::splat(T::default()); W];
    if rest > 0 {
        for i in 0..W {
            ends[i] = end(rows[i], rest) * end(others[i], rest);
        }
    }
    let mut sums = [Lanes::<FUSED, T, W>::splat(T::default()); W];
    #[allow(clippy::manual_memcpy)]
    for i in 0..W {
        sums[i] = ends[i];
    }
    let mut k = 0;
    while k + W <= count {
        ahead.ask();
        for i in 0..W {
            let a = Lanes(*rows[i][k..].first_chunk().expect("a whole part"));
            let b = Lanes(*others[i][k..].first_chunk().expect("a whole part"));
            sums[i] = a.mul_add(b, sums[i]);
        }
        k += W;
    }
    let mut columns = [Lanes::<FUSED, T, W>::splat(T::default()); W];
    for i in 0..W {
        for j in 0..W {
            columns[j].0[i] = sums[i].0[j];
        }
    }
    let mut width = W;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            let other = columns[i + width];
            columns[i] += other;
        }
    }
    columns[0].0
}

/// The last `rest` of a row, fewer than `W`, at the end of a vector of zeros.
#[inline(always)]
fn end<const FUSED: bool, const W: usize, T: Real>(row: &[T], rest: usize) -> Lanes<FUSED, T, W> {
    let mut end = Lanes::splat(T::default());
    if let Some(last) = row.last_chunk::<W>() {
        for i in 0..W {
            end.0[i] = if i + rest >= W { last[i] } else { T::default() };
        }
    } else {
        end.0[W - rest..].copy_from_slice(row);
    }
    end
}
