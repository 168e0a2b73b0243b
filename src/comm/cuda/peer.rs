//! The transport `peer`: GPUs of one host store into each other's memory (CUDA IPC), with kernels of `kernels/halo.cu`.
//!
//! ```text
//! window of a halo   flags [2][pieces of its ghosts] u32, then values [2][ghosts] f64        written by the neighbours
//! window of sums     slots [2][from][MOST][2] u64                                            written by all ranks
//! exchange   the kernel that computes a vector stores its items straight into the neighbours' windows, or a kernel packs them there,
//!            and raises flags; the product waits for the flags of its own window before the rows that read ghosts, and reads them
//!            there, or a kernel copies them to the vector
//! sum        the last block of the kernel that computes it stores it to all ranks, waits for theirs and adds them in their order
//! ```
//! Every step only enqueues work, so a CUDA graph can capture it. Values are received into a window since any vector may be exchanged
//! and only the window is mapped by the neighbours. Messages are cut into pieces of 1024 values, which blocks send independently.
//! Waiting for ghosts inside the product costs nothing while they travel; an exchange on a second stream was 4 to 7 us slower per
//! iteration on two H200s, since its blocks occupy multiprocessors that the product needs, and streams are joined by events. The sums have the
//! same bits on all ranks and in every run.

use super::gpus::one_gpu_each;
use crate::blas::Reductions;
use crate::comm::kernel_files::HALO;
use crate::comm::staged::send_list;
use crate::comm::{Communicator, HaloExchange, Link, Map, Transport, agree};
use crate::error::check_at_least;
use crate::space::ExecutionSpace;
use crate::space::cuda::{
    Argument, Arriving, Cuda, CudaArray, Grid, HANDLE, HostWord, Mapped, Outgoing, Window, arguments,
};
use crate::{Error, LocalOrdinal, Result};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// As in the kernels: threads per block, scalars of a sum, ranks.
const THREADS: u32 = 256;
const MOST: usize = 16;
const MOST_RANKS: usize = 16;
/// Values of a piece: 4 per thread, as in the kernel.
const PIECE: usize = 1024;
/// Most blocks of an exchange.
const BLOCKS: usize = 128;
/// Words of a piece in the kernel's tables.
const WORDS: usize = 7;

/// The windows of the sums, and what halos share.
#[derive(Debug)]
pub(super) struct Peer {
    shared: Rc<Shared>,
    /// How kernels add over the ranks, `RankSum` in `kernels/ranks.cuh`.
    sum: Arc<CudaArray<u64>>,
    _epoch: CudaArray<u32>,
    _windows: Windows,
}

/// What sums and halos have in common.
#[derive(Debug)]
struct Shared {
    lost: HostWord,
    limit: Duration,
    rank: usize,
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
        let made = || {
            let (epoch, lost) = (space.zeros::<u32>(1)?, HostWord::new(space)?);
            let shared = Shared { lost, limit, rank };
            let mut sum = vec![ranks as u64, rank as u64, shared.nanoseconds(), shared.lost.address(), epoch.address()];
            sum.extend((0..ranks).map(|rank| windows.address(rank)));
            Ok((space.upload(&sum)?, epoch, shared))
        };
        let (sum, epoch, shared) = agree(comm, made())?;
        Ok(Peer { shared: Rc::new(shared), sum: Arc::new(sum), _epoch: epoch, _windows: windows })
    }
}

impl Shared {
    /// The limit of a wait in nanoseconds.
    fn nanoseconds(&self) -> u64 {
        u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX)
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
        let (first, count, stop) = (slots.start as u32, slots.len() as u32, sums.stop_argument());
        let arguments = arguments![first, count, &*self.sum, stop, &mut sums.scalars];
        space.launch(&HALO, "sum_peers", Grid::new(1, THREADS), arguments)
    }

    fn attach(&self, sums: &mut Reductions<Cuda>) {
        sums.ranks = Some(self.sum.clone());
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
    arriving: Arriving,
    outgoing: Outgoing,
    _targets: (CudaArray<u32>, CudaArray<u64>),
    epoch: CudaArray<u32>,
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
        let values = windows.address(comm.rank()) + flag_bytes(received) as u64;
        let made = || {
            let (epoch, receives) = (space.zeros::<u32>(2)?, space.upload(&receives)?);
            // `Arrival` in kernels/ranks.cuh.
            let table = [
                owned as u64,
                shared.nanoseconds(),
                shared.lost.address(),
                epoch.address(),
                (receives.len() / WORDS) as u64,
                receives.address(),
                values,
                (size_of::<f64>() * map.ghost_count()) as u64,
            ];
            let arriving = Arriving { table: space.upload(&table)? };
            let send = send_list(map)?;
            let targets = Targets::new(&send, &sends);
            let (offsets, addresses) = (space.upload(&targets.offsets)?, space.upload(&targets.addresses)?);
            let (list, sends) = (space.upload(&send)?, space.upload(&sends)?);
            // `Outgoing` in kernels/ranks.cuh.
            let table = [
                targets.first,
                targets.first + targets.offsets.len() as u64 - 1,
                offsets.address(),
                addresses.address(),
                epoch.address(),
                (sends.len() / WORDS) as u64,
                sends.address(),
            ];
            let outgoing = Outgoing { table: space.upload(&table)? };
            let (space, _targets) = (space.clone(), (offsets, addresses));
            Ok(PeerHalo {
                shared,
                space,
                list,
                sends,
                receives,
                arriving,
                outgoing,
                _targets,
                epoch,
                _windows: windows,
            })
        };
        agree(comm, made())
    }
}

/// The places to which each item of a vector goes: targets `offsets[i - first]` to `offsets[i - first + 1]` of item i, each an
/// address for even epochs and the bytes from there to that for odd ones.
struct Targets {
    first: u64,
    offsets: Vec<u32>,
    addresses: Vec<u64>,
}

impl Targets {
    /// From the list of items that are sent, and the pieces in which they travel.
    fn new(send: &[LocalOrdinal], pieces: &[u64]) -> Self {
        let mut targets: Vec<(LocalOrdinal, [u64; 2])> = Vec::with_capacity(send.len());
        for piece in pieces.chunks_exact(WORDS) {
            let (first, count, values, stride) = (piece[0] as usize, piece[1] as usize, piece[2], piece[3]);
            let place = |k: usize| [values + (size_of::<f64>() * k) as u64, stride];
            targets.extend(send[first..first + count].iter().enumerate().map(|(k, &item)| (item, place(k))));
        }
        targets.sort_unstable();
        let first = targets.first().map_or(0, |&(item, _)| item);
        let items = targets.last().map_or(0, |&(item, _)| (item - first) as usize + 1);
        let mut offsets = vec![0; items + 1];
        targets.iter().for_each(|(item, _)| offsets[(item - first) as usize + 1] += 1);
        (0..items).for_each(|item| offsets[item + 1] += offsets[item]);
        let addresses = targets.iter().flat_map(|(_, target)| *target).collect();
        Targets { first: first.into(), offsets, addresses }
    }
}

impl PeerHalo {
    fn receive(&self, space: &Cuda, x: Argument) -> Result<()> {
        let grid = Grid::new((self.receives.len() / WORDS).min(BLOCKS), THREADS);
        space.launch(&HALO, "receive_ghosts", grid, arguments![&self.arriving.table, x])
    }
}

impl HaloExchange<Cuda> for PeerHalo {
    fn begin(&mut self, space: &Cuda, x: &mut CudaArray<f64>) -> Result<()> {
        self.shared.check()?;
        let count = self.sends.len() / WORDS;
        let arguments = arguments![count as u64, &self.sends, &self.list, x, &mut self.epoch];
        space.launch(&HALO, "send_ghosts", Grid::new(count.min(BLOCKS), THREADS), arguments)
    }

    fn end(&mut self, space: &Cuda, x: &mut CudaArray<f64>) -> Result<()> {
        self.receive(space, Argument::from(x))
    }

    fn cancel(&mut self) {
        // This rank waits all the same: its next message tells the neighbours that their places are read.
        let _ = self.receive(&self.space, Argument::NULL);
    }

    fn outgoing(&self) -> Option<&Outgoing> {
        Some(&self.outgoing)
    }

    fn arriving(&self) -> Option<&Arriving> {
        Some(&self.arriving)
    }

    fn is_recordable(&self) -> bool {
        true
    }
}
