//! One body for the nine on host spaces: per cell a product of two matrices, with any strides.
//!
//! out[c, l, r] = sum_k left[c, l, k] right[c, r, k]; k runs over points and dimensions through a table of offsets, so
//! no stride is special. Where the cells of all three arrays are neighbours in memory ([`Layout::Left`]) vectors hold
//! cells (`cells.rs`); else they hold fields or k of one cell (`rows.rs`). Neither the number of threads nor of cells
//! changes a cell's bits.
//! Limits: only packed output is shared among threads, and [`Layout::Left`] only where all arrays are; the rest is one's.

use super::output::{Output, Planes, Whole};
use super::shape::{Shape, out_strides};
use super::{Contract, Sum, Task, cells, rows};
use crate::Result;
use crate::space::lanes::Real;
use crate::space::{HostMemory, HostSpace, Layout, View, ViewMut};
use multiversion::multiversion;
use multiversion::target::match_target;
use rayon::prelude::*;
use std::ops::Range;

/// An array and its shape.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a, T> {
    pub data: &'a [T],
    pub shape: Shape,
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

    /// What begins at a cell; nothing of an array without points, which may end before.
    #[inline(always)]
    pub fn from_cell(&self, cell: usize) -> &'a [T] {
        self.data.get(cell * self.shape.strides[0]..).unwrap_or_default()
    }

    pub fn fields(&self) -> usize {
        self.shape.extents[1]
    }
}

/// The two operands, their offsets along k, and what to do with the old output.
pub struct Job<'a, T> {
    pub operands: [Operand<'a, T>; 2],
    pub offsets: [Vec<usize>; 2],
    pub sum: Sum,
    /// Whether neighbouring cells are neighbours in all three arrays.
    side_by_side: bool,
}

impl<T: Real> Job<'_, T> {
    /// `[L, R, K]`.
    pub fn sizes(&self) -> [usize; 3] {
        [self.operands[0].fields(), self.operands[1].fields(), self.offsets[0].len()]
    }
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
    let per_cell = left.fields() * right.fields();
    if cells * per_cell == 0 {
        return;
    }
    let side_by_side = left.shape.strides[0] == 1 && right.shape.strides[0] == 1 && strides[0] == 1;
    let offsets = [left.offsets(points), right.offsets(points)];
    let job = Job { operands: [left, right], offsets, sum, side_by_side };
    let piece = cells_per_piece(per_cell * job.offsets[0].len().max(1));
    if out.is_packed(Layout::Right) {
        let pieces = out.data_mut()[..cells * per_cell].par_chunks_mut(piece * per_cell).enumerate();
        space.for_each(pieces, |(i, out)| {
            let first = i * piece;
            run(&job, first..first + out.len() / per_cell, &mut Whole { data: out, strides });
        });
    } else if side_by_side && out.is_packed(Layout::Left) {
        let pieces = Planes::split(&mut out.data_mut()[..cells * per_cell], cells, piece, strides);
        space.for_each(pieces.into_par_iter().enumerate(), |(i, mut out)| {
            let first = i * piece;
            run_cells(&job, first..(first + piece).min(cells), &mut out);
        });
    } else {
        run(&job, 0..cells, &mut Whole { data: out.data_mut(), strides });
    }
}

/// Cells of a piece: about 1 M products, so that handing it to a thread costs little and streams are long.
fn cells_per_piece(products: usize) -> usize {
    (1_048_576 / products).next_multiple_of(cells::BLOCK).max(cells::BLOCK)
}

fn run<T: Real>(job: &Job<'_, T>, cells: Range<usize>, out: &mut Whole<'_, T>) {
    if job.side_by_side { run_cells(job, cells, out) } else { run_rows(job, cells, out) }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn run_rows<T: Real>(job: &Job<'_, T>, cells: Range<usize>, out: &mut Whole<'_, T>) {
    match_target! {
        "x86_64+avx512f" => by_rows::<true, 8, 16, T>(job, cells, out),
        "x86_64+fma" => by_rows::<true, 4, 8, T>(job, cells, out),
        _ => by_rows::<false, 2, 4, T>(job, cells, out),
    }
}

#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn run_cells<T: Real, O: Output<T>>(job: &Job<'_, T>, cells: Range<usize>, out: &mut O) {
    match_target! {
        "x86_64+avx512f" => by_cells::<true, 8, 16, 4, T, O>(job, cells, out),
        "x86_64+fma" => by_cells::<true, 4, 8, 2, T, O>(job, cells, out),
        _ => by_cells::<false, 2, 4, 2, T, O>(job, cells, out),
    }
}

/// `W64` and `W32` are the numbers of a vector.
#[inline(always)]
fn by_rows<const FUSED: bool, const W64: usize, const W32: usize, T: Real>(
    job: &Job<'_, T>,
    range: Range<usize>,
    out: &mut Whole<'_, T>,
) {
    match size_of::<T>() {
        4 => rows::each::<FUSED, W32, T>(job, range, out),
        _ => rows::each::<FUSED, W64, T>(job, range, out),
    }
}

/// `B` is the right side of a tile.
#[inline(always)]
fn by_cells<const FUSED: bool, const W64: usize, const W32: usize, const B: usize, T: Real, O: Output<T>>(
    job: &Job<'_, T>,
    range: Range<usize>,
    out: &mut O,
) {
    match size_of::<T>() {
        4 => cells::each::<FUSED, W32, B, T, O>(job, range, out),
        _ => cells::each::<FUSED, W64, B, T, O>(job, range, out),
    }
}
