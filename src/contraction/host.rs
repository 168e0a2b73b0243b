//! The nine contractions on hosts: per cell one matrix product, for any strides.
//!
//! out[c, l, r] = sum_k left[c, l, k] right[c, r, k]; k runs over points and dimensions through a table of offsets. The
//! layout selects the kernel:
//!
//! | file | layout | a vector holds |
//! |---|---|---|
//! | `cells.rs` | cells with stride 1 in all three arrays ([`Layout::Left`]) | neighbouring cells |
//! | `rows.rs` | any other | right fields of one cell |
//! | `hex8.rs` | packed, 8 x 8 fields, K = 8, 24 or 72 | right fields of one cell |
//! | `dots.rs` | as `rows.rs`, one field in an operand | terms of one sum |
//!
//! A cell's result does not depend on the number of threads or cells. This file erases array order and space
//! and shares cells among threads. Cells are shared among threads only if the output is packed, and with [`Layout::Left`] only if all three arrays
//! have it; otherwise one thread computes all of them.

use super::cells::BLOCK;
use super::dispatch;
use super::operands::{Operand, Operands};
use super::output::Output;
use super::shape::{Shape, out_strides};
use super::{Contract, Sum, Task};
use crate::Result;
use crate::space::lanes::{Known, Real};
use crate::space::{HostMemory, Layout, Threads, View, ViewMut};
use rayon::prelude::*;
use std::ops::Range;

impl Contract for Threads {
    type Memory = HostMemory;

    fn contract<T: Real, const A: usize, const B: usize, const C: usize>(
        &self,
        Task { fields, sum }: Task,
        left: &View<'_, T, A>,
        right: &View<'_, T, B>,
        out: &mut ViewMut<'_, T, C>,
    ) -> Result<()> {
        let (layouts, strides) = ([Layout::Right, Layout::Left].map(|layout| out.is_packed(layout)), out_strides(out));
        let shapes = [Shape::new(left, fields[0]), Shape::new(right, fields[1])];
        match T::known([left.data(), right.data()], out.data_mut()) {
            Known::F64(inputs, out) => {
                contract(self, [dispatch::cells_f64, dispatch::rows_f64], inputs, shapes, (out, strides, layouts), sum);
            }
            Known::F32(inputs, out) => {
                contract(self, [dispatch::cells_f32, dispatch::rows_f32], inputs, shapes, (out, strides, layouts), sum);
            }
        }
        Ok(())
    }
}

/// Computes a range of cells.
type Kernel<T> = fn(&Operands<'_, T>, Range<usize>, &mut Output<'_, T>);

/// The first kernel serves cells with stride 1 in all three arrays. `out` holds the array, its strides, and whether it is packed in
/// `Layout::Right` and in `Layout::Left`.
fn contract<T: Real>(
    space: &Threads,
    [of_cells, of_rows]: [Kernel<T>; 2],
    [left, right]: [&[T]; 2],
    shapes: [Shape; 2],
    (out, strides, [packed_right, packed_left]): (&mut [T], [usize; 3], [bool; 2]),
    sum: Sum,
) {
    let [cells, _, points @ ..] = shapes[1].extents;
    let per_cell = shapes[0].extents[1] * shapes[1].extents[1];
    if cells * per_cell == 0 {
        return;
    }
    let has_unit_cell_stride = strides[0] == 1 && shapes.iter().all(|shape| shape.strides[0] == 1);
    let [left_shape, right_shape] = shapes;
    let operands = [(left, left_shape), (right, right_shape)]
        .map(|(data, shape)| Operand::new(data, shape, points, has_unit_cell_stride));
    let count = operands[0].count;
    if count == 0 {
        return clear(out, [cells, operands[0].fields(), operands[1].fields()], strides, sum);
    }
    let exceeds_cache = operands.iter().map(|x| cells * x.fields() * count * size_of::<T>()).sum::<usize>() > NEAR;
    let operands = Operands { pair: operands, exceeds_cache };
    let kernel = if has_unit_cell_stride { of_cells } else { of_rows };
    let piece = cells_per_piece(per_cell * count, if has_unit_cell_stride { BLOCK } else { 16 });
    if packed_right {
        let pieces = out[..cells * per_cell].par_chunks_mut(piece * per_cell).enumerate();
        space.for_each(pieces, |(i, out)| {
            let first = i * piece;
            kernel(&operands, first..first + out.len() / per_cell, &mut Output::whole(out, strides, sum));
        });
    } else if has_unit_cell_stride && packed_left && space.concurrency() > 1 {
        // Only four pieces per thread: each piece allocates its own copies.
        let piece = cells.div_ceil(4 * space.concurrency()).next_multiple_of(BLOCK);
        let pieces = Output::split(&mut out[..cells * per_cell], cells, piece, strides, sum);
        space.for_each(pieces.into_par_iter().enumerate(), |(i, mut out)| {
            let first = i * piece;
            kernel(&operands, first..(first + piece).min(cells), &mut out);
        });
    } else {
        kernel(&operands, 0..cells, &mut Output::whole(out, strides, sum));
    }
}

/// Bytes of operands above which they are taken to exceed the caches near a core: the size of a common L2.
const NEAR: usize = 512 << 10;

/// Sets every output to the empty sum (K = 0), or leaves it as it is if sums are added to it.
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

/// Returns the cells per piece: about 262 144 products, so that the cost of handing a piece to a thread is small.
fn cells_per_piece(products: usize, multiple: usize) -> usize {
    (262_144 / products).next_multiple_of(multiple).max(multiple)
}
