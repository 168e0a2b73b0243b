//! The halo's messages as persistent requests (MPI standard 4.0, section 3.9): set up once, started many times.
//!
//! Receives come first in the request list, so that they are posted before any send and long messages need no buffer of
//! MPI's. A neighbour with nothing to send or to receive gets no message; maps of both sides agree on that.

#![allow(unsafe_code)]

use super::call::{check, request, test};
use super::watch::Watch;
use crate::comm::{Exchange, Map, MessageMemory};
use crate::space::try_zeroed;
use crate::{Error, Result};
use mpi::environment::Universe;
use mpi::ffi;
use std::rc::Rc;

/// Memory that MPI knows by address: on the heap, reached through the one raw pointer only, from `new` to `drop`; or elsewhere, where
/// only MPI reads and writes it here.
struct Buffer {
    start: *mut f64,
    /// Values on the heap; 0 for memory elsewhere.
    len: usize,
}

impl Buffer {
    fn new(len: usize) -> Result<Self> {
        let values = try_zeroed::<f64>("message buffer", len)?;
        Ok(Buffer { start: Box::into_raw(values.into_boxed_slice()).cast(), len })
    }

    /// Memory that somebody else owns.
    fn at(address: u64) -> Self {
        Buffer { start: address as *mut f64, len: 0 }
    }

    /// The values on the heap.
    fn as_slice(&self) -> *mut [f64] {
        let start = if self.len == 0 { std::ptr::NonNull::dangling().as_ptr() } else { self.start };
        std::ptr::slice_from_raw_parts_mut(start, self.len)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: made by Box::into_raw in `new` with this length and freed nowhere else; `Persistent` frees its
        // requests before its buffers.
        drop(unsafe { Box::from_raw(self.as_slice()) });
    }
}

pub(super) struct Persistent {
    send: Buffer,
    receive: Buffer,
    /// All receives, then all sends.
    requests: Vec<ffi::MPI_Request>,
    statuses: Vec<ffi::MPI_Status>,
    /// (rank, values) of each receive.
    expected: Vec<(usize, i32)>,
    in_flight: bool,
    watch: Rc<Watch>,
    /// Memory of the messages that is not on the heap.
    _memory: Option<MessageMemory>,
    /// Keeps MPI running as long as there are requests.
    _universe: Rc<Universe>,
}

impl Persistent {
    pub(super) fn new(
        universe: Rc<Universe>,
        watch: Rc<Watch>,
        comm: ffi::MPI_Comm,
        tag: i32,
        map: &Map,
        memory: Option<MessageMemory>,
    ) -> Result<Self> {
        let neighbours = map.neighbours();
        let (send, receive) = match &memory {
            Some(memory) => (Buffer::at(memory.send), Buffer::at(memory.receive)),
            None => {
                let sent = neighbours.iter().map(|neighbour| neighbour.send.len()).sum();
                (Buffer::new(sent)?, Buffer::new(map.ghost_count())?)
            }
        };
        let mut made = Persistent {
            send,
            receive,
            requests: Vec::with_capacity(2 * neighbours.len()),
            statuses: Vec::new(),
            expected: Vec::with_capacity(neighbours.len()),
            in_flight: false,
            watch,
            _memory: memory,
            _universe: universe,
        };
        let mut offset = 0;
        for neighbour in neighbours {
            let (rank, len) = (neighbour.rank, neighbour.receive.len());
            if len > 0 {
                let values = count("ghosts", len)?;
                // SAFETY: [offset, offset + len) lies in the receive buffer, since the ranges of a Map tile its ghosts;
                // the buffer lives, at this address, until the request is freed. The communicator is the running world.
                made.requests.push(request("MPI_Recv_init", |request| unsafe {
                    let start = made.receive.start.add(offset).cast();
                    ffi::MPI_Recv_init(start, values, ffi::RSMPI_DOUBLE, rank as i32, tag, comm, request)
                })?);
                made.expected.push((rank, values));
                offset += len;
            }
        }
        offset = 0;
        for neighbour in neighbours {
            let (rank, len) = (neighbour.rank, neighbour.send.len());
            if len > 0 {
                let values = count("values to send", len)?;
                // SAFETY: as above, for the send buffer, whose length is the sum of these lengths.
                made.requests.push(request("MPI_Send_init", |request| unsafe {
                    let start = made.send.start.add(offset).cast();
                    ffi::MPI_Send_init(start, values, ffi::RSMPI_DOUBLE, rank as i32, tag, comm, request)
                })?);
                offset += len;
            }
        }
        // SAFETY: a status is a C struct of integers, for which zeros are values; MPI overwrites them.
        made.statuses = made.requests.iter().map(|_| unsafe { std::mem::zeroed() }).collect();
        Ok(made)
    }

    /// Waits, if messages are under way.
    fn wait(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.in_flight) {
            return Ok(());
        }
        if self.watch.is_on() {
            let (requests, statuses) = (&mut self.requests, &mut self.statuses);
            self.watch.poll(|| "a halo exchange".into(), || test(requests, Some(&mut *statuses)))?;
        } else {
            let (requests, statuses) = (self.requests.as_mut_ptr(), self.statuses.as_mut_ptr());
            // SAFETY: the requests were started by `begin`; there are as many statuses as requests (fewer than 2^31: two
            // a rank).
            check("MPI_Waitall", unsafe { ffi::MPI_Waitall(self.requests.len() as i32, requests, statuses) })?;
        }
        for (status, &(rank, expected)) in self.statuses.iter().zip(&self.expected) {
            let mut received = 0;
            // SAFETY: the status was written by MPI_Waitall just now.
            check("MPI_Get_count", unsafe { ffi::MPI_Get_count(status, ffi::RSMPI_DOUBLE, &mut received) })?;
            if received != expected {
                return Err(Error::Mpi(format!("rank {rank} sent {received} values, the map expects {expected}")));
            }
        }
        Ok(())
    }
}

impl Exchange for Persistent {
    fn begin(&mut self, pack: &mut dyn FnMut(&mut [f64]) -> Result<()>) -> Result<()> {
        // An exchange that was dropped unfinished still uses the buffers.
        self.wait()?;
        // SAFETY: nothing is under way, so MPI does not touch the buffer, and `&mut self` keeps others out.
        pack(unsafe { &mut *self.send.as_slice() })?;
        if !self.requests.is_empty() {
            let requests = self.requests.as_mut_ptr();
            // SAFETY: all are inactive persistent requests on buffers that live as long as `self`; until `wait` clears
            // `in_flight` no reference into the buffers is made.
            check("MPI_Startall", unsafe { ffi::MPI_Startall(self.requests.len() as i32, requests) })?;
            self.in_flight = true;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<&[f64]> {
        self.wait()?;
        // SAFETY: nothing is under way; the borrow of `self` ends before the next `begin`.
        Ok(unsafe { &*self.receive.as_slice() })
    }
}

impl Drop for Persistent {
    fn drop(&mut self) {
        let _ = self.wait();
        for request in &mut self.requests {
            // SAFETY: a persistent request, inactive after `wait`, freed once; MPI still runs (`_universe`).
            unsafe { ffi::MPI_Request_free(request) };
        }
    }
}

impl std::fmt::Debug for Persistent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Persistent { send, receive, requests, .. } = self;
        write!(f, "Persistent({} requests, sends {}, receives {})", requests.len(), send.len, receive.len)
    }
}

/// Returns a number of values as MPI's 32-bit count.
pub(super) fn count(what: &str, len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::TooLarge {
        what: format!("MPI, {what}"),
        needed: format!("{len} values in one message"),
        limit: i32::MAX.to_string(),
    })
}
