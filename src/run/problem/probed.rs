//! The diagonal of an operator that is known by its products only, probed with vectors of ones (Curtis, Powell and Reid 1974).
//!
//! ```text
//! v_j = 1 for unknowns j of a colour, 0 for the others         (A v)_i = sum_j a_ij v_j = a_ii     for i of the colour
//! ```
//! No entry joins two unknowns of a colour: nodes whose indices along each axis are equal modulo the degree of the elements + 1 share no
//! element, and a node's components have colours of their own. So trilinear elements take 8 products for each component, as many element
//! vectors as an element has nodes. Hosts and GPUs use the element kernels of the products, on any number of ranks.

use super::discrete::Discrete;
use crate::Result;
use crate::comm::agree;
use crate::mesh::{IndexBox, Stencil};
use crate::run::Job;
use crate::space::{Array, MemorySpace, Slice};
use crate::sparse::Operator;

/// Overwrites the first items of `inverse` with the reciprocals of the diagonal of this rank's operator, 1 at fixed unknowns. All ranks call
/// it together.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory); a device's failure.
pub(super) fn inverse_diagonal<S: Job>(
    discrete: &Discrete<'_, S>,
    operator: &dyn Operator<S>,
    inverse: &mut Slice<S, f64>,
) -> Result<()> {
    let (space, mesh, dofs) = (discrete.space, discrete.input.mesh, discrete.case.model.dofs());
    let (links, rows, columns) = (discrete.input.links, operator.rows(), operator.columns());
    let (nodes, edge) = (mesh.spec().nodes(), mesh.element.degree() as u64 + 1);
    let vectors = || {
        let x: Array<S, f64> = space.zeros(columns)?;
        let [y, found, zero]: [Array<S, f64>; 3] = [space.zeros(rows)?, space.zeros(rows)?, space.zeros(rows)?];
        let ones = (0..dofs).map(|component| ones(space, [columns, dofs, component])).collect::<Result<Vec<_>>>()?;
        Ok((x, ones, y, found, zero))
    };
    let cleared = space.fill(rows, 0.0, inverse).and_then(|()| vectors());
    let (mut x, mut ones, mut y, mut found, zero) = agree(links.comm(), cleared)?;
    let mut halo = agree(links.comm(), links.halo(space, discrete.map()))?;
    let [x, y, found] = [&mut x, &mut y, &mut found].map(S::Memory::slice_mut);
    for colour in IndexBox::whole([edge; 3]).iter() {
        let stencils = [0, 1, 2].map(|axis| Stencil::every(nodes[axis], edge, colour[axis]));
        let (kept, _) = agree(links.comm(), space.grid_matrix(None, [mesh, mesh], &stencils, dofs))?;
        for ones in &mut ones {
            agree(links.comm(), kept.apply(space, S::Memory::slice_mut(ones), x))?;
            halo.update(space, x)?;
            // inverse += x y, item by item.
            let zero = S::Memory::slice(&zero);
            let applied = operator.apply(space, x, y);
            let added = applied.and_then(|()| space.relax(rows, [0.0, -1.0], x, zero, Some(&*y), found, inverse));
            agree(links.comm(), added)?;
        }
    }
    // As of a matrix: CG finds a diagonal that is not positive.
    agree(links.comm(), space.reciprocals(rows, inverse))
}

/// Ones at a component of interleaved unknowns, zeros at the others.
fn ones<S: Job>(space: &S, [count, dofs, component]: [usize; 3]) -> Result<Array<S, f64>> {
    if dofs > 1 {
        let ones = space.host()?.map(count, |at| f64::from(u8::from(at % dofs == component)))?;
        return space.upload(&ones);
    }
    let mut ones: Array<S, f64> = space.zeros(count)?;
    space.fill(count, 1.0, S::Memory::slice_mut(&mut ones))?;
    Ok(ones)
}
