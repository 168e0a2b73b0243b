//! The kernel file that `comm` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Messages and sums between ranks.
pub static HALO: KernelFile = kernel_file!("halo", "ranks.cuh");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 1] = [&HALO];
