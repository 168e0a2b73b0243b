//! Messages to ranks that do not expect them: the nonblocking consensus algorithm NBX (Hoefler, Siebert and Lumsdaine,
//! "Scalable communication protocols for dynamic sparse data exchange", PPoPP 2010, algorithm 2).
//!
//! ```text
//! synchronous sends       each ends when its receiver has begun to receive
//! until the barrier ends  receive what a probe finds; once all own sends have ended, join a nonblocking barrier
//! ```
//! The barrier ends when all ranks have joined, so when all messages have been received. No rank holds counts of all ranks. Each
//! round has a tag of its own, which separates it from halo exchanges in flight. Rounds do not overlap: ranks agree that all
//! messages can be sent before they send any.

#![allow(unsafe_code)]

use super::call::{check, probe, request, test};
use super::exchange::count;
use super::watch::Watch;
use crate::comm::Message;
use crate::space::try_zeroed;
use crate::{Error, Result};
use mpi::ffi;
use std::mem::ManuallyDrop;

/// Refuses messages to ranks that do not exist and messages that MPI cannot count.
pub(super) fn check_messages(size: usize, messages: &[Message]) -> Result<()> {
    for (to, numbers) in messages {
        if *to >= size {
            return Err(Error::Mpi(format!("a message goes to rank {to}, expected a rank in 0..{size}")));
        }
        count("send_all", numbers.len())?;
    }
    Ok(())
}

/// Sends checked messages and returns those received, lowest sender first. `comm` is the running world; all ranks pass the same
/// `tag`, which no other exchange uses at this time.
///
/// # Errors
/// [`Error::Mpi`] and [`Error::OutOfMemory`], of this rank alone.
pub(super) fn send_all(watch: &Watch, comm: ffi::MPI_Comm, tag: i32, messages: Vec<Message>) -> Result<Vec<Message>> {
    // A failure leaks the messages: MPI may still read them.
    let messages = ManuallyDrop::new(messages);
    let mut sends = Vec::with_capacity(messages.len());
    for (to, numbers) in messages.iter() {
        let (start, len) = (numbers.as_ptr().cast(), numbers.len() as i32);
        // SAFETY: `numbers` has `len` numbers, checked to fit, and stays in memory until all sends have ended.
        sends.push(request("MPI_Issend", |request| unsafe {
            ffi::MPI_Issend(start, len, ffi::RSMPI_UINT64_T, *to as i32, tag, comm, request)
        })?);
    }
    let (mut received, mut barrier) = (Vec::new(), None);
    let at = || "a sparse exchange".to_string();
    watch.poll(at, || {
        if let Some((from, len)) = waiting(comm, tag)? {
            received.push((from, receive(watch, comm, tag, from, len)?));
        }
        match &mut barrier {
            Some(barrier) => test(std::slice::from_mut(barrier), None),
            None if test(&mut sends, None)? => {
                // SAFETY: the communicator is the running world; the request is tested until it has ended.
                let joined = request("MPI_Ibarrier", |request| unsafe { ffi::MPI_Ibarrier(comm, request) })?;
                barrier = Some(joined);
                Ok(false)
            }
            None => Ok(false),
        }
    })?;
    drop(ManuallyDrop::into_inner(messages));
    // A stable sort: messages of one sender arrived in its order.
    received.sort_by_key(|&(from, _)| from);
    Ok(received)
}

/// Sender and length of a message that can be received, if there is one.
fn waiting(comm: ffi::MPI_Comm, tag: i32) -> Result<Option<(usize, usize)>> {
    let (Some(status), mut len) = (probe(comm, tag)?, 0) else { return Ok(None) };
    // SAFETY: the status was written by the probe that found a message.
    check("MPI_Get_count", unsafe { ffi::MPI_Get_count(&status, ffi::RSMPI_UINT64_T, &mut len) })?;
    // A length that is no number of u64 is negative.
    let len =
        usize::try_from(len).map_err(|_| Error::Mpi(format!("rank {} sent no list of u64", status.MPI_SOURCE)))?;
    Ok(Some((status.MPI_SOURCE as usize, len)))
}

/// Receives the message that a probe found.
fn receive(watch: &Watch, comm: ffi::MPI_Comm, tag: i32, from: usize, len: usize) -> Result<Vec<u64>> {
    // A failure leaks the buffer: MPI may still write it.
    let mut numbers = ManuallyDrop::new(try_zeroed::<u64>("received message", len)?);
    let start = numbers.as_mut_ptr().cast();
    // SAFETY: the buffer has `len` numbers, which fit into 32 bits since MPI counted them, and stays until the wait has ended.
    let mut receive = [request("MPI_Irecv", |request| unsafe {
        ffi::MPI_Irecv(start, len as i32, ffi::RSMPI_UINT64_T, from as i32, tag, comm, request)
    })?];
    watch.poll(|| format!("a message of rank {from}"), || test(&mut receive, None))?;
    Ok(ManuallyDrop::into_inner(numbers))
}
