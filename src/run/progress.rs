//! Events of a run.

use crate::Result;

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

/// Receives the events of a run. An error ends the run, which returns it: [`Error::Interrupted`](crate::Error::Interrupted) says that
/// the caller asked for it. Among several ranks it is [`Error::Alone`](crate::Error::Alone), and the caller ends the others.
pub type Progress<'a> = dyn Fn(Event<'_>) -> Result<()> + 'a;

/// Shows nothing.
pub fn silent(_: Event<'_>) -> Result<()> {
    Ok(())
}
