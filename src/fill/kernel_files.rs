//! The kernel files that `fill` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Scatter and gather of element matrices.
pub static FILL: KernelFile = kernel_file!("fill", "fill_sums.cuh");
/// The heat equation on hexahedra, stored or fused with scatter; its analytic solution.
pub static HEAT: KernelFile = kernel_file!("heat", "element.cuh");
/// Dirichlet conditions.
pub static DIRICHLET: KernelFile = kernel_file!("dirichlet");
/// Places of element matrices and boundary conditions in slices.
pub static PLACES: KernelFile = kernel_file!("places", "slices.cuh");
/// Plans and sums of index pairs.
pub static COO: KernelFile = kernel_file!("coo");

/// Element matrices of any equation; compiled for an equation and the sizes of its elements.
pub static EQUATION: KernelFile =
    kernel_file!("equation", "device.cuh"; "point.cuh", "equation_point.cuh", "equation_tiles.cuh");
/// Operands of contractions over worksets of cells; compiled for an equation, the sizes of its elements and a layout.
pub static INTREPID: KernelFile = kernel_file!("intrepid", "device.cuh"; "point.cuh", "equation_point.cuh");
/// The Jacobian of any equation times a vector, by elements; compiled for an equation and its elements.
pub static APPLY: KernelFile = kernel_file!(
    "apply", "device.cuh";
    "point.cuh", "apply_point.cuh", "apply_trilinear.cuh", "apply_alone.cuh", "apply_blocks.cuh"
);
/// The same as `EQUATION` on trilinear hexahedra, by contractions on tensor cores; compiled for an equation.
pub static FILL_CONTRACTION: KernelFile = kernel_file!("fill_contraction", "element.cuh", "device.cuh", "dmma.cuh");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 5] = [&FILL, &HEAT, &DIRICHLET, &PLACES, &COO];
