//! Streams, their state, and events.

use super::device::Device;
use super::error::OrDevice;
use crate::{Error, Result};
use cudarc::driver::{result, sys};
use std::sync::Arc;
use std::time::Duration;

/// A queue of work on a device, in order.
#[derive(Debug)]
pub(super) struct Stream {
    pub device: Arc<Device>,
    pub handle: sys::CUstream,
    owned: bool,
}

// SAFETY: a stream may be used from any thread; the driver locks it.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

/// Where a stream's work stands, asked without waiting.
#[derive(Debug)]
pub enum Status {
    /// All work given so far is done.
    Completed,
    /// Some is still to do.
    NotCompleted,
    /// A kernel or copy failed, with what the driver says.
    Errored(Error),
}

impl Stream {
    pub fn new(device: Arc<Device>) -> Result<Self> {
        device.bind()?;
        let handle = result::stream::create(result::stream::StreamKind::NonBlocking).or_device("cuStreamCreate")?;
        Ok(Stream { device, handle, owned: true })
    }

    /// A stream that someone else made and will destroy.
    pub fn foreign(device: Arc<Device>, handle: sys::CUstream) -> Self {
        Stream { device, handle, owned: false }
    }

    pub fn fence(&self) -> Result<()> {
        self.device.bind()?;
        // SAFETY: the stream lives.
        unsafe { result::stream::synchronize(self.handle) }.or_device("kernels on the GPU")
    }

    pub fn status(&self) -> Status {
        if let Err(error) = self.device.bind() {
            return Status::Errored(error);
        }
        // SAFETY: the stream lives.
        match unsafe { sys::cuStreamQuery(self.handle) } {
            sys::CUresult::CUDA_SUCCESS => Status::Completed,
            sys::CUresult::CUDA_ERROR_NOT_READY => Status::NotCompleted,
            other => match other.or_device("kernels on the GPU") {
                Ok(()) => Status::Completed,
                Err(error) => Status::Errored(error),
            },
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned && self.device.bind().is_ok() {
            // SAFETY: made by `new`; the driver ends the queued work first.
            let _ = unsafe { result::stream::destroy(self.handle) };
        }
    }
}

/// A mark in a stream, with the time at which it was passed.
#[derive(Debug)]
pub struct Event {
    device: Arc<Device>,
    pub(super) handle: sys::CUevent,
}

// SAFETY: an event may be used from any thread; the driver locks it.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        device.bind()?;
        let handle = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).or_device("cuEventCreate")?;
        Ok(Event { device: device.clone(), handle })
    }

    pub(super) fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both live.
        unsafe { result::event::record(self.handle, stream.handle) }.or_device("cuEventRecord")
    }

    /// Whether the stream has passed the mark; does not wait.
    ///
    /// # Errors
    /// [`Error::Device`] when the work before it failed.
    pub fn is_passed(&self) -> Result<bool> {
        self.device.bind()?;
        // SAFETY: the event lives.
        match unsafe { sys::cuEventQuery(self.handle) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => other.or_device("kernels on the GPU").map(|()| true),
        }
    }

    /// Waits until the stream has passed the mark.
    ///
    /// # Errors
    /// [`Error::Device`] when the work before it failed.
    pub fn wait(&self) -> Result<()> {
        self.device.bind()?;
        // SAFETY: the event lives.
        unsafe { result::event::synchronize(self.handle) }.or_device("kernels on the GPU")
    }

    /// Time from an earlier mark to this one; waits for both.
    ///
    /// # Errors
    /// [`Error::Device`] when one was never recorded.
    pub fn since(&self, earlier: &Event) -> Result<Duration> {
        self.wait()?;
        // SAFETY: both live.
        let milliseconds = unsafe { result::event::elapsed(earlier.handle, self.handle) };
        Ok(Duration::from_secs_f64(f64::from(milliseconds.or_device("cuEventElapsedTime")?) * 1e-3))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: made by `new`.
            let _ = unsafe { result::event::destroy(self.handle) };
        }
    }
}
