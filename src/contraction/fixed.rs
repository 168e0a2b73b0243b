//! Contractions with sizes that are known at compile time, for batches of cells in vector lanes.
//!
//! The caller chooses the register tile `BL` x `BR` by the registers of its target: 4 x 4 with 32 registers, 4 x 2 with 16,
//! if one number takes one register.
//!
//! Shapes: fields `[k, f]`, data `[k]`, with k over points and dimensions. A batch of LANES cells per number makes this
//! [`Layout::Left`](crate::space::Layout::Left) of (cells, fields, points, dims). Cost per cell: 2 L R K operations.

use super::Sum;
use super::tile::{Accumulator, Sink, Source, tiles};
use crate::space::lanes::Number;
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
    V: Accumulator + AddAssign,
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
pub fn data_field<V: Accumulator + AddAssign, const F: usize, const K: usize>(
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

/// `out[f] = sum_k data[k] table[k][f]` for a table of numbers that all cells share, `TILE` fields at a time, which divides F.
#[inline(always)]
pub fn data_table<const TILE: usize, V: Number, const F: usize, const K: usize>(
    data: &[V; K],
    table: &[[f64; F]; K],
    out: &mut [V; F],
) {
    const { assert!(F.is_multiple_of(TILE), "whole tiles") };
    for first in (0..F).step_by(TILE) {
        let mut sums = [V::from(0.0); TILE];
        for (&number, row) in data.iter().zip(table) {
            for f in 0..TILE {
                sums[f] = number.times_plus(V::from(row[first + f]), sums[f]);
            }
        }
        out[first..first + TILE].copy_from_slice(&sums);
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
