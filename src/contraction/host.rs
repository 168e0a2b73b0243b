//! One body for the nine on host spaces: per cell a product of two matrices, with any strides.
//!
//! out[c, l, r] = sum_k left[c, l, k] right[c, r, k]; k runs over points and dimensions through a table of offsets, so
//! no stride is special. Where the cells of all three arrays are neighbours in memory ([`Layout::Left`]) vectors hold
//! cells (`cells.rs`); else fields of one cell (`rows.rs`; `hex8.rs` for its sizes), or k where a side has one field
//! (`dots.rs`). Neither the number of threads nor of cells changes a cell's bits. Here are ranks and spaces; kernels know
//! neither (`job.rs`).
//! Limits: only packed output is shared among threads, and [`Layout::Left`] only where all arrays are; the rest is one's.

use super::cells::BLOCK;
use super::job::{self, Job, Operand, Output};
use super::shape::{Shape, out_strides};
use super::{Contract, Sum, Task};
use crate::Result;
use crate::space::lanes::Real;
use crate::space::{HostMemory, HostSpace, Layout, View, ViewMut};
use rayon::prelude::*;

impl<S: HostSpace> Contract for S {
    type Memory = HostMemory;

    fn contract<T: Real, const A: usize, const B: usize, const C: usize>(
        &self,
        Task { fields, sum }: Task,
        left: &View<'_, T, A>,
        right: &View<'_, T, B>,
        out: &mut ViewMut<'_, T, C>,
    ) -> Result<()> {
        let (layouts, strides) = ([Layout::Right, Layout::Left].map(|layout| out.is_packed(layout)), out_strides(out));
        let left = (left.data(), Shape::new(left, fields[0]));
        let right = (right.data(), Shape::new(right, fields[1]));
        contract(self, left, right, (out.data_mut(), strides, layouts), sum);
        Ok(())
    }
}

/// `out` has its memory, its strides, and whether it is packed, the last index fastest or the first.
fn contract<T: Real>(
    space: &impl HostSpace,
    left: (&[T], Shape),
    right: (&[T], Shape),
    (out, strides, [packed_right, packed_left]): (&mut [T], [usize; 3], [bool; 2]),
    sum: Sum,
) {
    let [cells, _, points @ ..] = right.1.extents;
    let per_cell = left.1.extents[1] * right.1.extents[1];
    if cells * per_cell == 0 {
        return;
    }
    let side_by_side = left.1.strides[0] == 1 && right.1.strides[0] == 1 && strides[0] == 1;
    let operands = [left, right].map(|(data, shape)| Operand::new(data, shape, points, side_by_side));
    let count = operands[0].count;
    if count == 0 {
        return clear(out, [cells, operands[0].fields(), operands[1].fields()], strides, sum);
    }
    let streams = operands.iter().map(|x| cells * x.fields() * count * size_of::<T>()).sum::<usize>() > NEAR;
    let job = Job { operands, side_by_side, streams };
    let piece = cells_per_piece(per_cell * count, if side_by_side { BLOCK } else { 16 });
    if packed_right {
        let pieces = out[..cells * per_cell].par_chunks_mut(piece * per_cell).enumerate();
        space.for_each(pieces, |(i, out)| {
            let first = i * piece;
            job::contract(&job, first..first + out.len() / per_cell, &mut Output::whole(out, strides, sum));
        });
    } else if side_by_side && packed_left && space.concurrency() > 1 {
        // Few pieces: each copies into memory of its own.
        let piece = cells.div_ceil(4 * space.concurrency()).next_multiple_of(BLOCK);
        let pieces = Output::split(&mut out[..cells * per_cell], cells, piece, strides, sum);
        space.for_each(pieces.into_par_iter().enumerate(), |(i, mut out)| {
            let first = i * piece;
            job::contract(&job, first..(first + piece).min(cells), &mut out);
        });
    } else {
        job::contract(&job, 0..cells, &mut Output::whole(out, strides, sum));
    }
}

/// Bytes of operands that caches near a core hold: a common second-level cache.
const NEAR: usize = 512 << 10;

/// Sums of nothing.
fn clear<T: Real>(out: &mut [T], [cells, left, right]: [usize; 3], strides: [usize; 3], sum: Sum) {
    if sum == Sum::Into {
        return;
    }
    for c in 0..cells {
        for l in 0..left {
            for r in 0..right {
                out[c * strides[0] + l * strides[1] + r * strides[2]] = T::default();
            }
        }
    }
}

/// Cells of a piece: some 100 k products, so that handing it to a thread costs little.
fn cells_per_piece(products: usize, multiple: usize) -> usize {
    (262_144 / products).next_multiple_of(multiple).max(multiple)
}
