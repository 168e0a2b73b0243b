//! The compiled kernels of each scalar type. They are compiled here and nowhere else, so that a crate that calls the nine
//! contractions does not compile them again.
//!
//! `multiversion` compiles each function once per instruction set and calls the best version that the processor supports.
//! Two widths are omitted on purpose: 16 f32 lanes would be half empty for eight fields, and LLVM transposes eight f64 lanes
//! with scatters. There, processors with AVX-512 run the AVX2 version.

use super::operands::Operands;
use super::output::Output;
use super::{cells, rows};
use multiversion::multiversion;
use multiversion::target::match_target;
use std::ops::Range;

macro_rules! kernels {
    ($($name:ident $module:ident $scalar:ident $targets:tt [$($target:literal $lanes:literal)*] $other:literal)*) => {$(
        #[allow(unsafe_code)]
        #[multiversion(targets $targets)]
        pub fn $name(operands: &Operands<'_, $scalar>, cells: Range<usize>, out: &mut Output<'_, $scalar>) {
            match_target! {
                $($target => $module::each::<true, $lanes, $scalar>(operands, cells, out),)*
                _ => $module::each::<false, $other, $scalar>(operands, cells, out),
            }
        }
    )*};
}
// Vectors of cells, then of fields: instruction sets, lanes with FMA, lanes without.
kernels! {
    cells_f64 cells f64 ("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma") ["x86_64+avx512f" 8 "x86_64+fma" 4] 2
    cells_f32 cells f32 ("x86_64+avx2+fma") ["x86_64+fma" 8] 4
    rows_f64 rows f64 ("x86_64+avx2+fma") ["x86_64+fma" 4] 2
    rows_f32 rows f32 ("x86_64+avx2+fma") ["x86_64+fma" 8] 4
}
