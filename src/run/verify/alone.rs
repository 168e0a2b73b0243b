//! The problem of a deck on one rank, without a run.

use crate::comm::{Links, Solo};
use crate::mesh::Mesh;
use crate::run::meshes::made;
use crate::run::steps::share;
use crate::run::{Deck, Job, Phases, Problem, ProblemInput, silent};
use crate::{Result, graph};

/// Calls `work` with the problem of a deck on one rank, and with its mesh.
pub(super) fn on_one_rank<S: Job, R>(
    space: &S,
    deck: &Deck,
    work: impl FnOnce(&mut Problem<'_, S>, &Mesh<S::Memory>) -> Result<R>,
) -> Result<R> {
    let mesh = &made(space, &Solo, deck.mesh.element, share(deck, &Solo)?)?;
    deck.check()?;
    let graph = || {
        let nodes = graph::build(space, &mesh.elem_node, mesh.map.owned_count(), deck.graph.strategy.or_default())?;
        space.dof_graph(nodes, deck.problem.kind.dofs())
    };
    let graph = deck.has_matrix().then(graph).transpose()?;
    let (phases, links) = (Phases::default(), &Links::staged(&Solo));
    let input = ProblemInput { deck, links, mesh, coarse: &[], phases: &phases, progress: &silent };
    work(&mut Problem::new(space, input, graph)?, mesh)
}
