//! Does the coordinate map keep every element right side out?

use super::Mesh;
use crate::error::check_length;
use crate::space::HostSpace;
use crate::{Error, Result};
use rayon::prelude::*;

/// Refuses a mesh with an element whose Jacobian determinant is not positive at one of its 8 integration points.
///
/// `determinants` gives the determinants at the 2x2x2 Gauss points of a hexahedron with the given corners. The element
/// named is the lowest of this rank (so does not depend on the space), by its global id.
///
/// # Errors
/// [`Error::Folded`]; [`Error::Shape`] for a mesh of other elements.
pub fn check_folding<S: HostSpace>(
    space: &S,
    mesh: &Mesh,
    determinants: impl Fn([[f64; 3]; 8]) -> [f64; 8] + Send + Sync,
) -> Result<()> {
    check_length("check_folding", "elem_node", mesh.elem_node.nodes_per_elem(), 8)?;
    let mut folded = vec![None; S::partials(mesh.elem_count())];
    let pieces = folded.par_iter_mut().zip(mesh.elem_node.as_slice().par_chunks(8 * S::CHUNK)).enumerate();
    space.for_each(pieces, |(piece, (folded, table))| {
        *folded = table.as_chunks::<8>().0.iter().enumerate().find_map(|(i, nodes)| {
            let all = determinants(nodes.map(|node| mesh.node_coord[node as usize]));
            // A NaN is not positive either.
            let point = all.iter().position(|&determinant| determinant.is_nan() || determinant <= 0.0)?;
            Some((piece * S::CHUNK + i, point, all[point]))
        });
    });
    match folded.into_iter().flatten().next() {
        None => Ok(()),
        Some((elem, point, determinant)) => Err(Error::Folded { element: mesh.global_elem(elem), point, determinant }),
    }
}
