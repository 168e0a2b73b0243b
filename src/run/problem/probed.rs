//! The diagonal of an operator that is known by its products only, probed with vectors of ones (Curtis, Powell and Reid 1974).
//!
//! ```text
//! v_j = 1 for unknowns j of a colour, 0 for the others         (A v)_i = sum_j a_ij v_j = a_ii     for i of the colour
//! ```
//! No entry joins two unknowns of a colour: nodes whose indices along each axis are equal modulo the degree of the elements + 1 share no
//! element, and a node's components have colours of their own. So trilinear elements take 8 products for each component, as many element
//! vectors as an element has nodes. Hosts and GPUs use the element kernels of the products, on any number of ranks.

use super::discrete::Discrete;
use crate::comm::agree;
use crate::run::Job;
use crate::space::{Array, MemorySpace, Slice};
use crate::sparse::Operator;
use crate::{LocalOrdinal, Result};

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
    agree(discrete.input.links.comm(), reciprocals_of(discrete, operator, inverse))
}

fn reciprocals_of<S: Job>(
    discrete: &Discrete<'_, S>,
    operator: &dyn Operator<S>,
    inverse: &mut Slice<S, f64>,
) -> Result<()> {
    let (space, mesh, dofs) = (discrete.space, discrete.input.mesh, discrete.case.model.dofs());
    let (rows, nodes, edge) = (operator.rows(), mesh.spec().nodes(), mesh.element.degree() as u64 + 1);
    let host = space.host()?;
    let colours = host.map(operator.columns() / dofs, |node| {
        let id = mesh.global_node(node as LocalOrdinal);
        let index = [id % nodes[0], id / nodes[0] % nodes[1], id / nodes[0] / nodes[1]].map(|index| index % edge);
        ((index[2] * edge + index[1]) * edge + index[0]) as u8
    })?;
    let mut x: Array<S, f64> = space.zeros(operator.columns())?;
    let [mut y, zero, mut found, mut all]: [Array<S, f64>; 4] =
        [space.zeros(rows)?, space.zeros(rows)?, space.zeros(rows)?, space.zeros(rows)?];
    let all_colours = 0..edge.pow(3) as u8;
    for (colour, component) in all_colours.flat_map(|colour| (0..dofs).map(move |component| (colour, component))) {
        let is_probed = |at: usize| colours[at / dofs] == colour && at % dofs == component;
        let ones = host.map(operator.columns(), |at| f64::from(u8::from(is_probed(at))))?;
        space.overwrite(&ones, &mut x)?;
        let [x, y, found] = [&mut x, &mut y, &mut found].map(S::Memory::slice_mut);
        operator.apply(space, x, y)?;
        // all += x y, item by item.
        let zero = S::Memory::slice(&zero);
        space.relax(rows, [0.0, -1.0], x, zero, Some(&*y), found, S::Memory::slice_mut(&mut all))?;
    }
    // As of a matrix: CG finds a diagonal that is not positive.
    let diagonal = space.download(&all)?;
    let made = space.upload(&host.map(rows, |row| diagonal[row].recip())?)?;
    space.copy(rows, S::Memory::slice(&made), inverse)
}
