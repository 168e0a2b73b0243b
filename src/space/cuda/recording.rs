//! A CUDA graph of a sequence of launches: recorded once and replayed.
//!
//! A replay costs one call of the driver however many kernels it holds. It repeats the addresses of the recorded launches, so
//! the arrays must be the same ones.

use super::array::CudaArray;
use super::error::{before, checked, made};
use super::stream::Stream;
use crate::{Error, Result};
use cudarc::driver::{result, sys};
use std::sync::Arc;

/// The state of [`repeat`](crate::space::ExecutionSpace::repeat): empty at first, a CUDA graph from the second call on.
#[derive(Debug, Default)]
pub struct Recording {
    runs: u64,
    graph: Option<Graph>,
}

#[derive(Debug)]
struct Graph {
    stream: Arc<Stream>,
    /// The counter of blocks that recorded reductions use; it has to live as long as the graph.
    _ticket: Arc<CudaArray<u32>>,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
}

// SAFETY: a recording is used through `&mut` only.
unsafe impl Send for Recording {}

impl Recording {
    /// Runs the work directly at the first call, which compiles its kernels; records it at the second call; replays it from
    /// then on.
    pub(super) fn run(
        &mut self,
        stream: &Arc<Stream>,
        ticket: &Arc<CudaArray<u32>>,
        mut work: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        self.runs += 1;
        if self.runs == 1 {
            return work();
        }
        if self.graph.is_none() {
            self.graph = Some(Graph::record(stream, ticket, &mut work)?);
        }
        let Some(Graph { executable, stream: recorded, .. }) = &self.graph else { return Ok(()) };
        // Reductions of two streams would count their blocks in one ticket.
        if !Arc::ptr_eq(recorded, stream) {
            return Err(Error::Invalid("repeat: a recording of another space: expected one of this stream".into()));
        }
        // SAFETY: `record` instantiated the graph; its arrays live while the recording is in use.
        checked(unsafe { result::graph::launch(*executable, stream.handle) }, "cuGraphLaunch")
    }
}

impl Graph {
    fn record(
        stream: &Arc<Stream>,
        ticket: &Arc<CudaArray<u32>>,
        work: &mut impl FnMut() -> Result<()>,
    ) -> Result<Self> {
        let relaxed = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream lives; the capture is ended whatever the work returns.
        unsafe {
            before("cuStreamBeginCapture")?;
            made(result::stream::begin_capture(stream.handle, relaxed), "cuStreamBeginCapture")?;
            let worked = work();
            let graph = made(result::stream::end_capture(stream.handle), "cuStreamEndCapture");
            let destroyed = |graph| {
                let _ = result::graph::destroy(graph);
            };
            // Work that failed leaves a graph of its first launches, or none.
            if let Err(error) = worked.and_then(|()| before("cuGraphInstantiate")) {
                graph.map(destroyed).ok();
                return Err(error);
            }
            let graph = graph?;
            let executable = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let executable = made(executable, "cuGraphInstantiate").inspect_err(|_| destroyed(graph))?;
            Ok(Graph { stream: stream.clone(), _ticket: ticket.clone(), graph, executable })
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.stream.device.bind().is_ok() {
            // SAFETY: `record` made both; the driver keeps a running graph until it is done.
            unsafe {
                let _ = result::graph::exec_destroy(self.executable);
                let _ = result::graph::destroy(self.graph);
            }
        }
    }
}
