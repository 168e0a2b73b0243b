//! The transport `mpi-device`: MPI messages in device memory, for an MPI that says that it can send it.
//!
//! ```text
//! exchange   pack -> fence -> MPI sends and receives device memory -> copy to the ghosts
//! sum        as `staged`
//! ```
//! The host waits for the packed values and for the messages, so an iteration is no part of a CUDA graph.

use super::pack::{THREADS, pack};
use crate::comm::kernel_files::HALO;
use crate::comm::staged::send_list;
use crate::comm::{Communicator, Exchange, HaloExchange, Link, Map, MessageMemory, Transport, agree};
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, Grid, arguments};
use crate::{Error, LocalOrdinal, Result};
use std::cell::RefCell;
use std::rc::Rc;

/// MPI with device memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MpiDevice;

impl MpiDevice {
    /// Connects all ranks, which call it together.
    pub fn connect(comm: &dyn Communicator) -> Result<Self> {
        let able = match comm.sends_device_memory() {
            true => Ok(MpiDevice),
            false => Err(Error::Mpi(
                "this MPI does not say that it can send memory of GPUs: choose peer, nccl or staged".into(),
            )),
        };
        agree(comm, able)
    }
}

/// The messages of an exchange.
#[derive(Debug)]
struct Messages {
    send: RefCell<CudaArray<f64>>,
    receive: CudaArray<f64>,
}

impl Link<Cuda> for MpiDevice {
    fn transport(&self) -> Transport {
        Transport::MpiDevice
    }

    fn halo(&self, space: &Cuda, comm: &dyn Communicator, map: &Map) -> Result<Box<dyn HaloExchange<Cuda>>> {
        let list = space.upload(&send_list(map)?)?;
        let messages =
            Messages { send: RefCell::new(space.zeros(list.len())?), receive: space.zeros(map.ghost_count())? };
        let messages = Rc::new(messages);
        // The memory is ready before MPI sees it.
        space.fence()?;
        let (send, receive) = (messages.send.borrow().address(), messages.receive.address());
        let exchange = comm.exchange_in(map, MessageMemory { send, receive, owner: messages.clone() })?;
        Ok(Box::new(MpiDeviceHalo { exchange, messages, list, owned: map.owned_count() }))
    }
}

#[derive(Debug)]
struct MpiDeviceHalo {
    exchange: Box<dyn Exchange>,
    messages: Rc<Messages>,
    list: CudaArray<LocalOrdinal>,
    owned: usize,
}

impl HaloExchange<Cuda> for MpiDeviceHalo {
    fn begin(&mut self, space: &Cuda, x: &mut CudaArray<f64>) -> Result<()> {
        let (messages, list) = (&self.messages, &self.list);
        self.exchange.begin(&mut |_| {
            pack(space, list, x, &mut messages.send.borrow_mut())?;
            space.fence()
        })
    }

    fn end(&mut self, space: &Cuda, x: &mut CudaArray<f64>) -> Result<()> {
        self.exchange.end()?;
        let count = self.messages.receive.len();
        let arguments = arguments![count as u64, self.owned as u64, &self.messages.receive, x];
        space.launch(&HALO, "unpack", Grid::cover(count, THREADS), arguments)?;
        // The next messages may arrive once the host has come back here.
        space.fence()
    }

    fn cancel(&mut self) {
        let _ = self.exchange.end();
    }
}
