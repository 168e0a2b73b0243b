//! Contractions of cells with stride 1: vectors hold one number of each of `W` neighbouring cells.
//!
//! Shapes: operands `[cells, fields, k]`, stride 1 along the cells, any other strides. Each sum is one chain over k. Cost per
//! cell: 2 L R K operations. In long rows of cells consecutive terms of a cell are a whole plane apart, so that they share cache
//! sets and defeat hardware prefetchers. There a block of cells is first copied to a compact buffer, which reads each cache
//! line once.

use super::Sum;
use super::operands::{Operand, Operands};
use super::output::{Output, store};
use crate::space::lanes::{Lanes, Real};
use crate::space::prefetch;
use std::hint::black_box;
use std::ops::Range;

/// Largest number of cells that are copied together; pieces for threads are multiples of it.
pub const BLOCK: usize = 512;
/// Cells whose numbers are contiguous in a copy: one cache line in f32.
const GROUP: usize = 16;
/// Largest copy in bytes: a core's share of the caches.
const BLOCK_BYTES: usize = 1 << 21;
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

/// Whether rows of cells so many bytes apart are better copied: beyond four pages, or beyond one if they share cache sets, as they do
/// unless an odd number of lines lies between them.
fn is_far(bytes: usize) -> bool {
    bytes >= 16384 || bytes >= 4096 && (bytes / 64).is_multiple_of(2)
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
    let copied = operands.exceeds_cache
        && operands.pair.iter().any(|operand| is_far(operand.row_stride() * size_of::<T>()))
        && group_bytes <= BLOCK_BYTES;
    let block = if copied {
        (BLOCK_BYTES / group_bytes * GROUP).min(BLOCK).min(cells.len().next_multiple_of(GROUP))
    } else {
        GROUP
    };
    // Without copies nothing is allocated.
    let copies_any = copied || !cells.len().is_multiple_of(W);
    let offsets = [left, right].map(|operand| if copies_any { operand.offsets() } else { Vec::new() });
    let mut copies = rows.map(|rows| vec![T::default(); if copies_any { block * padded(rows) } else { 0 }]);
    // Hides the buffer from LLVM, which would merge it with the registers that hold the sums of a tile.
    let mut sums = [[T::default(); W]; SUMS];
    let sums = black_box(&mut sums);
    let terms = Terms::new(operands.pair.each_ref());
    for first in cells.clone().step_by(block) {
        let some = block.min(cells.end - first);
        // The last vector of a range, if cells do not fill it, is computed from a copy, too.
        let copied = copied || !some.is_multiple_of(W);
        if copied {
            copy((left, &offsets[0]), first..first + some, &mut copies[0]);
            copy((right, &offsets[1]), first..first + some, &mut copies[1]);
        }
        for at in (0..some).step_by(W) {
            let [a, b] = [0, 1].map(|side| {
                let (operand, last) = (&operands.pair[side], operands.pair[side].fields() - 1);
                if copied {
                    let data = &copies[side][at / GROUP * GROUP * padded(rows[side]) + at % GROUP..];
                    Numbers { data, stride: operand.count * GROUP, last }
                } else {
                    Numbers { data: operand.at_cell(first + at), stride: operand.field_stride(), last }
                }
            });
            let terms = if copied { Terms::copied(left.count) } else { terms };
            let to = (&mut *out, first + at - cells.start, W.min(some - at));
            let of_three = left.fields().is_multiple_of(3) && right.fields().is_multiple_of(3);
            let of_four = left.fields().is_multiple_of(4) && right.fields().is_multiple_of(4);
            if left.fields() == 1 {
                tiles::<FUSED, W, 1, 8, T>(&a, &b, &terms, sums, to);
            } else if of_three {
                tiles::<FUSED, W, 3, 3, T>(&a, &b, &terms, sums, to);
            } else if W == 8 && of_four {
                tiles::<FUSED, W, 4, 4, T>(&a, &b, &terms, sums, to);
            } else {
                tiles::<FUSED, W, 4, 2, T>(&a, &b, &terms, sums, to);
            }
        }
    }
}

/// The terms of both operands as a nest of three loops, the longest runs innermost.
#[derive(Clone, Copy)]
struct Terms {
    /// Extent, and strides of left and right.
    axes: [(usize, [usize; 2]); 3],
}

impl Terms {
    /// Merges the axes over which both operands have one stride.
    fn new<T>([left, right]: [&Operand<'_, T>; 2]) -> Self {
        let (strides, mut axes, mut inner) = ([left.strides(), right.strides()], [(1, [0; 2]); 3], 2);
        for axis in (0..3).rev() {
            let (extent, strides) = (left.extents[axis].max(right.extents[axis]), strides.map(|strides| strides[axis]));
            let (length, steps) = axes[inner];
            if length == 1 {
                axes[inner] = (extent, strides);
            } else if strides == steps.map(|step| length * step) {
                axes[inner].0 *= extent;
            } else if extent > 1 {
                inner -= 1;
                axes[inner] = (extent, strides);
            }
        }
        Terms { axes }
    }

    /// Terms of copies.
    fn copied(count: usize) -> Self {
        Terms { axes: [(1, [0; 2]), (1, [0; 2]), (count, [GROUP; 2])] }
    }

    /// Returns the offset of the last term.
    fn last(&self, side: usize) -> usize {
        self.axes.iter().map(|(extent, strides)| (extent - 1) * strides[side]).sum()
    }
}

/// Copies an operand's cells to `to[group, field, k, cell of the group]`, with [`GROUP`] cells per group.
#[inline(always)]
fn copy<T: Real>((operand, offsets): (&Operand<'_, T>, &[usize]), cells: Range<usize>, to: &mut [T]) {
    let count = operand.count;
    let rows = padded(operand.fields() * count);
    for f in 0..operand.fields() {
        for k in 0..count {
            let from = &operand.data[operand.number(offsets, f, k) + cells.start..][..cells.len()];
            let soon = operand.number(offsets, f, k + PREFETCH_ROWS) + cells.start;
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
fn tiles<const FUSED: bool, const W: usize, const BL: usize, const BR: usize, T: Real>(
    left: &Numbers<'_, T>,
    right: &Numbers<'_, T>,
    terms: &Terms,
    sums: &mut [[T; W]],
    (out, cell, used): (&mut Output<'_, T>, usize, usize),
) {
    let [left_len, right_len] = [0, 1].map(|side| terms.last(side) + W);
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
                let sum = out.sum;
                tile::<FUSED, W, BL, BR, T>(a, b, terms, out.at(cell, l, r), [l_stride, r_stride], sum);
                continue;
            }
            tile::<FUSED, W, BL, BR, T>(a, b, terms, sums.as_flattened_mut(), [BR * W, W], Sum::Overwrite);
            for i in 0..BL.min(left.last + 1 - l) {
                for j in 0..BR.min(right.last + 1 - r) {
                    let sum = out.sum;
                    store(out.at(cell, l + i, r + j), 1, &sums[i * BR + j], used, sum);
                }
            }
        }
    }
}

/// `out[i strides[0] + j strides[1] + lane] = or += sum_k left[i][k] right[j][k]`.
#[inline(always)]
fn tile<const FUSED: bool, const W: usize, const BL: usize, const BR: usize, T: Real>(
    left: [&[T]; BL],
    right: [&[T]; BR],
    terms: &Terms,
    out: &mut [T],
    strides: [usize; 2],
    sum: Sum,
) {
    // All slices of an operand have one length, so one bounds check per term covers all fields.
    let (left_len, right_len) = (left[0].len(), right[0].len());
    let mut sums = [[Lanes::<FUSED, T, W>::splat(T::default()); BR]; BL];
    let [points, rows, columns] = terms.axes;
    if points.0 * rows.0 == 1 {
        sums = run((left, left_len), (right, right_len), [0; 2], columns, sums);
    } else {
        for p in 0..points.0 {
            for i in 0..rows.0 {
                let first = [0, 1].map(|side| p * points.1[side] + i * rows.1[side]);
                sums = run((left, left_len), (right, right_len), first, columns, sums);
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

/// Returns `sums` plus the products of `count` terms, `strides` apart.
#[inline(always)]
fn run<const FUSED: bool, const W: usize, const BL: usize, const BR: usize, T: Real>(
    (left, left_len): ([&[T]; BL], usize),
    (right, right_len): ([&[T]; BR], usize),
    first: [usize; 2],
    (count, strides): (usize, [usize; 2]),
    mut sums: [[Lanes<FUSED, T, W>; BR]; BL],
) -> [[Lanes<FUSED, T, W>; BR]; BL] {
    for k in 0..count {
        // Products, because LLVM keeps two running sums in a vector register.
        let (at, to) = (first[0] + k * strides[0], first[1] + k * strides[1]);
        let mut b = [Lanes::splat(T::default()); BR];
        for j in 0..BR {
            b[j] = vector(right[j], right_len, to);
        }
        for i in 0..BL {
            let a = vector(left[i], left_len, at);
            for j in 0..BR {
                sums[i][j] = a.mul_add(b[j], sums[i][j]);
            }
        }
    }
    sums
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
    let (mut sums, offsets) = (vec![T::default(); BLOCK.min(cells.len())], [left.offsets(), right.offsets()]);
    for first in cells.clone().step_by(BLOCK) {
        let sums = &mut sums[..BLOCK.min(cells.end - first)];
        for f in 0..left.fields().max(right.fields()) {
            let [l, r] = [f.min(left.fields() - 1), f.min(right.fields() - 1)];
            sums.fill(T::default());
            for k in 0..left.count {
                let a = &left.data[left.number(&offsets[0], l, k) + first..][..sums.len()];
                let b = &right.data[right.number(&offsets[1], r, k) + first..][..sums.len()];
                if operands.exceeds_cache {
                    for line in (0..sums.len()).step_by(64 / size_of::<T>()) {
                        prefetch(left.data, left.number(&offsets[0], l, k + 1) + first + line);
                        prefetch(right.data, right.number(&offsets[1], r, k + 1) + first + line);
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
