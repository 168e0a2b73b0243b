//! The transport `peer`: GPUs of one host store into each other's memory (CUDA IPC), with kernels of `kernels/halo.cu`.
//!
//! ```text
//! window of a halo   flags [2][pieces of its ghosts] u32, then values [2][ghosts] f64        written by the neighbours
//! window of sums     slots [2][from][MOST][2] u64                                            written by all ranks
//! exchange   one kernel: pack into the neighbours' windows, raise flags, wait for flags, copy to the ghosts
//! sum        one kernel of one block: store to all ranks, wait for all ranks, add in their order
//! ```
//! Both only enqueue work, so they are part of CUDA graphs. Values are received into a window and copied to the ghosts by the
//! kernel that waited for them, since any vector may be exchanged and only the window is mapped by the neighbours. Messages are cut
//! into pieces of 2048 values, which blocks of the kernel send and receive independently. The sums have the same bits on all ranks
//! and in every run.

use super::one_gpu_each;
use crate::blas::Reductions;
use crate::comm::kernel_files::HALO;
use crate::comm::staged::send_list;
use crate::comm::{Communicator, HaloExchange, Link, Map, Transport, agree};
use crate::error::check_at_least;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, Grid, HANDLE, HostWord, Mapped, Window, arguments};
use crate::{Error, LocalOrdinal, Result};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// As in the kernels: threads per block, scalars of a sum, ranks.
const THREADS: u32 = 256;
const MOST: usize = 16;
const MOST_RANKS: usize = 16;
/// Values of a piece.
const PIECE: usize = 2048;
/// Most blocks of an exchange. They stay resident beside the product while they wait.
const BLOCKS: usize = 24;
/// Words of a piece in the kernel's tables.
const WORDS: usize = 7;

/// The windows of the sums, and what halos share.
#[derive(Debug)]
pub(super) struct Peer {
    shared: Rc<Shared>,
    /// Addresses of all ranks' slots in this process.
    peers: CudaArray<u64>,
    epoch: RefCell<CudaArray<u32>>,
    _windows: Windows,
}

/// What sums and halos have in common.
#[derive(Debug)]
struct Shared {
    side: Cuda,
    lost: HostWord,
    limit: Duration,
    rank: usize,
    ranks: usize,
}

/// This rank's window and those of other ranks, `None` for ranks that are not needed.
#[derive(Debug)]
struct Windows {
    own: Window,
    others: Vec<Option<Mapped>>,
}

impl Windows {
    /// Allocates a window on each rank and maps those of the ranks that `needed` says. All ranks call it together. `record` are
    /// numbers that each rank tells all others, equally many, below 2^53; returns all ranks' numbers, rank 0 first.
    fn new(
        space: &Cuda,
        comm: &dyn Communicator,
        bytes: usize,
        needed: impl Fn(usize) -> bool,
        record: &[u64],
    ) -> Result<(Self, Vec<Vec<u64>>)> {
        let own = Window::new(space, bytes).and_then(|own| own.handle().map(|handle| (own, handle)));
        let (own, handle) = agree(comm, own)?;
        // Numbers of 32 bits and below are exact in f64.
        let halves =
            handle.chunks_exact(4).map(|four| f64::from(u32::from_le_bytes([four[0], four[1], four[2], four[3]])));
        let mine: Vec<f64> = halves.chain(record.iter().map(|&number| number as f64)).collect();
        let all = comm.all_gather(&mine)?;
        let (mut others, mut records) = (Vec::new(), Vec::new());
        for (rank, of_rank) in all.chunks_exact(mine.len()).enumerate() {
            let mut handle = [0; HANDLE];
            let (words, numbers) = of_rank.split_at(HANDLE / 4);
            handle
                .chunks_exact_mut(4)
                .zip(words)
                .for_each(|(four, &word)| four.copy_from_slice(&(word as u32).to_le_bytes()));
            let is_other = rank != comm.rank() && needed(rank);
            others.push(is_other.then(|| Mapped::new(space, handle)).transpose());
            records.push(numbers.iter().map(|&number| number as u64).collect());
        }
        let others = agree(comm, others.into_iter().collect::<Result<Vec<_>>>())?;
        Ok((Windows { own, others }, records))
    }

    /// The address of a rank's window in this process.
    fn address(&self, rank: usize) -> u64 {
        self.others[rank].as_ref().map_or(self.own.address(), Mapped::address)
    }
}

impl Peer {
    /// Connects all ranks, which call it together.
    pub fn connect(space: &Cuda, comm: &dyn Communicator, limit: Duration) -> Result<Self> {
        let (rank, ranks) = (comm.rank(), comm.size());
        let (is_alone, is_one_host) = one_gpu_each(space, comm)?;
        if !is_one_host {
            return Err(Error::Device("ranks are on several hosts: choose nccl or staged".into()));
        }
        if !is_alone {
            return Err(Error::Device(
                "peer memory needs a GPU for each rank: start one rank per GPU, or choose staged".into(),
            ));
        }
        if ranks > MOST_RANKS {
            return Err(Error::Device(format!("{ranks} ranks: expected at most {MOST_RANKS} on one host")));
        }
        let bytes = 2 * ranks * MOST * 2 * size_of::<u64>();
        let (windows, _) = Windows::new(space, comm, bytes, |_| true, &[])?;
        let peers: Vec<u64> = (0..ranks).map(|rank| windows.address(rank)).collect();
        let made = || {
            let (peers, epoch) = (space.upload(&peers)?, space.zeros(1)?);
            Ok((peers, epoch, Shared { side: space.fork_urgent()?, lost: HostWord::new(space)?, limit, rank, ranks }))
        };
        let (peers, epoch, shared) = agree(comm, made())?;
        Ok(Peer { shared: Rc::new(shared), peers, epoch: RefCell::new(epoch), _windows: windows })
    }
}

impl Shared {
    /// The limit of a wait in nanoseconds.
    fn nanoseconds(&self) -> u64 {
        u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX)
    }

    fn lost(&self) -> Argument {
        Argument::from(self.lost.address())
    }

    /// The error for a rank that did not answer.
    fn check(&self) -> Result<()> {
        match self.lost.get() {
            0 => Ok(()),
            rank => Err(Error::Device(format!(
                "transport peer: rank {} did not answer rank {} within {} s (--timeout)",
                rank - 1,
                self.rank,
                self.limit.as_secs_f64()
            ))),
        }
    }
}

impl Link<Cuda> for Peer {
    fn transport(&self) -> Transport {
        Transport::Peer
    }

    fn halo(&self, space: &Cuda, comm: &dyn Communicator, map: &Map) -> Result<Box<dyn HaloExchange<Cuda>>> {
        Ok(Box::new(PeerHalo::new(space, comm, self.shared.clone(), map)?))
    }

    fn all_reduce(
        &self,
        space: &Cuda,
        _: &dyn Communicator,
        sums: &mut Reductions<Cuda>,
        slots: Range<usize>,
    ) -> Result<()> {
        check_at_least("all_reduce", "scalars", sums.scalars.len(), slots.end)?;
        check_at_least("all_reduce", "slots", MOST, slots.len())?;
        self.shared.check()?;
        let (ranks, rank) = (self.shared.ranks as u32, self.shared.rank as u32);
        let (first, count, limit) = (slots.start as u32, slots.len() as u32, self.shared.nanoseconds());
        let (stop, lost) = (sums.stop_argument(), self.shared.lost());
        let epoch = &mut *self.epoch.borrow_mut();
        let arguments = arguments![ranks, rank, first, count, limit, &self.peers, stop, epoch, lost, &mut sums.scalars];
        space.launch(&HALO, "sum_peers", Grid::new(1, THREADS), arguments)
    }

    fn is_recordable(&self) -> bool {
        true
    }

    fn check(&self) -> Result<()> {
        self.shared.check()
    }
}

/// An exchange through the neighbours' windows.
#[derive(Debug)]
struct PeerHalo {
    shared: Rc<Shared>,
    space: Cuda,
    list: CudaArray<LocalOrdinal>,
    sends: CudaArray<u64>,
    receives: CudaArray<u64>,
    epoch: CudaArray<u32>,
    owned: usize,
    _windows: Windows,
}

/// Bytes of flags before the values of a window, for that many pieces in either parity.
fn flag_bytes(pieces: usize) -> usize {
    (2 * pieces * size_of::<u32>()).next_multiple_of(256)
}

/// Number of pieces of a message. A message without values has one, whose flag tells that the neighbour has read its ghosts.
fn pieces(values: usize) -> usize {
    values.div_ceil(PIECE).max(1)
}

impl PeerHalo {
    fn new(space: &Cuda, comm: &dyn Communicator, shared: Rc<Shared>, map: &Map) -> Result<Self> {
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
            let mine = comm.rank();
            for (list, rank, window, from, count, record) in [
                // What this rank sends is described by the neighbour, what it receives by itself.
                (&mut sends, neighbour.rank, neighbour.rank, mine, neighbour.send.len(), &records[neighbour.rank]),
                (&mut receives, neighbour.rank, mine, neighbour.rank, neighbour.receive.len(), &record),
            ] {
                let (ghosts, all_pieces) = (record[0], record[1]);
                let (ghost, piece) = (record[2 + 2 * from], record[3 + 2 * from]);
                let flags = windows.address(window);
                let values = flags + flag_bytes(all_pieces as usize) as u64;
                for at in 0..pieces(count) {
                    let first = at * PIECE;
                    let place = if rank == window { sent + first } else { ghost as usize + first };
                    list.extend_from_slice(&[
                        place as u64,
                        PIECE.min(count - first) as u64,
                        values + 8 * (ghost + first as u64),
                        8 * ghosts,
                        flags + 4 * (piece + at as u64),
                        4 * all_pieces,
                        rank as u64,
                    ]);
                }
            }
            sent += neighbour.send.len();
        }
        let made = || {
            Ok(PeerHalo {
                list: space.upload(&send_list(map)?)?,
                sends: space.upload(&sends)?,
                receives: space.upload(&receives)?,
                epoch: space.zeros(2)?,
                space: space.clone(),
                shared,
                owned,
                _windows: windows,
            })
        };
        // The tables are copied before a kernel of the other stream reads them.
        let halo = made().and_then(|halo| space.fence().map(|()| halo));
        agree(comm, halo)
    }
}

impl HaloExchange<Cuda> for PeerHalo {
    fn begin(&mut self, space: &Cuda, x: &mut CudaArray<f64>) -> Result<()> {
        self.shared.check()?;
        let side = &self.shared.side;
        side.wait_for(&space.record()?)?;
        let (sends, receives) = (self.sends.len() / WORDS, self.receives.len() / WORDS);
        let (owned, limit, lost) = (self.owned as u64, self.shared.nanoseconds(), self.shared.lost());
        let Self { sends: to, receives: from, list, epoch, .. } = self;
        let grid = Grid::new(sends.max(receives).clamp(1, BLOCKS), THREADS);
        let arguments = arguments![sends as u64, receives as u64, owned, limit, &*to, &*from, &*list, x, epoch, lost];
        side.launch(&HALO, "exchange", grid, arguments)
    }

    fn end(&mut self, space: &Cuda, _: &mut CudaArray<f64>) -> Result<()> {
        space.wait_for(&self.shared.side.record()?)
    }

    fn cancel(&mut self) {
        let side = self.shared.side.record();
        let _ = side.and_then(|side| self.space.wait_for(&side));
    }

    fn is_recordable(&self) -> bool {
        true
    }
}
