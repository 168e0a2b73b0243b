//! Contractions of cells with stride 1: vectors hold one number of each of `W` neighbouring cells.
//!
//! Shapes: operands `[cells, fields, k]`, stride 1 along the cells, any other strides. Each sum is one chain over k. Cost per
//! cell: 2 L R K operations. In long arrays consecutive terms of a cell are a whole plane apart, so that they share cache
//! sets and defeat hardware prefetchers. There a block of cells is first copied to a compact buffer, which reads each cache
//! line once.

use super::Sum;
use super::operands::{Operand, Operands};
use super::output::{Output, store};
use crate::space::lanes::{Lanes, Real};
use crate::space::prefetch;
use std::ops::Range;

/// Largest number of cells that are copied together; pieces for threads are multiples of it.
pub const BLOCK: usize = 512;
/// Cells whose numbers are contiguous in a copy: one cache line in f32.
const GROUP: usize = 16;
/// Largest copy of several groups in bytes: a part of L2.
const BLOCK_BYTES: usize = 1 << 18;
/// Stride in bytes from which rows of cells map to the same cache sets.
const PAGE: usize = 4096;
/// Vectors of sums in the largest tile.
const SUMS: usize = 16;
/// Rows between the row that is copied and the row that is prefetched.
const PREFETCH_ROWS: usize = 4;

/// Returns the rows between groups of a copy: one more than a group has, so that the groups of a row lie in different cache
/// sets.
#[inline(always)]
fn padded(rows: usize) -> usize {
    rows + 1
}

/// Computes a range of cells, `W` at a time.
#[inline(always)]
pub fn each<const FUSED: bool, const W: usize, T: Real>(
    operands: &Operands<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = &operands.pair;
    // With one field on the left, tiles read it once for eight right fields, which pays in caches.
    if right.fields() == 1 || left.fields() == 1 && operands.exceeds_cache {
        return products::<FUSED, W, T>(operands, cells, out);
    }
    let rows = operands.pair.each_ref().map(|operand| operand.fields() * operand.count);
    let group_bytes = (rows[0] + rows[1]) * GROUP * size_of::<T>();
    let is_far = operands.pair.iter().any(|operand| operand.row_stride() >= PAGE / size_of::<T>());
    let copied = operands.exceeds_cache && is_far;
    let block = if copied { (BLOCK_BYTES / group_bytes).max(1) * GROUP } else { GROUP }.min(BLOCK);
    let is_needed = copied || !cells.len().is_multiple_of(W);
    let mut buffers = rows.map(|rows| vec![T::default(); if is_needed { block * padded(rows) + GROUP } else { 0 }]);
    let copies = buffers.each_mut().map(|buffer| from_line(buffer));
    // On the heap, so that LLVM does not merge this buffer with the registers that hold the sums of a tile.
    let mut sums = vec![T::default(); SUMS * W];
    let offsets: Vec<usize> = (0..left.count).map(|k| k * GROUP).collect();
    // AVX-512 has 32 vector registers.
    let is_wide = W * size_of::<T>() == 64;
    let by_four = is_wide && left.fields().is_multiple_of(4) && right.fields().is_multiple_of(4);
    let strides = operands.pair.each_ref().map(|operand| operand.term_stride());
    for first in cells.clone().step_by(block) {
        let some = block.min(cells.end - first);
        // The last vector of a range, if cells do not fill it, is computed from a copy, too.
        let copied = copied || !some.is_multiple_of(W);
        if copied {
            copy(left, first..first + some, copies[0]);
            copy(right, first..first + some, copies[1]);
        }
        let strides = if copied { [Some(GROUP); 2] } else { strides };
        for at in (0..some).step_by(W) {
            let numbers = |side: usize| {
                let operand = &operands.pair[side];
                if copied {
                    let data = &copies[side][at / GROUP * GROUP * padded(rows[side]) + at % GROUP..];
                    Numbers { data, stride: offsets.len() * GROUP, offsets: &offsets, last: operand.fields() - 1 }
                } else {
                    let data = operand.at_cell(first + at);
                    let (stride, offsets) = (operand.field_stride(), &operand.offsets);
                    Numbers { data, stride, offsets, last: operand.fields() - 1 }
                }
            };
            let (a, b) = (numbers(0), numbers(1));
            let to = (&mut *out, first + at - cells.start, W.min(some - at));
            let terms = || a.offsets.iter().zip(b.offsets).map(|(&p, &q)| [p, q]);
            if left.fields() == 1 {
                tiles::<FUSED, W, 1, 8, T, _>(&a, &b, terms, &mut sums, to);
            } else if let (true, [Some(p), Some(q)]) = (by_four, strides) {
                tiles::<FUSED, W, 4, 4, T, _>(&a, &b, || (0..left.count).map(|k| [k * p, k * q]), &mut sums, to);
            } else if left.fields().is_multiple_of(3) && right.fields().is_multiple_of(3) {
                tiles::<FUSED, W, 3, 3, T, _>(&a, &b, terms, &mut sums, to);
            } else {
                tiles::<FUSED, W, 4, 2, T, _>(&a, &b, terms, &mut sums, to);
            }
        }
    }
}

/// Returns the part of a buffer that begins at a cache line: vectors across lines cost two loads.
fn from_line<T>(buffer: &mut [T]) -> &mut [T] {
    let first = buffer.as_ptr().align_offset(64).min(buffer.len());
    &mut buffer[first..]
}

/// Copies an operand's cells to `to[group, field, k, cell of the group]`, with [`GROUP`] cells per group.
#[inline(always)]
fn copy<T: Real>(operand: &Operand<'_, T>, cells: Range<usize>, to: &mut [T]) {
    let (field, count) = (operand.field_stride(), operand.count);
    let rows = padded(operand.fields() * count);
    for f in 0..operand.fields() {
        for k in 0..count {
            let from = &operand.data[f * field + operand.offsets[k] + cells.start..][..cells.len()];
            let soon = operand.number(f, k + PREFETCH_ROWS) + cells.start;
            let (whole, rest) = from.as_chunks::<GROUP>();
            let row = f * count + k;
            for (g, group) in whole.iter().enumerate() {
                for line in (0..GROUP).step_by(64 / size_of::<T>()) {
                    prefetch(operand.data, soon + g * GROUP + line);
                }
                *to[(g * rows + row) * GROUP..].first_chunk_mut().expect("a group") = *group;
            }
            if !rest.is_empty() {
                to[(whole.len() * rows + row) * GROUP..][..rest.len()].copy_from_slice(rest);
            }
        }
    }
}

/// The fields of one operand for `W` neighbouring cells.
struct Numbers<'a, T> {
    data: &'a [T],
    stride: usize,
    offsets: &'a [usize],
    last: usize,
}

impl<'a, T> Numbers<'a, T> {
    /// Returns `len` numbers from a field on; past the last field, from the last field on.
    #[inline(always)]
    fn field(&self, f: usize, len: usize) -> &'a [T] {
        &self.data[f.min(self.last) * self.stride..][..len]
    }
}

/// Multiplies all left by all right fields in tiles of `BL` x `BR`, and stores the results of the first `used` of `W` cells.
///
/// 4 x 2 or 3 x 3 vectors of sums hide the latency of two FMA units and leave room for the operands in 16 registers; 4 x 4 need 32.
#[inline(always)]
fn tiles<
    const FUSED: bool,
    const W: usize,
    const BL: usize,
    const BR: usize,
    T: Real,
    I: Iterator<Item = [usize; 2]>,
>(
    left: &Numbers<'_, T>,
    right: &Numbers<'_, T>,
    terms: impl Fn() -> I,
    sums: &mut [T],
    (out, cell, used): (&mut Output<'_, T>, usize, usize),
) {
    let sum = out.sum;
    let [left_len, right_len] = [left, right].map(|x| x.offsets.iter().max().map_or(0, |last| last + W));
    for l in (0..=left.last).step_by(BL) {
        for r in (0..=right.last).step_by(BR) {
            let (mut a, mut b) = ([&[][..]; BL], [&[][..]; BR]);
            for i in 0..BL {
                a[i] = left.field(l + i, left_len);
            }
            for j in 0..BR {
                b[j] = right.field(r + j, right_len);
            }
            let full = l + BL <= left.last + 1 && r + BR <= right.last + 1;
            let ([_, l_stride, r_stride], one_slice) = (out.strides, out.plane_strides == [0; 2]);
            if full && used == W && one_slice {
                tile::<FUSED, W, BL, BR, T>(a, b, terms(), (out.at(cell, l, r), [l_stride, r_stride]), sum);
                continue;
            }
            tile::<FUSED, W, BL, BR, T>(a, b, terms(), (&mut *sums, [BR * W, W]), Sum::Overwrite);
            for i in 0..BL.min(left.last + 1 - l) {
                for j in 0..BR.min(right.last + 1 - r) {
                    let values: &[T; W] = sums[(i * BR + j) * W..].first_chunk().expect("a vector");
                    store(out.at(cell, l + i, r + j), 1, values, used, sum);
                }
            }
        }
    }
}

/// `out[i strides[0] + j strides[1] + lane] = or += sum_k left[i][k] right[j][k]`; `terms` are the offsets of k in both.
#[inline(always)]
fn tile<const FUSED: bool, const W: usize, const BL: usize, const BR: usize, T: Real>(
    left: [&[T]; BL],
    right: [&[T]; BR],
    terms: impl Iterator<Item = [usize; 2]>,
    (out, strides): (&mut [T], [usize; 2]),
    sum: Sum,
) {
    // All slices of an operand have one length, so one bounds check per offset covers all fields.
    let (left_len, right_len) = (left[0].len(), right[0].len());
    let mut sums = [[Lanes::<FUSED, T, W>::splat(T::default()); BR]; BL];
    for [p, q] in terms {
        let mut b = [Lanes::splat(T::default()); BR];
        for j in 0..BR {
            b[j] = vector(right[j], right_len, q);
        }
        for i in 0..BL {
            let a = vector(left[i], left_len, p);
            for j in 0..BR {
                sums[i][j] = a.mul_add(b[j], sums[i][j]);
            }
        }
    }
    for i in 0..BL {
        for j in 0..BR {
            let out: &mut [T; W] = out[i * strides[0] + j * strides[1]..].first_chunk_mut().expect("a vector");
            *out = if sum == Sum::Into { (Lanes(*out) + sums[i][j]).0 } else { sums[i][j].0 };
        }
    }
}

#[inline(always)]
fn vector<const FUSED: bool, const W: usize, T: Real>(data: &[T], len: usize, at: usize) -> Lanes<FUSED, T, W> {
    Lanes(*data[..len][at..].first_chunk().expect("a vector"))
}

/// Contracts data with data, or with fields in arrays larger than the caches. Each number is used once, so the sums are kept in memory
/// and long runs of cells are read.
#[inline(always)]
fn products<const FUSED: bool, const W: usize, T: Real>(
    operands: &Operands<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = &operands.pair;
    let sum = out.sum;
    let mut sums = vec![T::default(); BLOCK.min(cells.len())];
    for first in cells.clone().step_by(BLOCK) {
        let sums = &mut sums[..BLOCK.min(cells.end - first)];
        for f in 0..left.fields().max(right.fields()) {
            let [l, r] = [f.min(left.fields() - 1), f.min(right.fields() - 1)];
            sums.fill(T::default());
            for k in 0..left.count {
                let a = &left.data[left.number(l, k) + first..][..sums.len()];
                let b = &right.data[right.number(r, k) + first..][..sums.len()];
                if operands.exceeds_cache {
                    for line in (0..sums.len()).step_by(64 / size_of::<T>()) {
                        prefetch(left.data, left.number(l, k + 1) + first + line);
                        prefetch(right.data, right.number(r, k + 1) + first + line);
                    }
                }
                add_products::<FUSED, W, T>(a, b, sums);
            }
            let out = &mut out.at(first - cells.start, l, r)[..sums.len()];
            match sum {
                Sum::Overwrite => out.copy_from_slice(sums),
                Sum::Into => out.iter_mut().zip(&*sums).for_each(|(out, sum)| *out = *out + *sum),
            }
        }
    }
}

/// `sums[c] += left[c] right[c]`.
#[inline(always)]
fn add_products<const FUSED: bool, const W: usize, T: Real>(left: &[T], right: &[T], sums: &mut [T]) {
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<W>(), right.as_chunks::<W>());
    let (sums, sums_rest) = sums.as_chunks_mut::<W>();
    for ((a, b), sum) in left.iter().zip(right).zip(sums) {
        *sum = Lanes::<FUSED, T, W>(*a).mul_add(Lanes(*b), Lanes(*sum)).0;
    }
    for ((a, b), sum) in left_rest.iter().zip(right_rest).zip(sums_rest) {
        *sum = Lanes::<FUSED, T, 1>([*a]).mul_add(Lanes([*b]), Lanes([*sum])).0[0];
    }
}
