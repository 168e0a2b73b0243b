//! Staging on a GPU: launches of `kernels/halo.cu`, and copies through page-locked memory.
//!
//! The host waits for each copy before it sends, so an iteration with ghosts or with several ranks cannot be recorded.

use crate::blas::Reductions;
use crate::comm::Staging;
use crate::comm::kernel_files::HALO;
use crate::error::check_at_least;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, Grid, arguments};
use crate::{LocalOrdinal, Result};
use std::ops::Range;

/// Most scalars that are copied to the host at once, to avoid an allocation per all-reduce.
const MOST: usize = 32;
/// Threads per block, as in the kernel.
const THREADS: u32 = 256;

/// The indices to send and the buffer to pack them into, both on the device.
#[derive(Debug)]
pub struct DeviceSendList {
    indices: CudaArray<LocalOrdinal>,
    buffer: CudaArray<f64>,
}

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

impl Staging for Cuda {
    type SendList = DeviceSendList;

    const IS_RECORDABLE: bool = false;

    fn send_list(&self, send: Vec<LocalOrdinal>) -> Result<DeviceSendList> {
        Ok(DeviceSendList { indices: self.upload(&send)?, buffer: self.unfilled(send.len())? })
    }

    fn pack(&self, list: &mut DeviceSendList, x: &CudaArray<f64>, message: &mut [f64]) -> Result<()> {
        // Packing on the device makes one copy over the bus of scattered values.
        let DeviceSendList { indices, buffer } = list;
        pack(self, indices, x, buffer)?;
        self.read(buffer, message)
    }

    fn unpack(&self, message: &[f64], first: usize, x: &mut CudaArray<f64>) -> Result<()> {
        self.write(message, first, x)
    }

    fn change_scalars(
        &self,
        sums: &mut Reductions<Cuda>,
        slots: Range<usize>,
        change: &mut dyn FnMut(&mut [f64]),
    ) -> Result<()> {
        // One copy brings the scalars and the stop scalar.
        check_at_least("change_scalars", "scalars", sums.scalars.len().min(MOST), slots.end)?;
        let mut scalars = [0.0; MOST];
        let scalars = &mut scalars[..sums.scalars.len().min(MOST)];
        self.read(&sums.scalars, scalars)?;
        // All ranks hold the same state, so either all of them skip the all-reduce or none does.
        if sums.stop.is_some_and(|stop| scalars[stop] != 0.0) {
            return Ok(());
        }
        change(&mut scalars[slots.clone()]);
        self.write(&scalars[slots.clone()], slots.start, &mut sums.scalars)
    }

    fn vector_len(x: &CudaArray<f64>) -> usize {
        x.len()
    }
}
