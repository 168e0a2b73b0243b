//! The kernel file that `mesh` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Tables and coordinates of a box of hexahedra; checks of a mesh.
pub static MESH: KernelFile = kernel_file!("mesh");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 1] = [&MESH];
