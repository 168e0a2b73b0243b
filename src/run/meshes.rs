//! The meshes of a run: that of its box, and those of coarser boxes for a multigrid preconditioner.

use super::deck::Preconditioning;
use super::judged::on_host;
use super::steps::here;
use super::{Deck, Job};
use crate::Result;
use crate::comm::{Communicator, agree};
use crate::element::ElementType;
use crate::mesh::{BoxPart, Mesh};

/// Nodes of a box that is not coarsened any more.
const FEW: u64 = 300;
/// Makes this rank's mesh: that of trilinear hexahedra in the memory of the space, any other on the host. All ranks call it together.
pub(super) fn made<S: Job>(
    space: &S,
    comm: &dyn Communicator,
    element: ElementType,
    part: BoxPart,
) -> Result<Mesh<S::Memory>> {
    let mesh = if element == ElementType::Hex8 {
        space.generate_mesh(part).and_then(|mesh| {
            space.check_inside(&mesh)?;
            space.check_folding(&mesh).map(|()| mesh)
        })
    } else {
        let mesh = Mesh::of_elements(comm, element, &part)?;
        space.check_elements(on_host(&mesh)).and_then(|()| space.take_mesh(mesh))
    };
    let mesh = mesh.and_then(|mesh| space.fence().map(|()| mesh));
    agree(comm, mesh.map_err(|error| error.in_stage("mesh", here(comm))))
}

/// Makes the meshes of the coarser boxes, finest first, as long as each rank owns nodes of them. All ranks call it together.
///
/// # Errors
/// Those of the meshes.
pub(super) fn coarse_meshes<S: Job>(
    space: &S,
    deck: &Deck,
    comm: &dyn Communicator,
    fine: &Mesh<S::Memory>,
) -> Result<Vec<Mesh<S::Memory>>> {
    let (mut meshes, mut spec, mut element) = (Vec::new(), *fine.spec(), fine.element);
    while deck.preconditioning() == Preconditioning::Multigrid && spec.node_count() > FEW {
        let Some(coarser) = spec.coarsened(element.degree()) else { break };
        let Ok(part) = BoxPart::new(&coarser, comm.rank(), comm.size()) else { break };
        (spec, element) = (coarser, element.of_degree_one());
        meshes.push(made(space, comm, element, part)?);
    }
    Ok(meshes)
}
