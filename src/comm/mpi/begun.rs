//! A sum over the ranks that is under way while the caller computes.
//!
//! MPI reads and writes the buffers until the sum is complete. They are allocated at the first sum and never freed, so that a
//! failure between start and end leaves MPI nothing that is gone: 128 bytes in a process.

use super::watch::Watch;
use mpi::ffi;
use std::cell::{Cell, OnceCell};

/// Most values of a sum.
const MOST: usize = 8;

/// At most one sum under way.
#[derive(Default)]
pub(super) struct Begun {
    /// Values sent, then their sums.
    buffers: OnceCell<*mut [[f64; MOST]; 2]>,
    request: Cell<Option<ffi::MPI_Request>>,
}

impl Begun {
    /// Starts the sum of up to 8 values over the ranks of `comm`; of more, nothing. A failure ends all ranks.
    pub(super) fn start(&self, watch: &Watch, comm: ffi::MPI_Comm, values: &[f64]) {
        // One that nobody ended, after a failure.
        self.finish(watch, &mut []);
        if values.len() > MOST {
            return;
        }
        let buffers = *self.buffers.get_or_init(|| Box::leak(Box::new([[0.0; MOST]; 2])));
        // SAFETY: the buffers are never freed, and MPI uses them only during a request; no request is active here.
        let [sent, sums] = unsafe { &mut *buffers };
        sent[..values.len()].copy_from_slice(values);
        let (from, to, count) = (sent.as_ptr().cast(), sums.as_mut_ptr().cast(), values.len() as i32);
        // SAFETY: both buffers have room for `count` values, and nobody touches them before `finish` has waited.
        let request = watch.begin("all-reduce", |request| unsafe {
            ffi::MPI_Iallreduce(from, to, count, ffi::RSMPI_DOUBLE, ffi::RSMPI_SUM, comm, request)
        });
        self.request.set(Some(request));
    }

    /// Waits for the sum and stores it; returns false if none is under way. A failure ends all ranks.
    pub(super) fn finish(&self, watch: &Watch, values: &mut [f64]) -> bool {
        let (Some(request), Some(&buffers)) = (self.request.take(), self.buffers.get()) else { return false };
        watch.finish("all-reduce", request);
        // SAFETY: the request is complete, so MPI does not use the buffers any more.
        let [_, sums] = unsafe { &*buffers };
        values.copy_from_slice(&sums[..values.len()]);
        true
    }
}
