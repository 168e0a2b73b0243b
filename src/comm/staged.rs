//! The transport through host memory: MPI messages, packed straight from a host space or copied from a device.

use super::transport::not_here;
use super::{Communicator, Exchange, HaloExchange, Link, Map, Staging, Transport, agree};
use crate::space::{Slice, Threads, try_with_capacity};
use crate::{LocalOrdinal, Result};
use std::time::Duration;

/// Messages of MPI, or of any other [`Communicator`], from host memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Staged;

impl<S: Staging> Link<S> for Staged {
    fn transport(&self) -> Transport {
        if S::SYNCHRONOUS { Transport::Mpi } else { Transport::Staged }
    }

    fn halo(&self, space: &S, comm: &dyn Communicator, map: &Map) -> Result<Box<dyn HaloExchange<S>>> {
        let list = space.send_list(send_list(map)?)?;
        Ok(Box::new(StagedHalo::<S> { exchange: comm.exchange(map)?, list, owned: map.owned_count() }))
    }
}

/// The local indices that a map sends, neighbour after neighbour.
pub(super) fn send_list(map: &Map) -> Result<Vec<LocalOrdinal>> {
    let count = map.neighbours().iter().map(|neighbour| neighbour.send.len()).sum();
    let mut send = try_with_capacity("values to send", count)?;
    map.neighbours().iter().for_each(|neighbour| send.extend_from_slice(&neighbour.send));
    Ok(send)
}

/// An exchange by a communicator's messages.
#[derive(Debug)]
pub(super) struct StagedHalo<S: Staging> {
    pub(super) exchange: Box<dyn Exchange>,
    pub(super) list: S::SendList,
    pub(super) owned: usize,
}

impl<S: Staging> HaloExchange<S> for StagedHalo<S> {
    fn begin(&mut self, space: &S, x: &mut Slice<S, f64>) -> Result<()> {
        let list = &mut self.list;
        self.exchange.begin(&mut |message| space.pack(list, x, message))
    }

    fn end(&mut self, space: &S, x: &mut Slice<S, f64>) -> Result<()> {
        space.unpack(self.exchange.end()?, self.owned, x)
    }

    fn cancel(&mut self) {
        // These ghosts are never read, so a wrong count in them is no failure.
        let _ = self.exchange.end();
    }
}

/// The memory of host spaces is what the transport sends.
impl Staging for Threads {
    type SendList = Vec<LocalOrdinal>;

    fn host(&self) -> Result<Threads> {
        Ok(self.clone())
    }

    fn exchange_bytes(sent: u64, received: u64) -> [u64; 2] {
        [12 * sent + 8 * received, 0]
    }

    fn send_list(&self, send: Vec<LocalOrdinal>) -> Result<Vec<LocalOrdinal>> {
        Ok(send)
    }

    fn pack(&self, list: &mut Vec<LocalOrdinal>, x: &[f64], message: &mut [f64]) -> Result<()> {
        message.iter_mut().zip(list).for_each(|(value, &mut index)| *value = x[index as usize]);
        Ok(())
    }

    fn unpack(&self, message: &[f64], first: usize, x: &mut [f64]) -> Result<()> {
        x[first..first + message.len()].copy_from_slice(message);
        Ok(())
    }

    fn link(&self, comm: &dyn Communicator, wanted: Option<Transport>, _: Duration) -> Result<Box<dyn Link<Threads>>> {
        match wanted {
            // One rank sends nothing, so any will do.
            Some(wanted) if wanted != Transport::Mpi && comm.size() > 1 => {
                agree(comm, Err(not_here(wanted, "the CPU", &[Transport::Mpi])))
            }
            _ => Ok(Box::new(Staged)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::on_ranks;
    use crate::comm::{Neighbour, Solo};
    use crate::space::Serial;

    /// One rank exchanges nothing: a transport of GPUs is no mistake there, and a run notes that it has no effect.
    #[test]
    fn a_transport_of_gpus_is_refused_on_several_ranks_only() {
        let link = |comm: &dyn Communicator, wanted| Serial.link(comm, Some(wanted), Duration::from_secs(1));
        assert!(link(&Solo, Transport::Nccl).is_ok());
        for found in on_ranks(2, |comm| link(comm, Transport::Nccl).map(|_| ())) {
            assert!(found.is_err(), "{found:?}");
        }
        assert!(on_ranks(2, |comm| link(comm, Transport::Mpi).is_ok()).into_iter().all(|is_ok| is_ok));
    }

    #[test]
    fn lists_and_bytes_of_an_exchange_are_those_by_hand() {
        let neighbour = |rank, send: &[u32], receive| Neighbour { rank, send: send.to_vec(), receive };
        let neighbours = vec![neighbour(0, &[3, 0], 4..6), neighbour(2, &[], 6..7), neighbour(5, &[0, 1], 7..7)];
        assert_eq!(send_list(&Map::new(9, 4, neighbours).unwrap()).unwrap(), [3, 0, 0, 1]);
        // An index and a value of each that is sent, a value of each that is received.
        assert_eq!(Threads::exchange_bytes(5, 3), [5 * (4 + 8) + 3 * 8, 0]);
    }
}
