//! What the transports of a GPU share: packing of scattered values, and sums of more scalars than an exchange takes at once.

use crate::comm::kernel_files::HALO;
use crate::space::cuda::{Cuda, CudaArray, Grid, arguments};
use crate::{LocalOrdinal, Result};
use std::ops::Range;

/// Threads per block, as in the kernel.
pub(super) const THREADS: u32 = 256;

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

/// Does `work` for at most so many slots at a time: GMRES sums a product with each vector of its basis.
pub(super) fn in_parts(
    slots: Range<usize>,
    most: usize,
    mut work: impl FnMut(Range<usize>) -> Result<()>,
) -> Result<()> {
    slots.clone().step_by(most).try_for_each(|first| work(first..slots.end.min(first + most)))
}
