//! The kernel files that `solve` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Fused vector updates of classic CG.
pub static CG: KernelFile = kernel_file!("cg", "ranks.cuh", "vectors.cuh", "cg.cuh");
/// Fused vector updates of single-reduction CG.
pub static CG_FUSED: KernelFile = kernel_file!("cg_fused", "vectors.cuh", "cg.cuh");
/// Pipelined CG of a small system in one launch.
pub static CG_AT_ONCE: KernelFile = kernel_file!("cg_at_once", "cg.cuh", "cg_part.cuh");

/// Smoothed aggregation.
pub static AGGREGATION: KernelFile = kernel_file!("aggregation");
/// Roots of aggregates.
pub static ROOTS: KernelFile = kernel_file!("roots");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 5] = [&CG, &CG_FUSED, &CG_AT_ONCE, &AGGREGATION, &ROOTS];
