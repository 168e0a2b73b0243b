//! The kernel file that `solve` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Pipelined CG of a small system in one launch.
pub static CG: KernelFile = kernel_file!("cg");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 1] = [&CG];
