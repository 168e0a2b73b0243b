//! The kernel file that the sweep launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Comparison of results with expected values.
pub static SWEEP: KernelFile = kernel_file!("sweep");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 1] = [&SWEEP];
