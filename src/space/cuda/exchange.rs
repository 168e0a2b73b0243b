//! An exchange of a vector's items between the memories of GPUs, as kernels see it.

use super::array::CudaArray;

/// An exchange through windows that other GPUs write (`Exchange` in `kernels/ranks.cuh`). A kernel stores the
/// items that other ranks read there, and waits for its ghosts.
#[derive(Debug)]
pub struct PeerExchange {
    /// The kernels' description of the exchange, with its state.
    pub(crate) table: CudaArray<u64>,
}
