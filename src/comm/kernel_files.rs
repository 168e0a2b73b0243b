//! The kernel file that `comm` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Packing of the values that other ranks read.
pub static HALO: KernelFile = kernel_file!("halo");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 1] = [&HALO];
