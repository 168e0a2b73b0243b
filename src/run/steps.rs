//! Parts of the driver: failures of one rank, the order of sums, Newton's iteration, limits of waits.

use super::deck::with_flag;
use super::{Deck, Event, Job, Problem, Progress};
use crate::comm::{Communicator, Links, agree};
use crate::mesh::BoxPart;
use crate::solve::{self, NewtonInfo, NewtonParams, SolveInfo, Symmetry};
use crate::space::Slice;
use crate::{Error, Result};
use std::time::Duration;

/// How long a device waits for another rank where no limit is given: longer than any rank compiles its kernels.
const DEVICE_WAIT: Duration = Duration::from_secs(60);

/// How Newton's iteration went.
pub(super) struct Ended {
    pub info: NewtonInfo,
    /// The linear solve that ended it early.
    pub linear: Option<SolveInfo>,
    /// Why it ended early.
    pub stopped: Option<Error>,
    pub symmetry: Symmetry,
}

/// Solves F(x) = 0 from the given x, and measures the symmetry of the last Jacobian. All ranks meet an iteration that does not converge
/// together: what it reached is reported as any other result.
pub(super) fn newton<S: Job>(
    space: &S,
    deck: &Deck,
    links: &Links<'_, S>,
    problem: &mut Problem<'_, S>,
    x: &mut Slice<S, f64>,
    progress: &Progress<'_>,
) -> Result<Ended> {
    let comm = links.comm();
    // CG's solution of a linear problem has CG's tolerance, and is not solved for again.
    let linear = if deck.problem.kind.is_linear() { 2.0 * deck.cg_tolerance() } else { 0.0 };
    let max_iterations = match deck.problem.kind.is_linear() && deck.cg_iterations().is_some() {
        true => 1,
        false => deck.newton.max_iterations,
    };
    let tolerance = deck.newton_tolerance(deck.nodes(comm.size() as u64)?.edges());
    let params = NewtonParams {
        ends_at_limit: deck.cg_iterations().is_some(),
        // Full steps: histories are those of Newton's method itself.
        max_halvings: 0,
        is_inexact: deck.is_inexact(),
        ..NewtonParams::new(tolerance.max(linear), max_iterations)
    };
    let observe = &mut |step, norm| progress(Event::Newton(step, norm));
    let mut info = NewtonInfo::default();
    let end = solve::newton(space, links, problem, x, params, observe, &mut info);
    let alone = |error: Error| alone(error.in_stage("solve", here(comm)), comm);
    let stopped = match end {
        Err(error) if !error.is_collective() => return Err(alone(error)),
        end => agree(comm, Ok(end.err()))?,
    };
    let linear = stopped.is_some().then(|| problem.stopped()).flatten();
    progress(Event::Phase("verify"))?;
    let symmetry = problem.finish().map_err(alone)?;
    Ok(Ended { info, linear, stopped, symmetry })
}

/// This rank's share of the deck's box. All ranks call it together.
pub(super) fn share(deck: &Deck, comm: &dyn Communicator) -> Result<BoxPart> {
    let nodes = agree(comm, deck.nodes(comm.size() as u64))?;
    let spec = agree(comm, deck.spec(nodes))?;
    let part = BoxPart::new(&spec, comm.rank(), comm.size()).map_err(|error| match error {
        Error::TooLarge { what, needed, limit } => {
            Error::TooLarge { what: format!("mesh.nodes (--nodes): {what}"), needed, limit }
        }
        Error::Invalid(ref text) if text.starts_with("imbalance") => of_setting("mesh.imbalance", error),
        error => error,
    });
    agree(comm, part)
}

/// This rank for messages, where there are several.
pub(super) fn here(comm: &dyn Communicator) -> Option<usize> {
    (comm.size() > 1).then(|| comm.rank())
}

/// How long a device waits for another rank.
pub(super) fn wait_limit(deck: &Deck) -> Duration {
    deck.run.timeout.map_or(DEVICE_WAIT, Duration::from_secs_f64)
}

/// Names the setting from which an error of the library comes.
pub(super) fn of_setting(key: &str, error: Error) -> Error {
    match error {
        Error::Invalid(text) => Error::Invalid(format!("{}: {text}", with_flag(key))),
        Error::Device(text) => Error::Device(format!("{}: {text}", with_flag(key))),
        error => error,
    }
}

/// Lets the ranks add in a fixed order from now on. Everything else in a run has an order of its own already, but for the
/// strategy `scatter`, which the deck refuses.
pub(super) fn fix_order(comm: &dyn Communicator) -> Result<()> {
    comm.fix_order_of_sums();
    let why = "these ranks add in an order of their own; give a communicator that adds in rank order";
    let refused = || Error::Invalid(format!("{}: {why}", with_flag("run.deterministic")));
    agree(comm, comm.sums_in_rank_order().then_some(()).ok_or_else(refused))
}

/// Marks the error of a rank that leaves collective work, unless it is marked.
pub(super) fn alone(error: Error, comm: &dyn Communicator) -> Error {
    let is_marked = matches!(error, Error::Alone(_));
    if comm.size() == 1 || error.is_collective() || is_marked { error } else { Error::Alone(Box::new(error)) }
}
