//! One body for the nine on host spaces: per cell a product of two matrices, with any strides.
//!
//! out[c, l, r] = sum_k left[c, l, k] right[c, r, k]; k runs over points and dimensions through a table of offsets, so
//! no stride is special. Where the cells of all three arrays are neighbours in memory ([`Layout::Left`]) eight cells are
//! computed in lanes; else a cell at a time. Neither the number of threads nor of cells changes a cell's bits.
//! Limits: only packed [`Layout::Right`] output is shared among threads; other layouts run on one.

use super::shape::{Shape, out_strides};
use super::tile::{Sink, Source, tiles};
use super::{Contract, Sum, Task};
use crate::Result;
use crate::space::lanes::{LANES, Lanes, Real};
use crate::space::{HostMemory, HostSpace, Layout, View, ViewMut};
use multiversion::multiversion;
use multiversion::target::match_target;
use rayon::prelude::*;
use std::ops::Range;

/// An array and its shape.
#[derive(Clone, Copy, Debug)]
struct Operand<'a, T> {
    data: &'a [T],
    shape: Shape,
}

impl<'a, T: Real> Operand<'a, T> {
    fn new<const RANK: usize>(view: &'a View<'_, T, RANK>, with_fields: bool) -> Self {
        Operand { data: view.data(), shape: Shape::new(view, with_fields) }
    }

    /// Offset of each contraction index for these points and dimensions.
    fn offsets(&self, [points, rows, columns]: [usize; 3]) -> Vec<usize> {
        let [.., row, column] = self.shape.strides;
        let point = self.shape.point_stride();
        let columns = move |at: usize| (0..columns).map(move |j| at + j * column);
        let rows = move |at: usize| (0..rows).map(move |i| at + i * row);
        (0..points).flat_map(|p| rows(p * point)).flat_map(columns).collect()
    }
}

/// The two operands, their offsets along k, and what to do with the old output.
struct Job<'a, T> {
    operands: [Operand<'a, T>; 2],
    offsets: [Vec<usize>; 2],
    sum: Sum,
}

impl<S: HostSpace> Contract for S {
    type Memory = HostMemory;

    fn contract<T: Real, const A: usize, const B: usize, const C: usize>(
        &self,
        Task { fields, sum }: Task,
        left: &View<'_, T, A>,
        right: &View<'_, T, B>,
        out: &mut ViewMut<'_, T, C>,
    ) -> Result<()> {
        contract(self, Operand::new(left, fields[0]), Operand::new(right, fields[1]), out, sum);
        Ok(())
    }
}

fn contract<T: Real, const RANK: usize>(
    space: &impl HostSpace,
    left: Operand<'_, T>,
    right: Operand<'_, T>,
    out: &mut ViewMut<'_, T, RANK>,
    sum: Sum,
) {
    let strides = out_strides(out);
    let [cells, _, points @ ..] = right.shape.extents;
    let per_cell = left.shape.extents[1] * right.shape.extents[1];
    if cells * per_cell == 0 {
        return;
    }
    let job = Job { operands: [left, right], offsets: [left.offsets(points), right.offsets(points)], sum };
    if out.is_packed(Layout::Right) {
        let chunk = HostCells::per_piece(per_cell * job.offsets[0].len().max(1));
        let pieces = out.data_mut()[..cells * per_cell].par_chunks_mut(chunk * per_cell).enumerate();
        space.for_each(pieces, |(piece, out)| {
            let first = piece * chunk;
            run(&job, first..first + out.len() / per_cell, out, strides);
        });
    } else {
        run(&job, 0..cells, out.data_mut(), strides);
    }
}

/// How cells are shared out.
struct HostCells;

impl HostCells {
    /// Cells of a piece: about 64 k products, so that handing it to a thread costs little.
    fn per_piece(products: usize) -> usize {
        (65_536 / products).next_multiple_of(LANES).max(LANES)
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn run<T: Real>(job: &Job<'_, T>, cells: Range<usize>, out: &mut [T], strides: [usize; 3]) {
    match_target! {
        "x86_64+avx512f" => each::<4, true, T>(job, cells, out, strides),
        "x86_64+fma" => each::<2, true, T>(job, cells, out, strides),
        _ => each::<2, false, T>(job, cells, out, strides),
    }
}

#[inline(always)]
fn each<const BLOCK: usize, const FUSED: bool, T: Real>(
    job: &Job<'_, T>,
    cells: Range<usize>,
    out: &mut [T],
    strides: [usize; 3],
) {
    let [left, right] = &job.operands;
    let sizes = [left.shape.extents[1], right.shape.extents[1], job.offsets[0].len()];
    let side_by_side = left.shape.strides[0] == 1 && right.shape.strides[0] == 1 && strides[0] == 1;
    let step = if side_by_side { LANES } else { 1 };
    for cell in cells.clone().step_by(step) {
        let used = step.min(cells.end - cell);
        let [a, b] = [0, 1].map(|side| Cells {
            // Nothing is read of an array without points, which may end before this cell.
            data: job.operands[side].data.get(cell * job.operands[side].shape.strides[0]..).unwrap_or_default(),
            field: job.operands[side].shape.strides[1],
            offsets: &job.offsets[side],
            used,
        });
        let start = (cell - cells.start) * strides[0];
        let mut sink = Out { data: &mut out[start..], strides: [strides[1], strides[2]], sum: job.sum, used };
        if side_by_side {
            tiles::<Lanes<FUSED, T>, BLOCK, BLOCK>(sizes, &a, &b, &mut sink);
        } else {
            tiles::<T, BLOCK, BLOCK>(sizes, &a, &b, &mut sink);
        }
    }
}

/// One operand from one cell on.
struct Cells<'a, T> {
    data: &'a [T],
    field: usize,
    offsets: &'a [usize],
    used: usize,
}

impl<T: Real> Source<T> for Cells<'_, T> {
    #[inline(always)]
    fn at(&self, f: usize, k: usize) -> T {
        self.data[f * self.field + self.offsets[k]]
    }
}

impl<const FUSED: bool, T: Real> Source<Lanes<FUSED, T>> for Cells<'_, T> {
    #[inline(always)]
    fn at(&self, f: usize, k: usize) -> Lanes<FUSED, T> {
        let from = &self.data[f * self.field + self.offsets[k]..];
        let mut lanes = Lanes::splat(T::default());
        if self.used == LANES {
            lanes.0.copy_from_slice(&from[..LANES]);
        } else {
            lanes.0[..self.used].copy_from_slice(&from[..self.used]);
        }
        lanes
    }
}

/// The output from one cell on.
struct Out<'a, T> {
    data: &'a mut [T],
    strides: [usize; 2],
    sum: Sum,
    used: usize,
}

impl<T: Real> Sink<T> for Out<'_, T> {
    #[inline(always)]
    fn put(&mut self, l: usize, r: usize, sum: T) {
        let out = &mut self.data[l * self.strides[0] + r * self.strides[1]];
        match self.sum {
            Sum::Overwrite => *out = sum,
            Sum::Into => *out = *out + sum,
        }
    }
}

impl<const FUSED: bool, T: Real> Sink<Lanes<FUSED, T>> for Out<'_, T> {
    #[inline(always)]
    fn put(&mut self, l: usize, r: usize, sum: Lanes<FUSED, T>) {
        let start = l * self.strides[0] + r * self.strides[1];
        for (out, lane) in self.data[start..][..self.used].iter_mut().zip(sum.0) {
            match self.sum {
                Sum::Overwrite => *out = lane,
                Sum::Into => *out = *out + lane,
            }
        }
    }
}
