//! The kernel files that `sparse` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Products with a CRS matrix.
pub static SPARSE: KernelFile = kernel_file!("sparse", "ranks.cuh", "products.cuh");
/// Sliced matrices: values from CRS, and products.
pub static SLICES: KernelFile = kernel_file!("slices", "ranks.cuh", "products.cuh", "slices.cuh", "slice_rows.cuh");
/// The same with half of a symmetric matrix.
pub static SLICES_SYMMETRIC: KernelFile =
    kernel_file!("slices_symmetric", "ranks.cuh", "products.cuh", "slices.cuh", "slice_rows.cuh");
/// Layout of a sparsity pattern in slices.
pub static SLICE_LAYOUT: KernelFile = kernel_file!("slice_layout", "slices.cuh");

/// Products and transposes of sparse matrices.
pub static ALGEBRA: KernelFile = kernel_file!("algebra");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 5] = [&SPARSE, &SLICES, &SLICES_SYMMETRIC, &SLICE_LAYOUT, &ALGEBRA];
