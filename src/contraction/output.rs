//! Where the sums of a range of cells go: one slice with strides, or a slice for each field pair.

use super::Sum;
use crate::space::lanes::Real;

/// The output of the cells that one thread computes.
pub trait Output<T> {
    /// What begins with out[c, l, r], `c` counted from the range's first cell.
    fn from(&mut self, c: usize, l: usize, r: usize) -> &mut [T];
}

/// A slice that begins at the first cell's item, with strides `[cell, l, r]`.
pub struct Whole<'a, T> {
    pub data: &'a mut [T],
    pub strides: [usize; 3],
}

impl<T> Output<T> for Whole<'_, T> {
    #[inline(always)]
    fn from(&mut self, c: usize, l: usize, r: usize) -> &mut [T] {
        &mut self.data[c * self.strides[0] + l * self.strides[1] + r * self.strides[2]..]
    }
}

/// Packed [`Layout::Left`](crate::space::Layout::Left): the range's cells of each plane (l, r).
pub struct Planes<'a, T> {
    planes: Vec<&'a mut [T]>,
    strides: [usize; 2],
}

impl<'a, T> Planes<'a, T> {
    /// The output in pieces of `piece` cells; `strides` are those of the whole.
    pub fn split(data: &'a mut [T], cells: usize, piece: usize, strides: [usize; 3]) -> Vec<Self> {
        let count = data.len() / cells;
        let empty = || Planes { planes: Vec::with_capacity(count), strides: [strides[1] / cells, strides[2] / cells] };
        let mut pieces: Vec<Self> = (0..cells.div_ceil(piece)).map(|_| empty()).collect();
        for plane in data.chunks_mut(cells) {
            for (piece, part) in pieces.iter_mut().zip(plane.chunks_mut(piece)) {
                piece.planes.push(part);
            }
        }
        pieces
    }
}

impl<T> Output<T> for Planes<'_, T> {
    #[inline(always)]
    fn from(&mut self, c: usize, l: usize, r: usize) -> &mut [T] {
        &mut self.planes[l * self.strides[0] + r * self.strides[1]][c..]
    }
}

/// Overwrites or adds.
#[inline(always)]
pub fn store<T: Real>(out: &mut [T], sums: &[T], sum: Sum) {
    match sum {
        Sum::Overwrite => out.copy_from_slice(sums),
        Sum::Into => {
            for (out, &value) in out.iter_mut().zip(sums) {
                *out = *out + value;
            }
        }
    }
}
