//! Solutions by each preconditioner and method against those by plain CG and, with advection, GMRES.

use crate::Result;
use crate::comm::Solo;
use crate::run::deck::{Choice, Nodes, Preconditioning, ProblemKind, Solver};
use crate::run::strategies::difference;
use crate::run::{Deck, Job, Solution, silent, solution_on};

/// Relative residuals of Newton's method and of the linear solves.
const TOLERANCE: f64 = 1e-12;
/// Largest difference, relative to the largest value: some hundred times the tolerance.
pub(super) const BOUND: f64 = 1e-9;
/// Velocity whose problem each method solves within its limit.
const VELOCITY: [f64; 3] = [10.0, -5.0, 3.0];

/// Returns the names of the solvers, with the largest difference of each from the plain one.
pub(super) fn differences<S: Job>(space: &S, deck: &Deck) -> Result<Vec<(String, Result<f64>)>> {
    let mut deck = deck.clone();
    deck.mesh.nodes = Some(Nodes::new([17; 3])?);
    (deck.newton.tolerance, deck.cg.tolerance) = (Some(TOLERANCE), Some(TOLERANCE));
    let mut named = Vec::new();
    for solvers in [&[Solver::Cg][..], &[Solver::Gmres, Solver::BiCgStab]] {
        if solvers[0] != Solver::Cg {
            (deck.problem.kind, deck.problem.advection) = (ProblemKind::Poisson, VELOCITY);
        }
        let plain = field(space, &deck, solvers[0], Preconditioning::None);
        for &solver in solvers {
            for (preconditioner, name) in Preconditioning::ALL {
                let is_plain = solver == solvers[0] && preconditioner == Preconditioning::None;
                let is_shown = solver == Solver::Cg
                    || matches!(preconditioner, Preconditioning::None | Preconditioning::Multigrid);
                if is_shown && !is_plain {
                    let found = field(space, &deck, solver, preconditioner);
                    let found = plain.as_ref().map_err(Clone::clone).and_then(|plain| Ok(difference(&found?, plain)));
                    named.push((format!("{} by {} with {name}", deck.problem.kind, solver.title()), found));
                }
            }
        }
    }
    Ok(named)
}

/// The solution of one rank.
fn field<S: Job>(space: &S, deck: &Deck, solver: Solver, preconditioner: Preconditioning) -> Result<Vec<f64>> {
    let mut deck = deck.clone();
    deck.cg.solver = Choice::Given(solver);
    deck.cg.preconditioner = Choice::Given(preconditioner);
    let Solution { field, report, .. } = solution_on(space, &deck, &Solo, &silent)?.download(space)?;
    report.stopped.map_or(Ok(field), Err)
}
