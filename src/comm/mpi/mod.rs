//! MPI ranks, through the crate `mpi` and, where that has no call, MPI itself.
//!
//! MPI is started FUNNELED: only the thread that called [`Mpi::init`] communicates, and `Mpi` cannot leave it (it is not
//! `Send`). MPI keeps its default error handler, which ends all ranks with a message, so collectives return nothing.
//! Counts of MPI are 32-bit; longer messages are refused. Reductions run through a buffer on the stack, sums in
//! rank order through an all-gather (`ordered.rs`). Waits have no limit
//! unless [`Communicator::limit_waits`] sets one (`watch.rs`); collectives are nonblocking ones then.

#![allow(unsafe_code)]

mod call;
mod exchange;
mod ordered;
mod send_all;
mod watch;

use super::{Communicator, Exchange, Map, Message, MessageMemory, agree, started_by_mpirun};
use crate::faults::{self, Kind};
use crate::{Error, Result};
use call::{FREE_TAG, abort_all};
use exchange::{Persistent, count};
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives, Equivalence};
use ordered::Gathered;
use std::cell::{Cell, OnceCell};
use std::io::Write;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use watch::Watch;

/// Values that one reduction carries; longer arrays go in pieces.
const PIECE: usize = 64;

/// The ranks that a launcher started. MPI ends when this and every exchange made from it are gone.
pub struct Mpi {
    world: SimpleCommunicator,
    /// The ranks that share memory with this one.
    node: SimpleCommunicator,
    /// Tag of the next exchange of either kind, so that exchanges under way together never mix.
    tag: Cell<i32>,
    watch: Rc<Watch>,
    /// Set: sums are added in rank order.
    in_rank_order: OnceCell<Gathered>,
    /// Last, so that the communicators are freed before MPI ends.
    universe: Rc<Universe>,
}

impl Mpi {
    /// Starts MPI. Once a process.
    ///
    /// # Errors
    /// [`Error::Mpi`] when it was started before, cannot be called next to threads, or is another MPI than the
    /// launcher's (each copy would believe to be alone).
    pub fn init() -> Result<Self> {
        if faults::fails(Kind::Mpi, "MPI_Init_thread") {
            return Err(Error::Mpi("MPI_Init_thread failed".into()));
        }
        let started = mpi::initialize_with_threading(mpi::Threading::Funneled);
        let Some((universe, threading)) = started else {
            return Err(Error::Mpi("already started in this process".into()));
        };
        if threading < mpi::Threading::Funneled {
            return Err(Error::Mpi(format!("offers only {threading:?} threading, needed is Funneled")));
        }
        let world = universe.world();
        match started_by_mpirun() {
            Some(ranks) if ranks > 1 && world.size() == 1 => Err(Error::Mpi(format!(
                "{ranks} ranks were started, but each is alone: the launcher belongs to another MPI than this build"
            ))),
            _ => {
                let node = world.split_shared(world.rank());
                let watch = Rc::new(Watch::new(world.as_raw(), world.rank() as usize, world.size() as usize));
                Ok(Mpi {
                    world,
                    node,
                    tag: Cell::new(0),
                    watch,
                    in_rank_order: OnceCell::new(),
                    universe: Rc::new(universe),
                })
            }
        }
    }

    fn next_tag(&self) -> i32 {
        self.tag.replace((self.tag.get() + 1) % FREE_TAG)
    }

    /// An exchange of messages on the heap, or in `memory`.
    fn exchange_of(&self, map: &Map, memory: Option<MessageMemory>) -> Result<Box<dyn Exchange>> {
        let tag = self.next_tag();
        let (rank, size) = (self.rank(), self.size());
        if let Some(neighbour) = map.neighbours().iter().find(|n| n.rank >= size || n.rank == rank) {
            let other = neighbour.rank;
            return Err(Error::Mpi(format!("rank {rank} of {size} cannot have rank {other} as a neighbour")));
        }
        Ok(Box::new(Persistent::new(self.universe.clone(), self.watch.clone(), self.world.as_raw(), tag, map, memory)?))
    }

    fn watched_barrier(&self, name: &str) {
        // SAFETY: the communicator is the running world; the request is waited for.
        self.watch.collective(name, |request| unsafe { ffi::MPI_Ibarrier(self.world.as_raw(), request) });
    }

    /// Reduces in pieces through the stack, so that a reduction never allocates.
    fn reduce<T: Equivalence + Copy + Default>(&self, values: &mut [T], operation: SystemOperation) {
        for piece in values.chunks_mut(PIECE) {
            let mut result = [T::default(); PIECE];
            let result = &mut result[..piece.len()];
            self.fault("MPI_Allreduce");
            all_reduce(&self.watch, &self.world, piece, result, operation);
            piece.copy_from_slice(result);
        }
    }

    /// `all = the values of all ranks`, rank 0 first; `len` is the length of `mine`.
    fn gather(&self, mine: &[f64], len: i32, all: &mut [f64]) {
        if !self.watch.is_on() {
            return self.world.all_gather_into(mine, all);
        }
        let (from, to, comm) = (mine.as_ptr().cast(), all.as_mut_ptr().cast(), self.world.as_raw());
        // SAFETY: `mine` has `len` values and `all` that many per rank; both outlive the wait.
        self.watch.collective("all-gather", |request| unsafe {
            ffi::MPI_Iallgather(from, len, ffi::RSMPI_DOUBLE, to, len, ffi::RSMPI_DOUBLE, comm, request)
        });
    }

    /// Ends all ranks as MPI's error handler does, if a test wants this call to fail.
    fn fault(&self, call: &str) {
        if faults::fails(Kind::Mpi, call) {
            let _ = writeln!(std::io::stderr(), "error: rank {}: MPI: {call} failed", self.world.rank());
            abort_all(1)
        }
    }
}

/// `result = operation over the ranks of comm of values`.
fn all_reduce<T: Equivalence>(
    watch: &Watch,
    comm: &SimpleCommunicator,
    values: &[T],
    result: &mut [T],
    operation: SystemOperation,
) {
    if !watch.is_on() {
        return comm.all_reduce_into(values, result, operation);
    }
    let (count, of, how) = (values.len() as i32, T::equivalent_datatype().as_raw(), operation.as_raw());
    let (from, to) = (values.as_ptr().cast(), result.as_mut_ptr().cast());
    // SAFETY: both slices have `count` values of this type, at most `PIECE`, and outlive the wait.
    watch.collective("all-reduce", |request| unsafe {
        ffi::MPI_Iallreduce(from, to, count, of, how, comm.as_raw(), request)
    });
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }
    fn size(&self) -> usize {
        self.world.size() as usize
    }
    fn library_version(&self) -> Option<String> {
        let (major, minor) = mpi::environment::version();
        // Some libraries add lines about their build.
        let name = mpi::environment::library_version().unwrap_or_default();
        let name = name.lines().next().unwrap_or("").trim_matches([' ', '\0']).to_string();
        Some(format!("{name} (MPI {major}.{minor})"))
    }
    fn rank_on_node(&self) -> usize {
        self.node.rank() as usize
    }
    fn ranks_on_node(&self) -> usize {
        self.node.size() as usize
    }
    fn all_sum(&self, values: &mut [f64]) {
        match self.in_rank_order.get() {
            None => self.reduce(values, SystemOperation::sum()),
            Some(gathered) => gathered.sum(values, |piece, len, all| {
                self.fault("MPI_Allgather");
                self.gather(piece, len, all);
            }),
        }
    }
    fn all_max(&self, values: &mut [f64]) {
        self.reduce(values, SystemOperation::max());
    }
    fn all_sum_u64(&self, values: &mut [u64]) {
        self.reduce(values, SystemOperation::sum());
    }

    fn node_sum(&self, value: u64) -> u64 {
        let mut sum = [0];
        self.fault("MPI_Allreduce");
        all_reduce(&self.watch, &self.node, &[value], &mut sum, SystemOperation::sum());
        sum[0]
    }

    fn all_gather(&self, mine: &[f64]) -> Result<Vec<f64>> {
        let len = count("all_gather", mine.len())?;
        let mut all = vec![0.0; mine.len() * self.size()];
        if faults::fails(Kind::Mpi, "MPI_Allgather") {
            return Err(Error::Mpi("MPI_Allgather failed".into()));
        }
        self.gather(mine, len, &mut all);
        Ok(all)
    }

    fn send_all(&self, messages: Vec<Message>) -> Result<Vec<Message>> {
        agree(self, send_all::check_messages(self.size(), &messages))?;
        let tag = self.next_tag();
        send_all::send_all(&self.watch, self.world.as_raw(), tag, messages)
            .map_err(|error| Error::Alone(Box::new(error)))
    }

    fn barrier(&self) {
        self.fault("MPI_Barrier");
        if self.watch.is_on() { self.watched_barrier("barrier") } else { self.world.barrier() }
    }

    fn exchange(&self, map: &Map) -> Result<Box<dyn Exchange>> {
        self.exchange_of(map, None)
    }

    fn sends_device_memory(&self) -> bool {
        call::has_cuda_support()
    }

    fn exchange_in(&self, map: &Map, memory: MessageMemory) -> Result<Box<dyn Exchange>> {
        self.exchange_of(map, Some(memory))
    }

    fn fix_order_of_sums(&self) {
        self.in_rank_order.get_or_init(|| Gathered::new(self.size()));
    }

    fn sums_in_rank_order(&self) -> bool {
        self.size() == 1 || self.in_rank_order.get().is_some()
    }

    fn enter_phase(&self, name: &str) {
        self.watch.enter_phase(name);
    }

    fn limit_waits(&self, limit: Duration, tell: Box<dyn Fn(&str)>) {
        if self.size() > 1 {
            self.watch.limit(limit, tell);
        }
    }

    fn abort_on_panic(&self) {
        let rank = self.rank();
        let first = AtomicBool::new(true);
        std::panic::set_hook(Box::new(move |panic| {
            // Several threads may panic at once; one message is enough.
            if first.swap(false, Ordering::SeqCst) {
                let _ = writeln!(std::io::stderr(), "rank {rank}: {panic}");
            }
            abort_all(101)
        }));
    }

    fn abort(&self, code: i32) -> ! {
        abort_all(code)
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.watch.is_on() {
            // MPI ends when all ranks end it. This wait has a limit, that one has none.
            self.watch.enter_phase("end");
            self.watched_barrier("end of MPI, collective");
        }
    }
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mpi(rank {} of {})", self.rank(), self.size())
    }
}
