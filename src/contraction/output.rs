//! The output of a contraction on the host: `out[cell, left field, right field]` for a range of cells.

use super::Sum;
use crate::space::lanes::Real;

/// The part of the output that belongs to a range of cells; the cell index `c` counts from the first of the range.
#[derive(Debug)]
pub struct Output<'a, T> {
    /// All outputs as one slice, or one slice of cells for each (l, r).
    pub planes: Vec<&'a mut [T]>,
    /// Strides of l and r in numbers of planes.
    pub plane_strides: [usize; 2],
    /// Strides `[c, l, r]` within a plane.
    pub strides: [usize; 3],
    /// Whether outputs are overwritten or added to.
    pub sum: Sum,
}

impl<'a, T: Real> Output<'a, T> {
    /// One slice that begins at the first cell's outputs.
    pub fn whole(data: &'a mut [T], strides: [usize; 3], sum: Sum) -> Self {
        Output { planes: vec![data], plane_strides: [0; 2], strides, sum }
    }

    /// Splits a packed [`Layout::Left`](crate::space::Layout::Left) output into pieces of `piece` cells, for threads.
    /// `strides` belong to the whole output.
    pub fn split(data: &'a mut [T], cells: usize, piece: usize, strides: [usize; 3], sum: Sum) -> Vec<Self> {
        let plane_strides = [strides[1] / cells, strides[2] / cells];
        let empty = || Output { planes: Vec::new(), plane_strides, strides: [1, 0, 0], sum };
        let mut pieces: Vec<Self> = (0..cells.div_ceil(piece)).map(|_| empty()).collect();
        for plane in data.chunks_mut(cells) {
            for (piece, part) in pieces.iter_mut().zip(plane.chunks_mut(piece)) {
                piece.planes.push(part);
            }
        }
        pieces
    }

    /// Returns the outputs from `out[c, 0, 0]` on. The output must be one slice.
    #[inline(always)]
    pub fn cell(&mut self, c: usize) -> &mut [T] {
        &mut self.planes[0][c * self.strides[0]..]
    }

    /// Returns the outputs from `out[c, l, r]` on.
    #[inline(always)]
    pub fn at(&mut self, c: usize, l: usize, r: usize) -> &mut [T] {
        let plane = l * self.plane_strides[0] + r * self.plane_strides[1];
        &mut self.planes[plane][c * self.strides[0] + l * self.strides[1] + r * self.strides[2]..]
    }
}

/// Writes or adds the first `used` values to items `stride` apart.
#[inline(always)]
pub fn store<T: Real, const N: usize>(out: &mut [T], stride: usize, values: &[T; N], used: usize, sum: Sum) {
    if let (true, true, Some(out)) = (stride == 1, used >= N, out.first_chunk_mut::<N>()) {
        match sum {
            Sum::Overwrite => *out = *values,
            Sum::Into => {
                for i in 0..N {
                    out[i] = out[i] + values[i];
                }
            }
        }
        return;
    }
    for i in 0..used.min(N) {
        let out = &mut out[i * stride];
        *out = if sum == Sum::Into { *out + values[i] } else { values[i] };
    }
}
