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

/// Longest of this rank's element edges: between corners that are neighbours around the bottom, around the top, and up.
///
/// # Errors
/// [`Error::Shape`] for a mesh of other elements than hexahedra of 8 nodes.
pub fn longest_edge<S: HostSpace>(space: &S, mesh: &Mesh) -> Result<f64> {
    const EDGES: [[usize; 2]; 12] =
        [[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]];
    check_length("longest_edge", "elem_node", mesh.elem_node.nodes_per_elem(), 8)?;
    let mut longest = vec![0.0f64; S::partials(mesh.elem_count())];
    let pieces = longest.par_iter_mut().zip(mesh.elem_node.as_slice().par_chunks(8 * S::CHUNK));
    space.for_each(pieces, |(longest, table)| {
        for nodes in table.as_chunks::<8>().0 {
            for ends in EDGES {
                let [a, b] = ends.map(|end| mesh.node_coord[nodes[end] as usize]);
                let squared: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
                *longest = longest.max(squared);
            }
        }
    });
    Ok(longest.into_iter().fold(0.0, f64::max).sqrt())
}
