//! Packs scattered values on a GPU: a launch of `kernels/halo.cu`.

use crate::comm::kernel_files::HALO;
use crate::space::cuda::{Cuda, CudaArray, Grid, arguments};
use crate::{LocalOrdinal, Result};

/// Threads per block, as in the kernel.
const THREADS: u32 = 256;

/// buffer[k] = x[send[k]]
pub(super) fn pack(
    space: &Cuda,
    send: &CudaArray<LocalOrdinal>,
    x: &CudaArray<f64>,
    buffer: &mut CudaArray<f64>,
) -> Result<()> {
    let count = send.len();
    space.launch(&HALO, "pack", Grid::cover(count, THREADS), arguments![count as u64, send, x, buffer])
}
