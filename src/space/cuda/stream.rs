//! Streams, their status, and events.

use super::device::Device;
use super::error::{before, checked, made};
use crate::Result;
use cudarc::driver::{result, sys};
use std::sync::Arc;
use std::time::Duration;

/// A queue of work on a device, executed in order.
#[derive(Debug)]
pub(super) struct Stream {
    pub device: Arc<Device>,
    pub handle: sys::CUstream,
}

// SAFETY: any thread may use a stream; the driver synchronises the calls.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream that is destroyed with this value. It does not wait for the default stream.
    pub fn new(device: Arc<Device>) -> Result<Self> {
        device.bind()?;
        before("cuStreamCreate")?;
        let handle = made(result::stream::create(result::stream::StreamKind::NonBlocking), "cuStreamCreate")?;
        Ok(Stream { device, handle })
    }

    /// Returns the default stream of a GPU.
    pub fn default_of(device: Arc<Device>) -> Self {
        Stream { device, handle: std::ptr::null_mut() }
    }

    /// As [`new`](Self::new), with the highest priority.
    pub fn urgent(device: Arc<Device>) -> Result<Self> {
        device.bind()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: writes two numbers.
        let done = unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest).result() };
        checked(done, "cuCtxGetStreamPriorityRange")?;
        before("cuStreamCreateWithPriority")?;
        let handle = result::stream::create_with_priority(result::stream::StreamKind::NonBlocking, greatest);
        Ok(Stream { device, handle: made(handle, "cuStreamCreateWithPriority")? })
    }

    /// Returns whether all enqueued work is done, without waiting.
    pub fn is_done(&self) -> Result<bool> {
        self.device.bind()?;
        // SAFETY: the stream lives.
        has_passed(unsafe { sys::cuStreamQuery(self.handle) })
    }

    /// Returns whether work is recorded in place of being run.
    pub fn is_capturing(&self) -> Result<bool> {
        self.device.bind()?;
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream lives; the status is written during the call.
        checked(unsafe { sys::cuStreamIsCapturing(self.handle, &mut status).result() }, "cuStreamIsCapturing")?;
        Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Waits until all enqueued work is done.
    pub fn fence(&self) -> Result<()> {
        self.device.bind()?;
        // SAFETY: the stream lives.
        checked(unsafe { result::stream::synchronize(self.handle) }, "kernels on the GPU")
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The default stream is the driver's.
        if !self.handle.is_null() && self.device.bind().is_ok() {
            // SAFETY: `new` made it; the driver completes the enqueued work first.
            let _ = unsafe { result::stream::destroy(self.handle) };
        }
    }
}

/// Returns whether the work that a query asks for is done.
fn has_passed(query: sys::CUresult) -> Result<bool> {
    match query {
        sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        other => checked(other.result(), "kernels on the GPU").map(|()| true),
    }
}

/// A mark in a stream, with the time at which the stream passed it.
#[derive(Debug)]
pub struct Event {
    device: Arc<Device>,
    pub(super) handle: sys::CUevent,
}

// SAFETY: any thread may use an event; the driver synchronises the calls.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        device.bind()?;
        before("cuEventCreate")?;
        let handle = made(result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT), "cuEventCreate")?;
        Ok(Event { device: device.clone(), handle })
    }

    pub(super) fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both live.
        checked(unsafe { result::event::record(self.handle, stream.handle) }, "cuEventRecord")
    }

    /// Returns whether the stream has passed the mark, without waiting.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if work before the mark failed.
    pub fn is_passed(&self) -> Result<bool> {
        self.device.bind()?;
        // SAFETY: the event lives.
        has_passed(unsafe { sys::cuEventQuery(self.handle) })
    }

    /// Waits until the stream has passed the mark.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if work before the mark failed.
    pub fn wait(&self) -> Result<()> {
        self.device.bind()?;
        // SAFETY: the event lives.
        checked(unsafe { result::event::synchronize(self.handle) }, "kernels on the GPU")
    }

    /// Returns the time from an earlier mark to this one, for which it waits.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if work before this mark failed, or if the earlier one was never recorded or passed.
    pub fn since(&self, earlier: &Event) -> Result<Duration> {
        self.wait()?;
        // SAFETY: both live.
        let milliseconds = unsafe { result::event::elapsed(earlier.handle, self.handle) };
        Ok(Duration::from_secs_f64(f64::from(checked(milliseconds, "cuEventElapsedTime")?) * 1e-3))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: `new` made it.
            let _ = unsafe { result::event::destroy(self.handle) };
        }
    }
}
