//! The kernel files that `sparse` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Products with a CRS matrix.
pub static SPARSE: KernelFile = kernel_file!("sparse", "ranks.cuh");
/// Construction of sliced matrices, and products with them.
pub static SLICES: KernelFile = kernel_file!("slices", "ranks.cuh");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 2] = [&SPARSE, &SLICES];
