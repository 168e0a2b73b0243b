//! Values of a vector on their way between the memories of GPUs, as kernels see them.

use super::array::CudaArray;

/// Ghosts of a vector that other GPUs store into a window of this one (`Arrival` in `kernels/ranks.cuh`).
#[derive(Debug)]
pub struct Arriving {
    /// The kernel's description of the window.
    pub(crate) table: CudaArray<u64>,
}

/// Places on other GPUs to which the items of a vector go (`Outgoing` in `kernels/ranks.cuh`): a kernel that computes an item stores
/// it there too.
#[derive(Debug)]
pub struct Outgoing {
    /// The kernel's description of the places.
    pub(crate) table: CudaArray<u64>,
}
