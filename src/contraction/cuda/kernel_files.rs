//! The kernel files that `contraction` launches. Files that are missing from [`KERNEL_FILES`] are compiled for the sizes of a
//! call; `Cuda::launch_specialised` takes the defines that state the sizes.

use crate::space::cuda::{KernelFile, kernel_file};

/// A thread per output or per tile of outputs.
pub static CONTRACTION: KernelFile = kernel_file!("contraction", "contraction.cuh");
/// A block or a warp per output or per cell.
pub static CONTRACTION_TEAM: KernelFile = kernel_file!("contraction_team", "contraction.cuh");
/// Operands in shared memory.
pub static CONTRACTION_TILE: KernelFile = kernel_file!("contraction_tile", "contraction.cuh");
/// A warp lane per cell.
pub static CONTRACTION_LANES: KernelFile = kernel_file!("contraction_lanes", "contraction.cuh");
/// Lanes along the contracted index.
pub static CONTRACTION_ROWS: KernelFile = kernel_file!("contraction_rows", "contraction.cuh");
/// Small cells in shared memory.
pub static CONTRACTION_STAGED: KernelFile = kernel_file!("contraction_staged", "contraction.cuh");
/// Tiles of many fields in shared memory.
pub static CONTRACTION_BLOCKED: KernelFile = kernel_file!("contraction_blocked", "contraction.cuh");
/// f64 tensor cores, operands from global memory.
pub static CONTRACTION_DMMA: KernelFile = kernel_file!("contraction_dmma", "contraction.cuh", "dmma.cuh");
/// f64 tensor cores, operands from shared memory.
pub static CONTRACTION_DMMA_BLOCKED: KernelFile =
    kernel_file!("contraction_dmma_blocked", "contraction.cuh", "dmma.cuh");

/// Comparison of outputs with reference values.
pub static CONTRACTION_CHECK: KernelFile = kernel_file!("contraction_check");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 4] = [&CONTRACTION, &CONTRACTION_TEAM, &CONTRACTION_TILE, &CONTRACTION_CHECK];
