//! Transports of a GPU, and the choice among them: launches of `kernels/halo.cu`, NCCL, and copies through page-locked memory.
//!
//! By default, ranks of one host that have a GPU each use `peer` if their GPUs reach each other's memory; otherwise ranks with
//! a GPU each use `nccl` if all of them have it, in one version; otherwise `staged`. All ranks decide together. `mpi-device` is used
//! only on request: it is slower than `nccl`, and an MPI without support for GPUs crashes with their addresses, so it must say that it
//! has it. With `staged` the host waits for each copy before it sends, so an iteration with ghosts or with several ranks cannot be
//! recorded.

mod mpi_device;
mod nccl;
mod pack;
mod peer;

use super::staged::Staged;
use super::transport::not_here;
use super::{Communicator, Link, Staging, Transport, agree};
use crate::space::cuda::{Cuda, CudaArray};
use crate::space::{ExecutionSpace, Threads, allowed_cores};
use crate::{Error, LocalOrdinal, Result};
use pack::pack;
use std::time::Duration;

/// The indices to send and the buffer to pack them into, both on the device.
#[derive(Debug)]
pub struct DeviceSendList {
    indices: CudaArray<LocalOrdinal>,
    buffer: CudaArray<f64>,
}

impl Staging for Cuda {
    type SendList = DeviceSendList;

    fn host(&self) -> Result<Threads> {
        Threads::new(allowed_cores())
    }

    fn exchange_bytes(sent: u64, received: u64) -> [u64; 2] {
        [12 * sent, 12 * sent + 8 * received]
    }

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

    fn link(&self, comm: &dyn Communicator, wanted: Option<Transport>, limit: Duration) -> Result<Box<dyn Link<Self>>> {
        let chosen = [Transport::Peer, Transport::Nccl, Transport::Staged];
        let known = [Transport::Peer, Transport::Nccl, Transport::MpiDevice, Transport::Staged];
        let transports: &[Transport] = match &wanted {
            // Nothing is sent, so any will do.
            _ if comm.size() == 1 => &[Transport::Staged],
            None => &chosen,
            Some(wanted) if known.contains(wanted) => std::slice::from_ref(wanted),
            Some(wanted) => return agree(comm, Err(not_here(*wanted, "a GPU", &known))),
        };
        let mut refused = None;
        for &transport in transports {
            let link: Result<Box<dyn Link<Self>>> = match transport {
                Transport::Peer => peer::Peer::connect(self, comm, limit).map(|link| Box::new(link) as _),
                Transport::Nccl => nccl::NcclLink::connect(self, comm).map(|link| Box::new(link) as _),
                Transport::MpiDevice => mpi_device::MpiDevice::connect(comm).map(|link| Box::new(link) as _),
                _ => Ok(Box::new(Staged)),
            };
            match agree(comm, link) {
                Ok(link) => return Ok(link),
                Err(error) => refused = Some((transport, error)),
            }
        }
        // Staged works everywhere, so a refusal is that of the transport that was asked for.
        Err(refused.map_or_else(
            || Error::Device("no transport between the ranks".into()),
            |(transport, error)| match error {
                error @ Error::Elsewhere { .. } => error,
                error => Error::Device(format!("transport {transport}: {error}")),
            },
        ))
    }
}
