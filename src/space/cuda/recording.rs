//! A sequence of launches, recorded once as a CUDA graph and replayed.

use super::Cuda;
use super::error::OrDevice;
use crate::Result;
use cudarc::driver::{result, sys};

/// What [`repeat`](crate::space::ExecutionSpace::repeat) remembers: nothing at first, a graph from the second time on.
#[derive(Debug, Default)]
pub struct Recording {
    runs: u64,
    graph: Option<Graph>,
}

#[derive(Debug)]
struct Graph {
    space: Cuda,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
}

// SAFETY: used through `&mut` only.
unsafe impl Send for Recording {}

impl Recording {
    /// Runs the work directly at first (which compiles what has to be), records it the second time, replays it after.
    pub(super) fn run(&mut self, space: &Cuda, mut work: impl FnMut() -> Result<()>) -> Result<()> {
        self.runs += 1;
        if self.runs == 1 {
            return work();
        }
        if self.graph.is_none() {
            self.graph = Some(Graph::record(space, &mut work)?);
        }
        let Some(Graph { executable, .. }) = &self.graph else { return Ok(()) };
        // SAFETY: the graph was instantiated by `record`; its arrays live while the recording is in use.
        unsafe { result::graph::launch(*executable, space.stream.handle) }.or_device("cuGraphLaunch")
    }
}

impl Graph {
    fn record(space: &Cuda, work: &mut impl FnMut() -> Result<()>) -> Result<Self> {
        let stream = space.stream.handle;
        let relaxed = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream lives; a capture that was begun is ended whatever the work returns.
        unsafe {
            result::stream::begin_capture(stream, relaxed).or_device("cuStreamBeginCapture")?;
            let worked = work();
            let graph = result::stream::end_capture(stream).or_device("cuStreamEndCapture");
            worked?;
            let graph = graph?;
            let executable = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let executable = executable.or_device("cuGraphInstantiate").inspect_err(|_| {
                let _ = result::graph::destroy(graph);
            })?;
            Ok(Graph { space: space.clone(), graph, executable })
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.space.device().bind().is_ok() {
            // SAFETY: made by `record`; the driver keeps what still runs until it is done.
            unsafe {
                let _ = result::graph::exec_destroy(self.executable);
                let _ = result::graph::destroy(self.graph);
            }
        }
    }
}
