//! The transport `peer`: GPUs of one host store into each other's memory (CUDA IPC), with kernels of `kernels/halo.cu`.
//!
//! ```text
//! window of a halo   flags [2][pieces of its ghosts] u32, then values [2][ghosts] f64        written by the neighbours
//! window of sums     slots [2][from][MOST][2] u64                                            written by all ranks
//! exchange   the product stores the items that its neighbours read straight into their windows, raises flags, computes the rows
//!            without ghosts, waits for the flags of its own window, and reads the ghosts there; elsewhere a kernel sends and another
//!            copies the ghosts to the vector
//! sum        the last block of the kernel that computes it stores it to all ranks, waits for theirs and adds them in their order
//! ```
//! Every step only enqueues work, so a CUDA graph can capture it. Values are received into a window since any vector may be
//! exchanged and only the window is mapped by the neighbours. Messages are cut into pieces of 1024 values, which blocks send
//! independently. The product computes the other rows while ghosts travel; an exchange on a second stream was 4 to 7 us slower per
//! iteration on two H200s, since its blocks occupy multiprocessors that the product needs, and streams are joined by events. The sums have the same bits on all ranks and in every run.

mod halo;
mod pieces;
mod shared;
mod windows;

use super::pack::{THREADS, in_parts};
use crate::blas::Reductions;
use crate::comm::kernel_files::HALO;
use crate::comm::node::one_gpu_each;
use crate::comm::{Communicator, HaloExchange, Link, Map, Transport, agree};
use crate::error::check_at_least;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, Grid, arguments};
use crate::{Error, Result};
use halo::PeerHalo;
use shared::Shared;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use windows::Windows;

/// As in the kernels: scalars of a sum, ranks.
const MOST: usize = 16;
const MOST_RANKS: usize = 16;

/// The windows of the sums, and what halos share.
#[derive(Debug)]
pub(super) struct Peer {
    shared: Rc<Shared>,
    /// How kernels add over the ranks, `RankSum` in `kernels/ranks.cuh`.
    sum: Arc<CudaArray<u64>>,
    _windows: Windows,
}

impl Peer {
    /// Connects all ranks, which call it together.
    pub fn connect(space: &Cuda, comm: &dyn Communicator, limit: Duration) -> Result<Self> {
        let (rank, ranks) = (comm.rank(), comm.size());
        let (is_alone, is_one_host) = one_gpu_each(comm, space.device().info().id);
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
            let shared = Shared::new(space, limit, rank)?;
            // `RankSum` in kernels/ranks.cuh; no sums so far.
            let mut sum = vec![0, ranks as u64, rank as u64, shared.nanoseconds(), shared.lost()];
            sum.extend((0..MOST_RANKS).map(|other| if other < ranks { windows.address(other) } else { 0 }));
            Ok((space.upload(&sum)?, shared))
        };
        let (sum, shared) = agree(comm, made())?;
        Ok(Peer { shared: Rc::new(shared), sum: Arc::new(sum), _windows: windows })
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
        self.shared.check()?;
        in_parts(slots, MOST, |part| {
            let (first, count, stop) = (part.start as u32, part.len() as u32, sums.stop_argument());
            let arguments = arguments![first, count, &*self.sum, stop, &mut sums.scalars];
            space.launch(&HALO, "sum_peers", Grid::new(1, THREADS), arguments)
        })
    }

    fn attach(&self, sums: &mut Reductions<Cuda>) {
        sums.collective = Some(self.sum.clone());
    }

    fn is_recordable(&self) -> bool {
        true
    }

    fn divides_sums(&self) -> bool {
        false
    }

    fn check(&self) -> Result<()> {
        self.shared.check()
    }
}
