//! Transports of values between ranks, behind one contract: halos and sums in the memory of a space.
//!
//! | transport | halo | sum over ranks | needs | part of a CUDA graph |
//! |---|---|---|---|---|
//! | `mpi` | messages from host memory | MPI | a host space | |
//! | `staged` | packed, copied to the host, MPI, copied back | the host reads, MPI adds, the host writes | nothing more | no |
//! | `peer` | stores into the neighbour's memory | stores into every rank's slots | GPUs of one host with peer access | yes |
//! | `nccl` | packed, `ncclSend`, `ncclRecv` | `ncclAllGather`, then added | NCCL | yes |
//! | `mpi-device` | packed, MPI from device memory | as `staged` | an MPI that says that it can | no |
//!
//! [`Links`](super::Links) are made once per run, by all ranks together; halos and sums of the run use them.

use super::{Communicator, Map};
use crate::blas::{Blas, Collective, Reductions};
use crate::space::{Array, Slice, Threads, named_choice};
use crate::{Error, LocalOrdinal, Result};
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

named_choice! { "transport";
    /// Transport of values between ranks.
    pub enum Transport {
        /// MPI messages from host memory, the only transport of host spaces.
        Mpi = "mpi",
        /// MPI messages that are copied through page-locked host memory.
        Staged = "staged",
        /// Stores into the memory of other GPUs of the same host.
        Peer = "peer",
        /// NCCL.
        Nccl = "nccl",
        /// MPI messages from device memory.
        MpiDevice = "mpi-device",
    }
}

/// A transport between this rank and all others.
pub trait Link<S: Staging>: Debug {
    /// Which transport this is.
    fn transport(&self) -> Transport;

    /// Prepares the exchange of a map's ghosts. Ranks call it together.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; a failure of the transport, here and below.
    fn halo(&self, space: &S, comm: &dyn Communicator, map: &Map) -> Result<Box<dyn HaloExchange<S>>>;

    /// Does as [`Collective::all_reduce`], for two ranks or more; by default the host reduces.
    ///
    /// # Errors
    /// As [`Collective::all_reduce`].
    fn all_reduce(
        &self,
        space: &S,
        comm: &dyn Communicator,
        sums: &mut Reductions<S>,
        slots: Range<usize>,
    ) -> Result<()> {
        Collective::all_reduce(&comm, space, sums, slots)
    }

    /// Whether exchanges and sums only enqueue work on the space, so that they may be part of a recorded CUDA graph.
    fn is_recordable(&self) -> bool {
        S::SYNCHRONOUS
    }

    /// Whether a product that overlaps an exchange sums the rows without ghosts apart from the others, so that its sum has other bits
    /// than that of an undivided product.
    fn divides_sums(&self) -> bool {
        !S::SYNCHRONOUS
    }

    /// As [`Collective::attach`].
    fn attach(&self, sums: &mut Reductions<S>) {
        sums.collective = None;
    }

    /// As [`Collective::check`].
    ///
    /// # Errors
    /// As [`Collective::check`].
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
    fn begin(&mut self, space: &S, x: &mut Slice<S, f64>) -> Result<()>;

    /// Makes later work of the space wait until `x[owned..]` holds the values of this exchange; `x` is the vector of `begin`.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    fn end(&mut self, space: &S, x: &mut Slice<S, f64>) -> Result<()>;

    /// Ends an exchange whose values nobody reads.
    fn cancel(&mut self);

    /// The description of the exchange for a kernel that itself sends items and waits for ghosts (`Exchange` in `kernels/ranks.cuh`), in place of [`begin`](Self::begin) and
    /// [`end`](Self::end).
    fn peer(&self) -> Option<&Array<S, u64>> {
        None
    }
}

/// A space whose values can be sent to other ranks.
///
/// MPI sends host memory. A host space packs straight into the message; a device packs on the device and copies through
/// page-locked memory, 8 bytes per value each way over the bus.
pub trait Staging: Blas {
    /// Local indices of the values to send, and a device's buffer for them.
    type SendList: std::fmt::Debug;

    /// Returns the threads of the host: this space itself on a host, all cores allowed beside a device.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when the system cannot start them.
    fn host(&self) -> Result<Threads>;

    /// Returns the bytes in this space and on the host of an exchange that sends and receives so many values.
    fn exchange_bytes(sent: u64, received: u64) -> [u64; 2];

    /// Prepares to send the values at the local indices `send`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had.
    fn send_list(&self, send: Vec<LocalOrdinal>) -> Result<Self::SendList>;

    /// `message[k] = x[send[k]]`; returns when the message may be sent.
    ///
    /// # Errors
    /// A device's failure.
    fn pack(&self, list: &mut Self::SendList, x: &Slice<Self, f64>, message: &mut [f64]) -> Result<()>;

    /// `x[first + k] = message[k]`; returns when the message may be overwritten.
    ///
    /// # Errors
    /// A device's failure.
    fn unpack(&self, message: &[f64], first: usize, x: &mut Slice<Self, f64>) -> Result<()>;

    /// Connects this rank with the others by the transport `wanted`, or by the best one that works on all ranks. Ranks call it
    /// together. A device waits at most `limit` for another rank.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a transport that this space does not have; why the transport that was asked for does not work.
    fn link(&self, comm: &dyn Communicator, wanted: Option<Transport>, limit: Duration) -> Result<Box<dyn Link<Self>>>;
}

/// The error for a transport that a space does not have.
pub(super) fn not_here(wanted: Transport, device: &str, known: &[Transport]) -> Error {
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    Error::Invalid(format!("transport {wanted}: not available on {device}: expected auto, {}", known.join(", ")))
}
