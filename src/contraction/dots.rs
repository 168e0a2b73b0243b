//! Contractions with one field in an operand, cell by cell: vectors hold terms of one sum.
//!
//! Each number is used once, so a transposition would cost more than the products. `W` partial sums (k modulo `W`, the last terms in the last sums) are
//! added pairwise. The order depends on K and the processor's vector width alone.
//!
//! Shapes: one operand `[1, K]`, the other `[F, K]`, out `[F]`. Cost per cell: 2 F K operations, (F + 1) K + F numbers.

use super::gathered::Gather;
use super::operands::Operands;
use super::output::{Output, store};
use super::prefetch::{DISTANCE, Prefetcher};
use crate::space::lanes::{Lanes, Real};
use std::array::from_fn;
use std::ops::Range;

/// Computes a range of cells, `W` sums at a time: of neighbouring fields, or of neighbouring cells if both operands have
/// one field.
#[inline(always)]
pub fn each<const FUSED: bool, const W: usize, T: Real>(
    operands: &Operands<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = &operands.pair;
    let ([cell_stride, l_stride, r_stride], sum) = (out.strides, out.sum);
    let fields = left.fields().max(right.fields());
    let step = if fields == 1 { W } else { 1 };
    let distance = DISTANCE.div_ceil((left.fields() + right.fields()) * left.count * size_of::<T>());
    let part = Prefetcher::part(operands, step, fields.div_ceil(W) * left.count.div_ceil(W));
    let mut gathers: [[Gather<T>; 2]; W] = from_fn(|_| [Gather::new(), Gather::new()]);
    for cell in cells.clone().step_by(step) {
        let used = step.min(cells.end - cell);
        let out = out.cell(cell - cells.start);
        let mut prefetcher = Prefetcher::new(operands, cell + distance, step, part);
        // The operand with one field is paired with every field of the other operand.
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
                let sums = dots::<FUSED, W, T>(pairs[0], pairs[1], &mut prefetcher);
                store(&mut out[f * stride..], stride, &sums, fields - f, sum);
            }
            continue;
        }
        let mut pairs = [[&[][..]; W]; 2];
        for (i, [a, b]) in gathers.iter_mut().enumerate() {
            let cell = cell + i.min(used - 1);
            (pairs[0][i], pairs[1][i]) = (a.only(left, cell), b.only(right, cell));
        }
        store(out, stride, &dots::<FUSED, W, T>(pairs[0], pairs[1], &mut prefetcher), used, sum);
    }
}

/// `out[i] = sum_k left[i][k] right[i][k]`. Loops instead of closures, which LLVM may leave as calls.
#[inline(always)]
fn dots<const FUSED: bool, const W: usize, T: Real>(
    left: [&[T]; W],
    right: [&[T]; W],
    prefetcher: &mut Prefetcher<'_, T>,
) -> [T; W] {
    let count = left[0].len();
    let (mut rows, mut others) = ([&[][..]; W], [&[][..]; W]);
    for i in 0..W {
        (rows[i], others[i]) = (&left[i][..count], &right[i][..count]);
    }
    let rest = count % W;
    // The remainder comes first: the sums stay in registers only if no other code reads them.
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
        prefetcher.next_part();
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

/// Returns a vector whose last `rest` < `W` lanes hold the last terms of a row and whose other lanes are zero.
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
