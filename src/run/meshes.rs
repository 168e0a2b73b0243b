//! The meshes of a run: that of its box, and those of the coarser boxes of a multigrid preconditioner, which `fast` takes by size.

use super::deck::{Choice, Preconditioning, Preset, with_flag};
use super::judged::on_host;
use super::problem::Case;
use super::steps::here;
use super::{Deck, Job};
use crate::comm::{Communicator, agree};
use crate::element::ElementType;
use crate::mesh::{BoxPart, BoxParts, BoxSpec, CoordinateMap, Mesh};
use crate::solve::MOST_INVERTED;
use crate::{Error, Result, fill};

/// Makes this rank's mesh: that of trilinear hexahedra in the memory of the space, any other on the host. All ranks call it together.
pub(super) fn made<S: Job>(
    space: &S,
    comm: &dyn Communicator,
    element: ElementType,
    part: BoxPart,
) -> Result<Mesh<S::Memory>> {
    let map = part.spec().map();
    let mesh = if element == ElementType::Hex8 {
        space.generate_mesh(part).and_then(|mesh| {
            space.check_inside(&mesh)?;
            space.check_folding(&mesh).map(|()| mesh)
        })
    } else {
        let mesh = Mesh::of_elements(comm, element, &part)?;
        let checked = space.host().and_then(|host| fill::check_elements(&host, on_host(&mesh)));
        checked.and_then(|()| space.take_mesh(mesh))
    };
    let mesh = mesh.and_then(|mesh| space.fence().map(|()| mesh));
    let mesh = mesh.map_err(|error| match error {
        // A box without a map neither folds nor leaves its bounds.
        error @ (Error::Invalid(_) | Error::Folded { .. }) if map != CoordinateMap::None => {
            Error::Invalid(format!("{}: {error}", with_flag("mesh.map")))
        }
        error => error.in_stage("mesh", here(comm)),
    });
    agree(comm, mesh)
}

/// Most nodes of a box that is not coarsened any more.
const FEW: u64 = 300;

/// Returns the coarser boxes of a multigrid preconditioner with their elements, finest first, as long as each rank owns nodes of them.
pub(super) fn coarse_boxes(deck: &Deck, fine: &BoxSpec, ranks: usize) -> Vec<(BoxSpec, ElementType)> {
    let (mut boxes, mut spec, mut element) = (Vec::new(), *fine, deck.mesh.element);
    while deck.preconditioning() == Preconditioning::Multigrid && spec.node_count() > FEW {
        let Some(coarser) = spec.coarsened(element.degree()) else { break };
        if BoxParts::new(&coarser, ranks).is_err() {
            break;
        }
        (spec, element) = (coarser, element.of_degree_one());
        boxes.push((spec, element));
    }
    boxes
}

/// Unknowns above which preset `fast` preconditions, and above which by multigrid, on a host and on a GPU. Below, a host solves in
/// milliseconds and a GPU in one launch; the levels of a GPU cost more than they save at 80^3 nodes, and less at 96^3
/// (docs/results/2026-11-25-h100.md).
const MANY: [[u64; 2]; 2] = [[1 << 16; 2], [1 << 17, 3 << 18]];

/// Returns the deck with the preconditioner of preset `fast` in place of `auto`: multigrid for many unknowns, unless the ranks leave too
/// many of them to the last level or advection prevails; then Jacobi's. Depends on what all ranks know.
pub(super) fn preconditioned<S: Job>(deck: &Deck, spec: &BoxSpec, ranks: usize) -> Deck {
    let [some, many] = MANY[usize::from(!S::SYNCHRONOUS)];
    let dofs = deck.problem.kind.dofs() as u64;
    let (unknowns, mut deck) = (dofs * spec.node_count(), deck.clone());
    let is_auto = deck.cg.preconditioner == Choice::Auto && deck.run.preset == Preset::Fast;
    if !is_auto || !deck.has_matrix() || deck.cg_iterations().is_some() || unknowns <= some {
        return deck;
    }
    deck.cg.preconditioner = Choice::Given(Preconditioning::Multigrid);
    let last = coarse_boxes(&deck, spec, ranks).last().map(|(spec, _)| dofs * spec.node_count());
    // The coarse boxes leave advection out.
    let prevails = Case::new(&deck, spec).advection_ratio(&deck, spec) > 2.0;
    if prevails || unknowns <= many || last.is_none_or(|unknowns| unknowns > MOST_INVERTED as u64) {
        deck.cg.preconditioner = Choice::Given(Preconditioning::Jacobi);
    }
    deck
}

/// Makes the meshes of the coarser boxes, finest first. All ranks call it together.
///
/// # Errors
/// Those of the meshes.
pub(super) fn coarse_meshes<S: Job>(
    space: &S,
    deck: &Deck,
    comm: &dyn Communicator,
    fine: &Mesh<S::Memory>,
) -> Result<Vec<Mesh<S::Memory>>> {
    let boxes = coarse_boxes(deck, fine.spec(), comm.size()).into_iter();
    let mesh =
        |(spec, element)| made(space, comm, element, agree(comm, BoxPart::new(&spec, comm.rank(), comm.size()))?);
    boxes.map(mesh).collect()
}
