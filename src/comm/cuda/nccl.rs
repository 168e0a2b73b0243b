//! The transport `nccl`: messages and sums by NCCL, on the stream.
//!
//! ```text
//! exchange   pack -> ncclSend, ncclRecv straight into the ghosts        on a stream of its own, ordered by events
//! sum        ncclAllGather -> sum in the order of the ranks             the same bits on all ranks and in every run
//! ```

use super::pack::{THREADS, in_parts, pack};
use crate::blas::Reductions;
use crate::comm::kernel_files::HALO;
use crate::comm::node::one_gpu_each;
use crate::comm::staged::send_list;
use crate::comm::{Communicator, HaloExchange, Link, Map, Transport, agree};
use crate::error::check_at_least;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, Grid, Nccl, arguments};
use crate::{Error, LocalOrdinal, Result};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// Most scalars of a sum.
const MOST: usize = 16;

/// A communicator of NCCL and the values that its sums gather.
#[derive(Debug)]
pub(super) struct NcclLink {
    nccl: Rc<Nccl>,
    side: Cuda,
    gathered: RefCell<CudaArray<f64>>,
    ranks: usize,
}

impl NcclLink {
    /// Connects all ranks, which call it together.
    pub fn connect(space: &Cuda, comm: &dyn Communicator) -> Result<Self> {
        let (is_alone, _) = one_gpu_each(comm, space.device().info().id);
        let ready = match is_alone {
            true => Nccl::version(),
            false => Err(Error::Device("NCCL needs a GPU for each rank: start one rank per GPU".into())),
        };
        let version = agree(comm, ready)?;
        let mut versions = [version as f64, -f64::from(version)];
        comm.all_max(&mut versions);
        let [newest, oldest] = [versions[0], -versions[1]];
        if newest != oldest {
            return Err(Error::Device(format!("NCCL: ranks have versions {oldest} to {newest}, expected one version")));
        }
        // Rank 0 makes the id; the sum with zeros brings it to all ranks.
        let id = if comm.rank() == 0 { Nccl::id() } else { Ok(Default::default()) };
        let mut id = agree(comm, id)?;
        comm.all_sum_u64(&mut id);
        let gathered = space.zeros(MOST * comm.size());
        let (gathered, side) = agree(comm, gathered.and_then(|gathered| Ok((gathered, space.fork_urgent()?))))?;
        let nccl = Rc::new(Nccl::new(space, id, comm.rank(), comm.size())?);
        let mut gathered = gathered;
        // NCCL makes the connections of a sum at the first one: here, not in the first iteration.
        let first = agree(comm, space.zeros(1))?;
        nccl.all_gather(space, &first, 0..1, comm.size(), &mut gathered)?;
        space.fence()?;
        Ok(NcclLink { nccl, side, gathered: RefCell::new(gathered), ranks: comm.size() })
    }
}

impl Link<Cuda> for NcclLink {
    fn transport(&self) -> Transport {
        Transport::Nccl
    }

    fn halo(&self, space: &Cuda, comm: &dyn Communicator, map: &Map) -> Result<Box<dyn HaloExchange<Cuda>>> {
        let (mut sends, mut receives, mut first) = (Vec::new(), Vec::new(), 0);
        for neighbour in map.neighbours() {
            if !neighbour.send.is_empty() {
                sends.push((neighbour.rank, first..first + neighbour.send.len()));
                first += neighbour.send.len();
            }
            if !neighbour.receive.is_empty() {
                receives.push((neighbour.rank, neighbour.receive.start as usize..neighbour.receive.end as usize));
            }
        }
        let made = || {
            let halo = NcclHalo {
                nccl: self.nccl.clone(),
                space: space.clone(),
                side: self.side.clone(),
                list: space.upload(&send_list(map)?)?,
                buffer: space.zeros(first)?,
                sends,
                receives,
            };
            Ok((halo, space.zeros(map.local_count())?))
        };
        // NCCL connects two ranks at their first message, which takes about a second: here, not in the first iteration.
        let (mut halo, mut x) = agree(comm, made())?;
        halo.begin(space, &mut x)?;
        halo.end(space, &mut x)?;
        space.fence()?;
        Ok(Box::new(halo))
    }

    fn all_reduce(
        &self,
        space: &Cuda,
        _: &dyn Communicator,
        sums: &mut Reductions<Cuda>,
        slots: Range<usize>,
    ) -> Result<()> {
        check_at_least("all_reduce", "scalars", sums.scalars.len(), slots.end)?;
        let mut gathered = self.gathered.borrow_mut();
        in_parts(slots, MOST, |part| {
            self.nccl.all_gather(space, &sums.scalars, part.clone(), self.ranks, &mut gathered)?;
            let (ranks, first, count) = (self.ranks as u32, part.start as u32, part.len() as u32);
            let stop = sums.stop_argument();
            let arguments = arguments![ranks, first, count, &*gathered, stop, &mut sums.scalars];
            space.launch(&HALO, "sum_gathered", Grid::new(1, THREADS), arguments)
        })
    }

    fn is_recordable(&self) -> bool {
        true
    }

    fn check(&self) -> Result<()> {
        self.nccl.check()
    }
}

#[derive(Debug)]
struct NcclHalo {
    nccl: Rc<Nccl>,
    space: Cuda,
    side: Cuda,
    list: CudaArray<LocalOrdinal>,
    buffer: CudaArray<f64>,
    /// (rank, places in the buffer) and (rank, places in the vector).
    sends: Vec<(usize, Range<usize>)>,
    receives: Vec<(usize, Range<usize>)>,
}

impl HaloExchange<Cuda> for NcclHalo {
    fn begin(&mut self, space: &Cuda, x: &mut CudaArray<f64>) -> Result<()> {
        // Packed on the stream of the vector, whose owned items may change as soon as this returns.
        pack(space, &self.list, x, &mut self.buffer)?;
        self.side.wait_for(&space.record()?)?;
        self.nccl.exchange(&self.side, &self.sends, &self.buffer, &self.receives, x)
    }

    fn end(&mut self, space: &Cuda, _: &mut CudaArray<f64>) -> Result<()> {
        space.wait_for(&self.side.record()?)
    }

    fn cancel(&mut self) {
        let side = self.side.record();
        let _ = side.and_then(|side| self.space.wait_for(&side));
    }
}
