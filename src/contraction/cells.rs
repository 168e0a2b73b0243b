//! Contractions of cells that are neighbours in memory: vectors hold cells, one number of each.
//!
//! Shapes: operands `[cells, fields, k]` with any strides but 1 along the cells. Every sum is one chain over k. Cost:
//! 2 L R K operations a cell. Long arrays are strided by whole planes, which caches and prefetchers like least: there a
//! block of cells is first copied side by side, each line of memory read once.

use super::Sum;
use super::job::{Job, Operand, Output, store};
use crate::space::lanes::{Lanes, Real};
use crate::space::prefetch;
use std::ops::Range;

/// Cells that are copied together at most; pieces for threads are multiples.
pub const BLOCK: usize = 512;
/// Cells whose numbers lie side by side in a copy: a line of memory in `f32`.
const GROUP: usize = 16;
/// Bytes that a copy may fill: a core's share of its caches.
const BLOCK_BYTES: usize = 1 << 21;
/// Sums of the largest tile.
const SUMS: usize = 9;
/// Rows between what is read and what is asked for.
const AHEAD: usize = 4;

/// Rows from one group of a copy to the next: one more than there are, lest all groups of a row share a cache's sets.
#[inline(always)]
fn padded(rows: usize) -> usize {
    rows + 1
}

/// Computes a range of cells, `W` at a time.
#[inline(always)]
pub fn each<const FUSED: bool, const W: usize, T: Real>(
    job: &Job<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = &job.operands;
    if left.fields() == 1 || right.fields() == 1 {
        return products::<FUSED, W, T>(job, cells, out);
    }
    let rows = job.operands.each_ref().map(|operand| operand.fields() * operand.count);
    let group_bytes = (rows[0] + rows[1]) * GROUP * size_of::<T>();
    let copied = job.streams && group_bytes <= BLOCK_BYTES;
    let block = if copied { (BLOCK_BYTES / group_bytes * GROUP).min(BLOCK) } else { GROUP };
    let mut copies = [0, 1].map(|side| {
        if copied || !cells.len().is_multiple_of(W) {
            vec![T::default(); block * padded(rows[side])]
        } else {
            Vec::new()
        }
    });
    // In memory of its own: the compiler shall not take it for the registers that sums are in.
    let mut sums = vec![T::default(); SUMS * W];
    let offsets: Vec<usize> = (0..left.count).map(|k| k * GROUP).collect();
    for first in cells.clone().step_by(block) {
        let some = block.min(cells.end - first);
        // Vectors that cells do not fill are computed from a copy too.
        let copied = copied || !some.is_multiple_of(W);
        if copied {
            copy(left, first..first + some, &mut copies[0]);
            copy(right, first..first + some, &mut copies[1]);
        }
        for at in (0..some).step_by(W) {
            let [a, b] = [0, 1].map(|side| {
                let operand = &job.operands[side];
                if copied {
                    let data = &copies[side][at / GROUP * GROUP * padded(rows[side]) + at % GROUP..];
                    Numbers { data, stride: offsets.len() * GROUP, offsets: &offsets, last: operand.fields() - 1 }
                } else {
                    let data = operand.at_cell(first + at);
                    let (stride, offsets) = (operand.field_stride(), &operand.offsets);
                    Numbers { data, stride, offsets, last: operand.fields() - 1 }
                }
            });
            let to = (&mut *out, first + at - cells.start, W.min(some - at));
            if left.fields().is_multiple_of(3) && right.fields().is_multiple_of(3) {
                tiles::<FUSED, W, 3, 3, T>(&a, &b, &mut sums, to);
            } else {
                tiles::<FUSED, W, 4, 2, T>(&a, &b, &mut sums, to);
            }
        }
    }
}

/// `to[group, field, k, cell of the group]` = the operand's cells, in groups of [`GROUP`].
#[inline(always)]
fn copy<T: Real>(operand: &Operand<'_, T>, cells: Range<usize>, to: &mut [T]) {
    let (field, count) = (operand.field_stride(), operand.count);
    let rows = padded(operand.fields() * count);
    for f in 0..operand.fields() {
        for k in 0..count {
            let from = &operand.data[f * field + operand.offsets[k] + cells.start..][..cells.len()];
            let soon = operand.number(f, k + AHEAD) + cells.start;
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

/// The fields of one operand, `W` cells in each number.
struct Numbers<'a, T> {
    data: &'a [T],
    stride: usize,
    offsets: &'a [usize],
    last: usize,
}

impl<'a, T> Numbers<'a, T> {
    /// `len` numbers from a field on; past the last, from the last on.
    #[inline(always)]
    fn field(&self, f: usize, len: usize) -> &'a [T] {
        &self.data[f.min(self.last) * self.stride..][..len]
    }
}

/// All fields by all, a tile of `BL` x `BR` at a time, for `used` of `W` cells.
///
/// 4 x 2 and 3 x 3 sums hide the latency of two fused units and leave room for the operands in 16 registers.
#[inline(always)]
fn tiles<const FUSED: bool, const W: usize, const BL: usize, const BR: usize, T: Real>(
    left: &Numbers<'_, T>,
    right: &Numbers<'_, T>,
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
            let whole = full && used == W && sum == Sum::Overwrite && one_slice;
            let (to, strides) =
                if whole { (out.at(cell, l, r), [l_stride, r_stride]) } else { (&mut *sums, [BR * W, W]) };
            tile::<FUSED, W, BL, BR, T>((a, left.offsets), (b, right.offsets), to, strides);
            if whole {
                continue;
            }
            for i in 0..BL.min(left.last + 1 - l) {
                for j in 0..BR.min(right.last + 1 - r) {
                    let values: &[T; W] = sums[(i * BR + j) * W..].first_chunk().expect("a vector");
                    store(out.at(cell, l + i, r + j), 1, values, used, sum);
                }
            }
        }
    }
}

/// `out[i strides[0] + j strides[1] + lane] = sum_k left[i][k] right[j][k]`.
#[inline(always)]
fn tile<const FUSED: bool, const W: usize, const BL: usize, const BR: usize, T: Real>(
    (left, left_offsets): ([&[T]; BL], &[usize]),
    (right, right_offsets): ([&[T]; BR], &[usize]),
    out: &mut [T],
    strides: [usize; 2],
) {
    // One check of an offset for all fields: their slices are of one length.
    let (left_len, right_len) = (left[0].len(), right[0].len());
    let mut sums = [[Lanes::<FUSED, T, W>::splat(T::default()); BR]; BL];
    for (&p, &q) in left_offsets.iter().zip(right_offsets) {
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
            *out[i * strides[0] + j * strides[1]..].first_chunk_mut().expect("a vector") = sums[i][j].0;
        }
    }
}

#[inline(always)]
fn vector<const FUSED: bool, const W: usize, T: Real>(data: &[T], len: usize, at: usize) -> Lanes<FUSED, T, W> {
    Lanes(*data[..len][at..].first_chunk().expect("a vector"))
}

/// One field on a side: each number is used once, so sums lie in memory and cells are read in long runs.
#[inline(always)]
fn products<const FUSED: bool, const W: usize, T: Real>(
    job: &Job<'_, T>,
    cells: Range<usize>,
    out: &mut Output<'_, T>,
) {
    let [left, right] = &job.operands;
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
                if job.streams {
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
