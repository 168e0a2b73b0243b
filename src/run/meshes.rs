//! The meshes of a run: that of its box, and those of the coarser boxes of a multigrid preconditioner, which `fast` takes by size.

use super::deck::{Choice, Preconditioning, Preset, with_flag};
use super::judged::on_host;
use super::problem::Case;
use super::steps::here;
use super::{Deck, Job};
use crate::comm::{Communicator, Solo, agree};
use crate::element::ElementType;
use crate::mesh::{BoxPart, BoxParts, BoxSpec, CoordinateMap, Mesh};
use crate::solve::{MOST_INVERTED, gathers};
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

/// Most unknowns of a replicated box that is too small to be cut for all ranks.
const MOST_REPLICATED: u64 = 16384;

/// A coarser box of a multigrid preconditioner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CoarseBox {
    pub spec: BoxSpec,
    pub element: ElementType,
    /// Ranks that share the box; 1 where each has all of it.
    pub ranks: usize,
}

/// Returns the coarser boxes of a multigrid preconditioner, finest first. The ranks share them as long as they are large and each rank owns
/// nodes. Each rank stores a full copy of a coarser one, so that the last box does not depend on the number of ranks. Coarsening stops before
/// a box whose nodes are all fixed, and before one with more than [`MOST_REPLICATED`] unknowns and too few nodes along an edge for the ranks.
pub(super) fn coarse_boxes(deck: &Deck, fine: &BoxSpec, mut ranks: usize) -> Vec<CoarseBox> {
    let (mut boxes, mut spec, mut element) = (Vec::new(), *fine, deck.mesh.element);
    let dofs = deck.problem.kind.dofs() as u64;
    while deck.preconditioning() == Preconditioning::Multigrid && spec.node_count() > FEW {
        let Some(coarser) = spec.coarsened(element.degree()).filter(|spec| has_free_nodes(deck, spec)) else { break };
        (spec, element) = (coarser, element.of_degree_one());
        let unknowns = dofs * spec.node_count();
        let has_parts = BoxParts::new(&spec, ranks).is_ok();
        if !has_parts && unknowns > MOST_REPLICATED {
            break;
        }
        if !has_parts || gathers(unknowns, ranks) {
            ranks = 1;
        }
        boxes.push(CoarseBox { spec, element, ranks });
    }
    boxes
}

fn has_free_nodes(deck: &Deck, spec: &BoxSpec) -> bool {
    let mut free = spec.nodes();
    for &face in Case::new(deck, spec).fixed_faces() {
        let along = &mut free[(face as u8).trailing_zeros() as usize / 2];
        *along = along.saturating_sub(1);
    }
    free.iter().all(|&nodes| nodes > 0)
}

/// Unknowns above which preset `fast` preconditions, and above which by multigrid, on a host and on a GPU. Below, a host solves in
/// milliseconds and a GPU in one launch; the levels of a GPU cost more than they save at 80^3 nodes, and less at 96^3
/// (docs/results/2026-11-25-h100.md).
const MANY: [[u64; 2]; 2] = [[1 << 16; 2], [1 << 17, 3 << 18]];

/// Returns the deck with the preconditioner of preset `fast` in place of `auto`: multigrid for many unknowns, unless advection prevails or
/// coarsening ends with a large box; then Jacobi's, without a matrix none. Depends on what all ranks know.
///
/// # Errors
/// [`Error::Invalid`] for a given multigrid whose coarsening ends with a large box.
pub(super) fn preconditioned<S: Job>(deck: &Deck, spec: &BoxSpec, ranks: usize) -> Result<Deck> {
    let [some, many] = MANY[usize::from(!S::SYNCHRONOUS)];
    let dofs = deck.problem.kind.dofs() as u64;
    let (unknowns, mut deck) = (dofs * spec.node_count(), deck.clone());
    let last = |deck: &Deck| coarse_boxes(deck, spec, ranks).last().map(|last| dofs * last.spec.node_count());
    let is_large = |&unknowns: &u64| unknowns > MOST_INVERTED as u64;
    let is_auto = deck.cg.preconditioner == Choice::Auto && deck.run.preset == Preset::Fast;
    // Jacobi's is for stored matrices: a diagonal that is probed costs some products.
    let least = if deck.has_matrix() { some } else { many };
    if !is_auto || deck.cg_iterations().is_some() || unknowns <= least {
        return match last(&deck).filter(is_large) {
            None => Ok(deck),
            Some(left) => Err(Error::Invalid(format!(
                "{}: mg: coarsening ends with {left} unknowns, of which at most {MOST_INVERTED} can be inverted; choose another \
                 preconditioner or, of many, fewer ranks",
                with_flag("cg.preconditioner")
            ))),
        };
    }
    deck.cg.preconditioner = Choice::Given(Preconditioning::Multigrid);
    // The coarse boxes leave advection out.
    let prevails = Case::new(&deck, spec).advection_ratio(&deck, spec) > 2.0;
    if prevails || last(&deck).is_none_or(|left| is_large(&left)) || unknowns <= many {
        deck.cg.preconditioner = if deck.has_matrix() { Choice::Given(Preconditioning::Jacobi) } else { Choice::Auto };
    }
    Ok(deck)
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
    let mesh = |CoarseBox { spec, element, ranks }| {
        let sharing: &dyn Communicator = if ranks == 1 { &Solo } else { comm };
        let part = agree(comm, BoxPart::new(&spec, sharing.rank(), sharing.size()))?;
        agree(comm, made(space, sharing, element, part))
    };
    boxes.map(mesh).collect()
}
