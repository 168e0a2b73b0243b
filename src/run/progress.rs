//! Events of a run.

/// An event of a run. Every rank meets the same events; who shows them decides which rank does.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A phase begins ("mesh", "graph", "fill", ...).
    Phase(&'a str),
    /// Step (0-based) of Newton's method, and the residual before it.
    Newton(usize, f64),
    /// CG's iterations so far, and the residual after them.
    Cg(usize, f64),
    /// A fact to show once, such as a device that was not found.
    Notice(&'a str),
    /// The run is over: a line that is still open is to be closed.
    Done,
}

/// Receives the events of a run.
pub type Progress<'a> = dyn Fn(Event<'_>) + 'a;

/// Shows nothing.
pub fn silent(_: Event<'_>) {}
