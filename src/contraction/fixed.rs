//! Contractions of sizes known to the compiler, on batches of cells in lanes.
//!
//! `BL` x `BR` is the register tile, which the caller chooses by the registers that it is compiled for: 4 x 4 with 32 of
//! them, 4 x 2 with 16, where one number is one register.
//!
//! Shapes: fields `[k, f]`, data `[k]`, k over points and dimensions; with a batch of LANES cells in each number this is
//! [`Layout::Left`](crate::space::Layout::Left) of (cells, fields, points, dims). Cost per cell: 2 L R K operations.

use super::Sum;
use super::tile::{Sink, Source, Sums, tiles};
use std::ops::AddAssign;

impl<V: Copy, const F: usize, const K: usize> Source<V> for [[V; F]; K] {
    #[inline(always)]
    fn at(&self, f: usize, k: usize) -> V {
        self[k][f]
    }
}

/// `out[l, r] = or += sum_k left[k, l] right[k, r]`.
#[inline(always)]
pub fn field_field<
    const BL: usize,
    const BR: usize,
    V: Sums + AddAssign,
    const L: usize,
    const R: usize,
    const K: usize,
>(
    left: &[[V; L]; K],
    right: &[[V; R]; K],
    out: &mut [[V; R]; L],
    sum: Sum,
) {
    tiles::<V, BL, BR>([L, R, K], left, right, &mut Matrix(out, sum));
}

/// `out[f] = or += sum_k data[k] fields[k, f]`.
#[inline(always)]
pub fn data_field<V: Sums + AddAssign, const F: usize, const K: usize>(
    data: &[V; K],
    fields: &[[V; F]; K],
    out: &mut [V; F],
    sum: Sum,
) {
    let mut sums = [V::zero(); F];
    for k in 0..K {
        for f in 0..F {
            sums[f] = sums[f].add_product(data[k], fields[k][f]);
        }
    }
    for f in 0..F {
        match sum {
            Sum::Overwrite => out[f] = sums[f],
            Sum::Into => out[f] += sums[f],
        }
    }
}

struct Matrix<'a, V, const L: usize, const R: usize>(&'a mut [[V; R]; L], Sum);

impl<V: AddAssign, const L: usize, const R: usize> Sink<V> for Matrix<'_, V, L, R> {
    #[inline(always)]
    fn put(&mut self, l: usize, r: usize, sum: V) {
        match self.1 {
            Sum::Overwrite => self.0[l][r] = sum,
            Sum::Into => self.0[l][r] += sum,
        }
    }
}
