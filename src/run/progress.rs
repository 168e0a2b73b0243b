//! Receives progress while the job runs.

/// Receives the events of a run. Every method has an empty body, so an implementation takes what it wants.
///
/// The library calls it on every rank with the same events; who prints decides which rank does.
pub trait Progress {
    /// A phase begins ("mesh", "graph", "fill", ...).
    fn phase(&self, _name: &str) {}

    /// Newton's residual before step `step` (0-based).
    fn newton(&self, _step: usize, _residual: f64) {}

    /// CG's residual after `iteration` iterations.
    fn cg(&self, _iteration: usize, _residual: f64) {}

    /// Something to know once, such as a device that was looked for and not found: for people and for logs.
    fn notice(&self, _text: &str) {}

    /// The run is over: a line that is still open is to be closed.
    fn done(&self) {}
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
