//! The exchange of a map's ghosts through the neighbours' windows.

use super::pieces::{Message, WORDS, flag_bytes, pieces};
use super::shared::Shared;
use super::windows::Windows;
use crate::comm::cuda::pack::THREADS;
use crate::comm::kernel_files::HALO;
use crate::comm::staged::send_list;
use crate::comm::{Communicator, HaloExchange, Map, agree};
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, Grid, arguments};
use crate::{LocalOrdinal, Result};
use std::rc::Rc;

/// Most blocks of an exchange.
const BLOCKS: usize = 128;

/// An exchange through the neighbours' windows.
#[derive(Debug)]
pub(super) struct PeerHalo {
    shared: Rc<Shared>,
    space: Cuda,
    /// Number of pieces that are sent and received.
    counts: (usize, usize),
    /// `Exchange` in kernels/ranks.cuh, with its state.
    exchange: CudaArray<u64>,
    _tables: Tables,
    _windows: Windows,
}

/// The tables to which the exchange points.
#[derive(Debug)]
struct Tables {
    _sends: CudaArray<u64>,
    _receives: CudaArray<u64>,
    _list: CudaArray<LocalOrdinal>,
}

impl PeerHalo {
    pub fn new(space: &Cuda, comm: &dyn Communicator, shared: Rc<Shared>, map: &Map) -> Result<Self> {
        let (ranks, owned) = (comm.size(), map.owned_count());
        // A neighbour with nothing either way takes no part, on both sides.
        let neighbours = || map.neighbours().iter().filter(|n| !n.send.is_empty() || !n.receive.is_empty());
        let received: usize = neighbours().map(|neighbour| pieces(neighbour.receive.len())).sum();
        // What each rank tells all others: ghosts, pieces, and for each rank the first ghost and piece that it fills.
        let mut record = vec![0; 2 + 2 * ranks];
        record[..2].copy_from_slice(&[map.ghost_count() as u64, received as u64]);
        let mut piece = 0;
        for neighbour in neighbours() {
            let first = neighbour.receive.start as usize - owned;
            record[2 + 2 * neighbour.rank..][..2].copy_from_slice(&[first as u64, piece as u64]);
            piece += pieces(neighbour.receive.len());
        }
        let bytes = flag_bytes(received) + 2 * map.ghost_count() * size_of::<f64>();
        let is_needed = |rank| neighbours().any(|neighbour| neighbour.rank == rank);
        let (windows, records) = Windows::new(space, comm, bytes, is_needed, &record)?;

        let (mut sends, mut receives, mut sent) = (Vec::new(), Vec::new(), 0);
        for neighbour in neighbours() {
            let message = |receiver: usize, sender: usize, count: usize| {
                let record = if receiver == comm.rank() { &record } else { &records[receiver] };
                Message {
                    window: windows.address(receiver),
                    ghosts: record[0],
                    pieces: record[1],
                    first_ghost: record[2 + 2 * sender],
                    first_piece: record[3 + 2 * sender],
                    count,
                    rank: neighbour.rank,
                }
            };
            message(neighbour.rank, comm.rank(), neighbour.send.len()).cut(sent, &mut sends);
            sent += neighbour.send.len();
            let ghost = neighbour.receive.start as usize - owned;
            message(comm.rank(), neighbour.rank, neighbour.receive.len()).cut(ghost, &mut receives);
        }
        let flags = windows.address(comm.rank());
        let made = || {
            let send = send_list(map)?;
            let counts = (sends.len() / WORDS, receives.len() / WORDS);
            let (list, sends, receives) = (space.upload(&send)?, space.upload(&sends)?, space.upload(&receives)?);
            // `Exchange` in kernels/ranks.cuh; no exchange so far.
            let table = [
                0,
                0,
                owned as u64,
                shared.nanoseconds(),
                shared.lost(),
                counts.1 as u64,
                receives.address(),
                flags,
                flags + flag_bytes(received) as u64,
                (size_of::<f64>() * map.ghost_count()) as u64,
                counts.0 as u64,
                sends.address(),
                list.address(),
            ];
            let exchange = space.upload(&table)?;
            let (space, tables) = (space.clone(), Tables { _sends: sends, _receives: receives, _list: list });
            Ok(PeerHalo { shared, space, counts, exchange, _tables: tables, _windows: windows })
        };
        agree(comm, made())
    }
}

impl PeerHalo {
    fn receive(&self, space: &Cuda, x: Argument) -> Result<()> {
        let grid = Grid::new(self.counts.1.min(BLOCKS), THREADS);
        space.launch(&HALO, "receive_ghosts", grid, arguments![&self.exchange, x])
    }
}

impl HaloExchange<Cuda> for PeerHalo {
    fn begin(&mut self, space: &Cuda, x: &mut CudaArray<f64>) -> Result<()> {
        self.shared.check()?;
        let grid = Grid::new(self.counts.0.min(BLOCKS), THREADS);
        space.launch(&HALO, "send_ghosts", grid, arguments![&self.exchange, x])
    }

    fn end(&mut self, space: &Cuda, x: &mut CudaArray<f64>) -> Result<()> {
        self.receive(space, Argument::from(x))
    }

    fn cancel(&mut self) {
        // This rank waits all the same: its next message tells the neighbours that their places are read.
        let _ = self.receive(&self.space, Argument::NULL);
    }

    fn peer(&self) -> Option<&CudaArray<u64>> {
        Some(&self.exchange)
    }
}
