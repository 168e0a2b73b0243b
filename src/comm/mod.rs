//! Ranks: communicators, the map of owned and ghost indices, and the halo exchange.
//!
//! A [`Communicator`] provides collective operations. [`Solo`] is one rank; `Mpi` (feature `mpi`) is a
//! run started by `mpirun`. Higher layers take a `&dyn Communicator`; on one rank
//! every operation below is the identity and costs nothing.
//!
//! Each collective must be called by every rank, in the same order and with the same lengths. None allocates, but for
//! [`Communicator::all_gather`], [`Communicator::send_all`] and [`Communicator::exchange`], which belong before and after an
//! iteration.
//!
//! A [`Map`] of a box needs no communication; [`GlobalMap`] makes one from the global ids of any other partition.
//!
//! Sums over ranks depend on the number of ranks in their last bits, and MPI does not promise the order in which it adds: it may
//! change with the MPI library, its settings, the hosts and [`Communicator::limit_waits`]. After
//! [`Communicator::fix_order_of_sums`] values are added in rank order, `((v0 + v1) + v2) + ...`, so that a sum depends on the values
//! and on nothing else.
//!
//! ```
//! use minifenl::comm::{Communicator, GlobalMap, Solo};
//!
//! // `world()` returns the ranks of mpirun instead; the lines below stay as they are.
//! let comm = Solo;
//! let mut largest = [1.5, -2.0];
//! comm.all_max(&mut largest);
//! assert_eq!(largest, [1.5, -2.0]);
//!
//! // This rank owns nodes 30, 10 and 20 of the whole mesh, and its elements use two of them.
//! let nodes = GlobalMap::new(&comm, &[30, 10, 20], &[10, 30])?;
//! let local = nodes.local(10).expect("owned");
//! assert_eq!((nodes.ids()[local as usize], nodes.local(40)), (10, None));
//! assert_eq!((nodes.map().owned_count(), nodes.map().ghost_count()), (3, 0));
//! # Ok::<(), minifenl::Error>(())
//! ```

mod agree;
#[cfg(feature = "cuda")]
mod cuda;
mod global_map;
mod halo;
#[cfg(feature = "cuda")]
mod kernel_files;
mod launch;
mod links;
mod map;
mod map_of_ghosts;
#[cfg(feature = "mpi")]
mod mpi;
mod node;
#[cfg(test)]
#[path = "../../tests/library/thread_ranks.rs"]
pub(crate) mod ranks;
mod rendezvous;
mod same;
mod solo;
mod staged;
#[cfg(test)]
pub(crate) mod testing;
mod transport;
mod world;

pub(crate) use agree::agree_on_method;
pub use agree::{Failing, agree, failing};
pub use global_map::GlobalMap;
pub use halo::{Halo, InFlight};
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use launch::{core_list, default_threads, launched_rank, started_by_mpirun};
pub use links::Links;
pub(crate) use map::local;
pub use map::{Map, Neighbour};
pub(crate) use map_of_ghosts::map_of_ghosts;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use node::equal_on_node;
pub use same::{Setting, alike, same};
pub use solo::Solo;
pub use transport::{HaloExchange, Link, Staging, Transport};
pub use world::world;

use crate::Result;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

/// Numbers, with the rank that receives or sent them.
pub type Message = (usize, Vec<u64>);

/// The ranks of a run, seen from one of them. Stays on the thread that made it.
pub trait Communicator: Debug {
    /// This rank, `0..size`.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// This rank's place among the ranks of its node, `0..ranks_on_node`; a device is chosen by it.
    fn rank_on_node(&self) -> usize;

    /// Ranks that share this rank's memory and cores.
    fn ranks_on_node(&self) -> usize;

    /// Replaces each value by its sum over all ranks, in an order of its own unless [`fix_order_of_sums`](Self::fix_order_of_sums)
    /// was called. All ranks get the same bits.
    fn all_sum(&self, values: &mut [f64]);

    /// Replaces each value by its maximum over all ranks.
    fn all_max(&self, values: &mut [f64]);

    /// Replaces each value by its exact sum over all ranks.
    fn all_sum_u64(&self, values: &mut [u64]);

    /// The sum of a value over the ranks of this node.
    fn node_sum(&self, value: u64) -> u64;

    /// The values of all ranks, rank 0 first; each rank gives equally many.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) for more than 2^31 - 1 values a rank.
    fn all_gather(&self, mine: &[f64]) -> Result<Vec<f64>>;

    /// Delivers messages to some ranks and returns those that came in, lowest sender first, each sender's in its order. No rank
    /// needs to know who sends to it. A rank may send to itself, several times to one rank, and nothing at all. Takes
    /// O(own messages + log ranks) time; memory is that of the messages.
    ///
    /// This implementation serves runs of 1 rank.
    ///
    /// # Errors
    /// Before any message is sent, on one rank with [`Error::Elsewhere`](crate::Error::Elsewhere) on all others:
    /// [`Error::Mpi`](crate::Error::Mpi) for a rank outside `0..size`, [`Error::TooLarge`](crate::Error::TooLarge) for more than
    /// 2^31 - 1 numbers in a message. [`Error::Alone`](crate::Error::Alone) when MPI or an allocation fails in the midst: then
    /// the caller ends all ranks.
    fn send_all(&self, messages: Vec<Message>) -> Result<Vec<Message>> {
        let (rank, size) = (self.rank(), self.size());
        if size == 1 && messages.iter().all(|(to, _)| *to == 0) {
            return Ok(messages);
        }
        Err(crate::Error::Mpi(format!("rank {rank} of {size} can send messages to itself only, on a run of 1 rank")))
    }

    /// Returns once every rank has called it.
    fn barrier(&self);

    /// Prepares the exchange of `map`'s values: buffers and messages are set up once and used many times.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) for the buffers, [`Error::Mpi`](crate::Error::Mpi) for a neighbour that is no other rank of this run,
    /// [`Error::TooLarge`](crate::Error::TooLarge) for a message of more than 2^31 - 1 values.
    fn exchange(&self, map: &Map) -> Result<Box<dyn Exchange>>;

    /// Whether messages may lie in the memory of a GPU ([`exchange_in`](Self::exchange_in)). An MPI that does not say so may crash
    /// with such addresses.
    fn sends_device_memory(&self) -> bool {
        false
    }

    /// As [`exchange`](Self::exchange), for messages in memory of the caller: [`Exchange::begin`] packs them into it, and passes an
    /// empty message to `pack`; [`Exchange::end`] returns no values.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange); [`Error::Mpi`](crate::Error::Mpi) where messages lie on the heap only.
    fn exchange_in(&self, _map: &Map, _memory: MessageMemory) -> Result<Box<dyn Exchange>> {
        Err(crate::Error::Mpi("messages lie in host memory only".into()))
    }

    /// From now on [`all_sum`](Self::all_sum) adds in rank order, `((v0 + v1) + v2) + ...`. All ranks call it. The default does
    /// nothing; [`sums_in_rank_order`](Self::sums_in_rank_order) says whether it had an effect.
    fn fix_order_of_sums(&self) {}

    /// Whether [`all_sum`](Self::all_sum) adds in rank order. Transports that add elsewhere, such as on a GPU, follow it.
    fn sums_in_rank_order(&self) -> bool {
        self.size() == 1
    }

    /// The library that connects the ranks, with its version; `None` where they need none.
    fn library_version(&self) -> Option<String> {
        None
    }

    /// Names the part of the run that follows, for the messages of [`limit_waits`](Self::limit_waits).
    fn enter_phase(&self, _name: &str) {}

    /// From now on a wait for other ranks that takes longer than `limit` ends all ranks with code 1. One rank calls `tell`
    /// before, with one line that names the phase, the operation, the limit and the ranks that are missing. Covers
    /// collectives, halo exchanges and the end of MPI, not its start. All ranks call it, with the same limit. Sums may change
    /// in their last bits with more than two ranks, since MPI adds in another order then, unless
    /// [`fix_order_of_sums`](Self::fix_order_of_sums) was called. On one rank it does nothing.
    fn limit_waits(&self, _limit: Duration, _tell: Box<dyn Fn(&str)>) {}

    /// From now on a panic on any thread of this rank prints one message with the rank and ends all ranks with code 101.
    /// Without it the others would wait for ever in their next collective. Programs call it once; without MPI it does
    /// nothing, since there a panic already ends the run.
    fn abort_on_panic(&self) {}

    /// Ends all ranks, now. For failures that one rank meets alone in mid-iteration; [`agree`] is the gentle way.
    fn abort(&self, code: i32) -> !;
}

/// Memory of the messages of an exchange, in the order of [`Exchange`].
#[derive(Clone, Debug)]
pub struct MessageMemory {
    /// Address of the values to send.
    pub send: u64,
    /// Address of the values to be received.
    pub receive: u64,
    /// The owner of both, which keeps them at these addresses.
    pub owner: Rc<dyn Debug>,
}

/// Messages to and from fixed neighbours, of fixed lengths, started again and again.
///
/// Values travel packed: those to send neighbour after neighbour, each in the order of its send list; those received in
/// the order of the ghosts.
pub trait Exchange: Debug {
    /// Lets `pack` fill the values to send, then starts all messages. Waits first for an exchange still under way.
    ///
    /// # Errors
    /// [`Error::Mpi`](crate::Error::Mpi) when MPI refuses.
    fn begin(&mut self, pack: &mut dyn FnMut(&mut [f64]) -> Result<()>) -> Result<()>;

    /// Waits for all messages and lends the values received (those of the last exchange, when none is under way).
    ///
    /// # Errors
    /// [`Error::Mpi`](crate::Error::Mpi) naming a neighbour that sent another number of values than the map says.
    fn end(&mut self) -> Result<&[f64]>;
}
