//! The crate matrixmultiply, one product per cell, cells shared among the threads.
//!
//! Per cell: out (L, R) = left (L, K) x right (R, K) transposed.

#![allow(unsafe_code)]

use crate::sweep::case::Case;
use minifenl::space::lanes::Real;
use minifenl::space::{Layout, Threads};
use minifenl::{Error, Result};
use rayon::prelude::*;
use std::any::TypeId;

/// All cells, in the right layout.
pub fn contract<T: Real>(
    space: &Threads,
    case: &Case,
    layout: Layout,
    left: &[T],
    right: &[T],
    out: &mut [T],
) -> Result<()> {
    if layout != Layout::Right {
        return Err(Error::Invalid("only in the right layout".into()));
    }
    let ([l, r], k) = (case.fields, case.terms());
    let chunk = (65_536 / (l * r * k).max(1)).max(1);
    let pieces = out[..case.cells * l * r].par_chunks_mut(chunk * l * r).enumerate();
    space.for_each(pieces, |(piece, out)| {
        for (i, out) in out.chunks_mut(l * r).enumerate() {
            let cell = piece * chunk + i;
            product(l, r, k, &left[cell * l * k..][..l * k], &right[cell * r * k..][..r * k], out);
        }
    });
    Ok(())
}

fn product<T: Real>(l: usize, r: usize, k: usize, left: &[T], right: &[T], out: &mut [T]) {
    let (a, b, c, step) = (left.as_ptr(), right.as_ptr(), out.as_mut_ptr(), k as isize);
    // SAFETY: slices of l k, r k and l r numbers of the type that is asked for; rows are packed.
    unsafe {
        if TypeId::of::<T>() == TypeId::of::<f32>() {
            let (a, b, c) = (a.cast(), b.cast(), c.cast());
            matrixmultiply::sgemm(l, k, r, 1.0, a, step, 1, b, 1, step, 0.0, c, r as isize, 1);
        } else {
            let (a, b, c) = (a.cast(), b.cast(), c.cast());
            matrixmultiply::dgemm(l, k, r, 1.0, a, step, 1, b, 1, step, 0.0, c, r as isize, 1);
        }
    }
}
