//! The kernel files that `blas` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Vector operations.
pub static BLAS: KernelFile = kernel_file!("blas", "ranks.cuh", "vectors.cuh");
/// Arithmetic throughput of the GPU.
pub static PEAK: KernelFile = kernel_file!("peak");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 2] = [&BLAS, &PEAK];
