//! Transports of values between ranks, behind one contract: halos and sums in the memory of a space.
//!
//! | transport | halo | sum over ranks | needs | part of a CUDA graph |
//! |---|---|---|---|---|
//! | `mpi` | messages from host memory | MPI | a host space | |
//! | `staged` | packed, copied to the host, MPI, copied back | the host reads, MPI adds, the host writes | nothing more | no |
//! | `peer` | stores into the neighbour's memory | stores into every rank's slots | GPUs of one host with peer access | yes |
//! | `nccl` | packed, `ncclSend`, `ncclRecv` | `ncclAllReduce` | NCCL | yes |
//! | `mpi-device` | packed, MPI from device memory | as `staged` | an MPI that reports CUDA support | no |
//!
//! [`Links`] are made once per run, by all ranks together; halos and sums of the run use them.

use super::halo::Halo;
use super::staged::Staged;
use super::{AllReduce, Communicator, Map, Staging};
use crate::blas::Reductions;
use crate::space::{Array, named_choice};
use crate::{Error, Result};
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

/// How values travel between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// MPI messages from host memory, the only transport of host spaces.
    Mpi,
    /// MPI messages that are copied through page-locked host memory.
    Staged,
    /// Stores into the memory of other GPUs of the same host.
    Peer,
    /// NCCL.
    Nccl,
    /// MPI messages from device memory.
    MpiDevice,
}

impl Transport {
    /// All transports with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Transport::Mpi, "mpi"),
        (Transport::Staged, "staged"),
        (Transport::Peer, "peer"),
        (Transport::Nccl, "nccl"),
        (Transport::MpiDevice, "mpi-device"),
    ];
}
named_choice!(Transport, "transport");

/// A transport between this rank and all others.
pub trait Link<S: Staging>: Debug {
    /// Which transport this is.
    fn transport(&self) -> Transport;

    /// Prepares the exchange of a map's ghosts. Ranks call it together.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; a failure of the transport, here and below.
    fn halo(&self, space: &S, comm: &dyn Communicator, map: &Map) -> Result<Box<dyn HaloExchange<S>>>;

    /// As [`AllReduce::all_reduce`], for two ranks or more.
    ///
    /// # Errors
    /// As [`AllReduce::all_reduce`].
    fn all_reduce(
        &self,
        space: &S,
        comm: &dyn Communicator,
        sums: &mut Reductions<S>,
        slots: Range<usize>,
    ) -> Result<()>;

    /// Whether sums only enqueue work on the space.
    fn is_recordable(&self) -> bool;

    /// As [`AllReduce::attach`].
    fn attach(&self, sums: &mut Reductions<S>) {
        sums.ranks = None;
    }

    /// As [`AllReduce::check`].
    ///
    /// # Errors
    /// As [`AllReduce::check`].
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// The exchange of one map's ghosts by some transport.
pub trait HaloExchange<S: Staging>: Debug {
    /// Starts to send the values of `x[..owned]` that other ranks read. From now on the ghosts of `x` may be written.
    ///
    /// # Errors
    /// A failure of a device or of the transport, here and below.
    fn begin(&mut self, space: &S, x: &mut Array<S, f64>) -> Result<()>;

    /// Makes later work of the space wait until `x[owned..]` holds the values of this exchange; `x` is the vector of `begin`.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    fn end(&mut self, space: &S, x: &mut Array<S, f64>) -> Result<()>;

    /// Ends an exchange whose values nobody reads.
    fn cancel(&mut self);

    /// The values of a begun exchange, for kernels that wait for them by themselves; [`end`](Self::end) is then not needed.
    fn arriving(&self) -> Option<&S::Arriving> {
        None
    }

    /// Whether an exchange only enqueues work on the space, so that it may be part of a recorded CUDA graph.
    fn is_recordable(&self) -> bool;
}

/// A space that chooses among its transports.
pub trait Connect: Staging {
    /// Connects this rank with the others by the transport `wanted`, or by the best one that works on all ranks. Ranks call it
    /// together. A device waits at most `limit` for another rank.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a transport that this space does not have; why the transport that was asked for does not work.
    fn link(&self, comm: &dyn Communicator, wanted: Option<Transport>, limit: Duration) -> Result<Box<dyn Link<Self>>>;
}

/// This rank's connections to the other ranks, used by every halo and sum of a run.
#[derive(Debug)]
pub struct Links<'a, S: Staging> {
    comm: &'a dyn Communicator,
    link: Box<dyn Link<S>>,
}

impl<'a, S: Staging> Links<'a, S> {
    /// Connects all ranks of `comm`, which call it together: by `wanted`, or by the best transport that works on all ranks. A
    /// device waits at most `limit` for another rank before it reports a failure.
    ///
    /// # Errors
    /// As [`Connect::link`].
    pub fn connect(space: &S, comm: &'a dyn Communicator, wanted: Option<Transport>, limit: Duration) -> Result<Self>
    where
        S: Connect,
    {
        Ok(Links { comm, link: space.link(comm, wanted, limit)? })
    }

    /// Sends through the host, which works everywhere.
    pub fn staged(comm: &'a dyn Communicator) -> Self {
        Links { comm, link: Box::new(Staged) }
    }

    /// Returns the ranks.
    pub fn comm(&self) -> &'a dyn Communicator {
        self.comm
    }

    /// Returns the transport.
    pub fn transport(&self) -> Transport {
        self.link.transport()
    }

    /// Prepares the exchange of a map's ghosts. Ranks call it together.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had; a failure of the transport.
    pub fn halo(&self, space: &S, map: &Map) -> Result<Halo<S>> {
        Ok(Halo::with(self.link.halo(space, self.comm, map)?, map))
    }
}

impl<S: Staging> AllReduce<S> for Links<'_, S> {
    fn all_reduce(&self, space: &S, sums: &mut Reductions<S>, slots: Range<usize>) -> Result<()> {
        if self.comm.size() == 1 || slots.is_empty() || sums.ranks.is_some() {
            return Ok(());
        }
        self.link.all_reduce(space, self.comm, sums, slots)
    }

    fn is_recordable(&self) -> bool {
        self.comm.size() == 1 || self.link.is_recordable()
    }

    fn attach(&self, sums: &mut Reductions<S>) {
        if self.comm.size() > 1 {
            self.link.attach(sums);
        }
    }

    fn check(&self) -> Result<()> {
        self.link.check()
    }
}

/// The error for a transport that a space does not have.
pub(super) fn not_here(wanted: Transport, device: &str, known: &[Transport]) -> Error {
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    Error::Invalid(format!(
        "transport {wanted} (--halo): not available on {device}: expected auto or one of {}",
        known.join(", ")
    ))
}
