//! The compiled kernels of each scalar type. They are compiled here and nowhere else, so that a crate that calls the nine
//! contractions does not compile them again.
//!
//! `multiversion` compiles each function once per instruction set and calls the best version that the processor supports.
//! Two widths are omitted on purpose: 16 f32 lanes would be half empty for eight fields, and LLVM transposes eight f64 lanes
//! with scatters. There, processors with AVX-512 run the AVX2 version.

use super::operands::Operands;
use super::output::Output;
use super::{cells, rows};
use crate::space::lanes::{Known, OfReal, Real};
use multiversion::multiversion;
use multiversion::target::match_target;
use std::marker::PhantomData;
use std::ops::Range;

/// Operands and output as one value of a type that depends on the scalar.
struct Arguments<'a, 'b>(PhantomData<&'a &'b ()>);

impl<'a, 'b: 'a> OfReal for Arguments<'a, 'b> {
    type Of<T: Real> = (&'a Operands<'a, T>, &'a mut Output<'b, T>);
}

/// Computes a range of cells. Vectors hold cells if cells have stride 1 in all three arrays, else fields or terms of a cell.
pub fn contract<T: Real>(operands: &Operands<'_, T>, cells: Range<usize>, out: &mut Output<'_, T>) {
    match (T::known::<Arguments<'_, '_>>((operands, out)), operands.has_unit_cell_stride) {
        (Known::F64((operands, out)), true) => cells_f64(operands, cells, out),
        (Known::F32((operands, out)), true) => cells_f32(operands, cells, out),
        (Known::F64((operands, out)), false) => rows_f64(operands, cells, out),
        (Known::F32((operands, out)), false) => rows_f32(operands, cells, out),
    }
}

/// Vectors of cells in f64.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn cells_f64(operands: &Operands<'_, f64>, cells: Range<usize>, out: &mut Output<'_, f64>) {
    match_target! {
        "x86_64+avx512f" => cells::each::<true, 8, f64>(operands, cells, out),
        "x86_64+fma" => cells::each::<true, 4, f64>(operands, cells, out),
        _ => cells::each::<false, 2, f64>(operands, cells, out),
    }
}

/// Vectors of cells in f32.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn cells_f32(operands: &Operands<'_, f32>, cells: Range<usize>, out: &mut Output<'_, f32>) {
    match_target! {
        "x86_64+fma" => cells::each::<true, 8, f32>(operands, cells, out),
        _ => cells::each::<false, 4, f32>(operands, cells, out),
    }
}

/// Vectors of fields in f64.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn rows_f64(operands: &Operands<'_, f64>, cells: Range<usize>, out: &mut Output<'_, f64>) {
    match_target! {
        "x86_64+fma" => rows::each::<true, 4, f64>(operands, cells, out),
        _ => rows::each::<false, 2, f64>(operands, cells, out),
    }
}

/// Vectors of fields in f32.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn rows_f32(operands: &Operands<'_, f32>, cells: Range<usize>, out: &mut Output<'_, f32>) {
    match_target! {
        "x86_64+fma" => rows::each::<true, 8, f32>(operands, cells, out),
        _ => rows::each::<false, 4, f32>(operands, cells, out),
    }
}
