//! Meshes in host memory: one implementation for [`Serial`](crate::space::Serial) and
//! [`Threads`](crate::space::Threads).
//!
//! Corners of an element go around the bottom and then around the top, as [`Mesh`] says. Meanwhile generation reads a
//! table of 4 bytes per node: grid position -> local node.

use super::{BoxPart, ElemNode, Face, Mesh, MeshSpace};
use crate::error::{check_at_least, check_length};
use crate::space::{HostSpace, zeroed};
use crate::{Error, LocalOrdinal, Result, element};
use rayon::prelude::*;

/// Corners of an element, from its lowest.
const CORNERS: [[u64; 3]; 8] = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];

/// Corners at the ends of each edge.
const EDGES: [[usize; 2]; 12] =
    [[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]];

impl<S: HostSpace> MeshSpace for S {
    fn generate_mesh(&self, part: BoxPart, available: u64) -> Result<Mesh> {
        part.check_memory(available)?;
        let map = part.map()?;
        let nodes = map.local_count();
        Ok(Mesh {
            elem_node: ElemNode::trusted(elem_node(self, &part), CORNERS.len(), nodes)?,
            node_coord: node_coord(self, &part, nodes),
            node_faces: self.map(nodes, |node| faces(&part, node)),
            map,
            part,
        })
    }

    fn check_folding(&self, mesh: &Mesh) -> Result<()> {
        check_length("check_folding", "elem_node (nodes per element)", mesh.elem_node.nodes_per_elem(), 8)?;
        let mut folded = vec![None; S::partials(mesh.elem_count())];
        let pieces = folded.par_iter_mut().zip(mesh.elem_node.as_slice().par_chunks(8 * S::CHUNK)).enumerate();
        self.for_each(pieces, |(piece, (folded, table))| {
            *folded = table.as_chunks::<8>().0.iter().enumerate().find_map(|(i, nodes)| {
                let all = element::determinants(nodes.map(|node| mesh.node_coord[node as usize]));
                // A NaN is not positive either.
                let point = all.iter().position(|&determinant| determinant.is_nan() || determinant <= 0.0)?;
                Some((piece * S::CHUNK + i, point, all[point]))
            });
        });
        match folded.into_iter().flatten().next() {
            None => Ok(()),
            Some((elem, point, determinant)) => {
                Err(Error::Folded { element: mesh.global_elem(elem), point, determinant })
            }
        }
    }

    fn longest_edge(&self, mesh: &Mesh) -> Result<f64> {
        check_length("longest_edge", "elem_node (nodes per element)", mesh.elem_node.nodes_per_elem(), 8)?;
        let mut longest = vec![0.0f64; S::partials(mesh.elem_count())];
        let pieces = longest.par_iter_mut().zip(mesh.elem_node.as_slice().par_chunks(8 * S::CHUNK));
        self.for_each(pieces, |(longest, table)| {
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

    fn set_on_face(&self, mesh: &Mesh, face: Face, value: f64, vector: &mut Vec<f64>) -> Result<()> {
        check_at_least("set_on_face", "vector", vector.len(), mesh.node_faces.len())?;
        let pieces = vector.par_chunks_mut(S::CHUNK).zip(mesh.node_faces.par_chunks(S::CHUNK));
        self.for_each(pieces, |(vector, bits)| {
            let on_face = vector.iter_mut().zip(bits).filter(|(_, bits)| face.is_in(**bits));
            on_face.for_each(|(item, _)| *item = value);
        });
        Ok(())
    }

    fn on_faces(&self, mesh: &Mesh, faces: [Face; 2]) -> Result<Vec<u8>> {
        let on = |node: usize| faces.iter().any(|face| face.is_in(mesh.node_faces[node]));
        Ok(self.map(mesh.node_faces.len(), |node| on(node).into()))
    }
}

fn elem_node<S: HostSpace>(space: &S, part: &BoxPart) -> Vec<LocalOrdinal> {
    let (used, elements) = (part.used(), part.elements());
    let local: Vec<LocalOrdinal> =
        space.map(used.count() as usize, |position| part.local_node(used.at(position as u64)));
    let mut table = zeroed::<LocalOrdinal>(CORNERS.len() * elements.count() as usize);
    space.for_each(table.par_chunks_mut(CORNERS.len() * S::CHUNK).enumerate(), |(chunk, table)| {
        for (i, nodes) in table.chunks_exact_mut(CORNERS.len()).enumerate() {
            let lowest = elements.at((chunk * S::CHUNK + i) as u64);
            for (node, corner) in nodes.iter_mut().zip(CORNERS) {
                *node = local[used.position([0, 1, 2].map(|axis| lowest[axis] + corner[axis])) as usize];
            }
        }
    });
    table
}

fn node_coord<S: HostSpace>(space: &S, part: &BoxPart, nodes: usize) -> Vec<[f64; 3]> {
    let mut coord = vec![[0.0; 3]; nodes];
    space.for_each(coord.par_chunks_mut(S::CHUNK).enumerate(), |(chunk, coord)| {
        for (i, coord) in coord.iter_mut().enumerate() {
            *coord = part.spec().coordinates(part.node_index((chunk * S::CHUNK + i) as LocalOrdinal));
        }
    });
    coord
}

fn faces(part: &BoxPart, node: usize) -> u8 {
    let (index, counts) = (part.node_index(node as LocalOrdinal), part.spec().nodes());
    let bits = |axis: usize| u8::from(index[axis] == 0) | u8::from(index[axis] + 1 == counts[axis]) << 1;
    bits(0) | bits(1) << 2 | bits(2) << 4
}
