//! A solution as files for VTK: the field, exact solution and error at the nodes, by [`Vtu`].
//!
//! The field is called `temperature`, `displacement` or `u`. Of miniFE's brick the field is written alone: its exact solution is a series,
//! which takes a millisecond per node.

use super::deck::ProblemKind;
use super::problem::Case;
use super::{Deck, Solution};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::comm::Communicator;
use crate::mesh::{Mesh, Sizes, VTU_HEAD, Vtu, VtuField};
use std::path::Path;

#[cfg(test)]
mod tests;

/// Returns the bytes of host memory while a rank composes its file: mesh, field, and the file.
pub(super) fn bytes(sizes: &Sizes, case: &Case) -> u64 {
    let (_, has_exact) = field_of(case.kind);
    let per_node = 24 + 8 * sizes.dofs * if has_exact { 3 } else { 1 };
    let file = VTU_HEAD + per_node * sizes.local() + (13 + 4 * sizes.nodes) * sizes.elems;
    let mesh = if sizes.is_generated() { Mesh::bytes(sizes) } else { Mesh::listed_bytes(sizes)[1] };
    mesh + 8 * sizes.columns() + file
}

/// Name of the field of a problem, and whether its exact solution is written, too.
fn field_of(kind: ProblemKind) -> (&'static str, bool) {
    match kind {
        ProblemKind::Heat => ("temperature", true),
        ProblemKind::Poisson | ProblemKind::Diffusion => ("u", true),
        ProblemKind::Elasticity => ("displacement", true),
        ProblemKind::Minife => ("u", false),
    }
}

impl Solution {
    /// Writes x.vtu, or one piece per rank and x.pvtu. All ranks call it together. `deck` is that of the run.
    ///
    /// # Errors
    /// [`Error::File`] where a file cannot be written, [`Error::OutOfMemory`] where it cannot be composed; the same on all ranks.
    pub fn write_vtu(&self, path: &Path, deck: &Deck, comm: &dyn Communicator) -> Result<()> {
        let Solution { mesh, field, .. } = self;
        let case = Case::new(deck, mesh.spec());
        let ((name, has_exact), components) = (field_of(case.kind), case.model.dofs());
        let exact = |node: usize| case.at(mesh.node_coord[node]);
        let error = |node: usize| {
            let exact = exact(node);
            std::array::from_fn(|c| if c < components { field[components * node + c] - exact[c] } else { 0.0 })
        };
        let fields = [
            VtuField::nodes(name, components, field),
            VtuField::function("exact", components, &exact),
            VtuField::function("error", components, &error),
        ];
        let vtu = Vtu {
            element: mesh.element,
            elem_node: &mesh.elem_node,
            node_coord: &mesh.node_coord,
            owned: mesh.map.owned_count(),
            fields: if has_exact { &fields } else { &fields[..1] },
        };
        vtu.write(path, comm)
    }
}
