//! The counter of finished blocks that the reductions of a stream share, with room for the results of their blocks behind it.

use super::array::CudaArray;
use super::device::Device;
use super::stream::Stream;
use crate::Result;
use std::sync::Arc;

/// Blocks per multiprocessor of a reduction whose values commute.
const BLOCKS: usize = 8;
/// Most bytes of a value of a reduction.
pub(super) const MOST_BYTES: usize = 64;
/// Bytes in front of the results, as in `kernels/loops.cu`.
const FRONT: usize = 64;

/// Returns the most blocks of a reduction whose values commute.
pub(super) fn most_blocks(device: &Device) -> usize {
    BLOCKS * device.info().multiprocessors as usize
}

/// Allocates the counter of a stream, which is zero between kernels.
pub(super) fn ticket(stream: &Arc<Stream>) -> Result<Arc<CudaArray<u32>>> {
    let bytes = FRONT + MOST_BYTES * most_blocks(&stream.device);
    Ok(Arc::new(CudaArray::zeros(stream, bytes / size_of::<u32>())?))
}
