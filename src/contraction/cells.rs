//! Contractions of cells that are neighbours in memory: vectors hold cells, one number of each.
//!
//! Shapes: operands `[cells, fields, k]` with any strides but 1 along the cells. Every sum is one chain over k, whatever
//! the tile. Cost: 2 L R K operations a cell. Long arrays are strided by whole planes, which caches and prefetchers like
//! least: there a block of cells is first copied side by side, each line of memory read once.

use super::Sum;
use super::host::{Job, Operand};
use super::output::{Output, store};
use super::tile::{Sink, Source, tiles};
use crate::space::lanes::{Lanes, Real};
use crate::space::prefetch;
use std::ops::Range;

/// Cells that are copied together at most; pieces for threads are multiples.
pub const BLOCK: usize = 64;
/// Cells whose numbers fill a line of memory in `f32`: what lies side by side in a block.
const GROUP: usize = 16;
/// Bytes that a block may fill: half of a common second-level cache.
const BLOCK_BYTES: usize = 256 << 10;
/// Rows between what is copied and what is asked for.
const AHEAD: usize = 4;

/// Computes a range of cells, `W` at a time.
#[inline(always)]
pub fn each<const FUSED: bool, const W: usize, const B: usize, T: Real, O: Output<T>>(
    job: &Job<'_, T>,
    cells: Range<usize>,
    out: &mut O,
) {
    let sizes = job.sizes();
    let rows = (sizes[0] + sizes[1]) * sizes[2];
    let group_bytes = rows * GROUP * size_of::<T>();
    let total = job.operands[0].data.len() + job.operands[1].data.len();
    // A number that is used once is not worth a copy.
    let copied = total * size_of::<T>() > BLOCK_BYTES && rows > 0 && sizes[0] > 1 && group_bytes <= BLOCK_BYTES;
    let block = if copied { (BLOCK_BYTES / group_bytes * GROUP).min(BLOCK) } else { BLOCK };
    let mut copies = [0, 1].map(|side| vec![T::default(); if copied { block * sizes[side] * sizes[2] } else { 0 }]);
    let offsets: Vec<usize> = (0..sizes[2]).map(|k| k * GROUP).collect();
    for first in cells.clone().step_by(block) {
        let some = block.min(cells.end - first);
        for side in 0..if copied { 2 } else { 0 } {
            copy(&job.operands[side], &job.offsets[side], first..first + some, &mut copies[side]);
        }
        for at in (0..some).step_by(W) {
            let used = W.min(some - at);
            let [a, b] = [0, 1].map(|side| {
                if copied {
                    let data = &copies[side][at / GROUP * GROUP * sizes[side] * sizes[2] + at % GROUP..];
                    Cells { data, field: sizes[2] * GROUP, offsets: &offsets, used }
                } else {
                    let operand = &job.operands[side];
                    let (data, field) = (operand.from_cell(first + at), operand.shape.strides[1]);
                    Cells { data, field, offsets: &job.offsets[side], used }
                }
            });
            product::<FUSED, W, B, T, O>(sizes, (&a, &b), (first + at - cells.start, used, job.sum), out);
        }
    }
}

/// `to[group, field, k, cell of the group]` = the operand's cells, in groups of [`GROUP`].
#[inline(always)]
fn copy<T: Real>(operand: &Operand<'_, T>, offsets: &[usize], cells: Range<usize>, to: &mut [T]) {
    let (field, count) = (operand.shape.strides[1], offsets.len());
    let rows = operand.fields() * count;
    for f in 0..operand.fields() {
        for k in 0..count {
            let start = f * field + offsets[k] + cells.start;
            let from = &operand.data[start..][..cells.len()];
            let soon = if k + AHEAD < count {
                f * field + offsets[k + AHEAD]
            } else {
                (f + 1) * field + offsets[(k + AHEAD - count).min(count - 1)]
            };
            for line in (0..cells.len()).step_by(64 / size_of::<T>()) {
                prefetch(operand.data, soon + cells.start + line);
            }
            let (whole, rest) = from.as_chunks::<GROUP>();
            let row = f * count + k;
            for (g, group) in whole.iter().enumerate() {
                *to[(g * rows + row) * GROUP..].first_chunk_mut().expect("a group") = *group;
            }
            if !rest.is_empty() {
                to[(whole.len() * rows + row) * GROUP..][..rest.len()].copy_from_slice(rest);
            }
        }
    }
}

/// `used` cells from `at` on.
#[inline(always)]
fn product<const FUSED: bool, const W: usize, const B: usize, T: Real, O: Output<T>>(
    sizes: [usize; 3],
    (a, b): (&Cells<'_, T>, &Cells<'_, T>),
    (cell, used, sum): (usize, usize, Sum),
    out: &mut O,
) {
    let mut sink = Lanewise { out, cell, used, sum };
    match sizes {
        [1, ..] => tiles::<Lanes<FUSED, T, W>, 1, 8>(sizes, a, b, &mut sink),
        [8, 8, 8] => tiles::<Lanes<FUSED, T, W>, 4, B>([8, 8, 8], a, b, &mut sink),
        [8, 8, 24] => tiles::<Lanes<FUSED, T, W>, 4, B>([8, 8, 24], a, b, &mut sink),
        [l, r, _] if l % 3 == 0 && r % 3 == 0 => tiles::<Lanes<FUSED, T, W>, 3, 3>(sizes, a, b, &mut sink),
        _ => tiles::<Lanes<FUSED, T, W>, 4, B>(sizes, a, b, &mut sink),
    }
}

/// One operand from one cell on.
struct Cells<'a, T> {
    data: &'a [T],
    field: usize,
    offsets: &'a [usize],
    used: usize,
}

impl<const FUSED: bool, T: Real, const W: usize> Source<Lanes<FUSED, T, W>> for Cells<'_, T> {
    #[inline(always)]
    fn at(&self, f: usize, k: usize) -> Lanes<FUSED, T, W> {
        let from = &self.data[f * self.field + self.offsets[k]..];
        if let (true, Some(lanes)) = (self.used == W, from.first_chunk()) {
            return Lanes(*lanes);
        }
        let mut lanes = Lanes::splat(T::default());
        lanes.0[..self.used].copy_from_slice(&from[..self.used]);
        lanes
    }
}

/// The output of `used` cells.
struct Lanewise<'a, O> {
    out: &'a mut O,
    cell: usize,
    used: usize,
    sum: Sum,
}

impl<const FUSED: bool, T: Real, O: Output<T>, const W: usize> Sink<Lanes<FUSED, T, W>> for Lanewise<'_, O> {
    #[inline(always)]
    fn put(&mut self, l: usize, r: usize, sum: Lanes<FUSED, T, W>) {
        let out = self.out.from(self.cell, l, r);
        match out.first_chunk_mut::<W>() {
            Some(out) if self.used == W => store(out, &sum.0, self.sum),
            _ => store(&mut out[..self.used], &sum.0[..self.used], self.sum),
        }
    }
}
