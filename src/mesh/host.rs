//! Meshes in host memory.
//!
//! Corners of an element go around the bottom and then around the top, as [`Mesh`] says. Meanwhile generation reads a
//! table of 4 bytes per node: grid position -> local node.

use super::grid_columns::positions;
use super::grid_matrix::{GridMatrix, grid_matrix};
use super::grid_product::product;
use super::point::{faces_of, number_of};
use super::{BoxPart, ElemNode, Face, Mesh, MeshSpace, Stencil};
use crate::comm::{Communicator, Map};
use crate::element::ElementType;
use crate::error::{check_at_least, check_length};
use crate::space::{HostMemory, Threads, try_zeroed};
use crate::sparse::Operator;
use crate::{Error, LocalOrdinal, Result, element};
use rayon::prelude::*;

/// Corners of an element, from its lowest.
const CORNERS: [[u64; 3]; 8] = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];

/// Corners at the ends of the four edges in each direction.
const EDGES: [[[usize; 2]; 4]; 3] =
    [[[0, 1], [3, 2], [4, 5], [7, 6]], [[0, 3], [1, 2], [4, 7], [5, 6]], [[0, 4], [1, 5], [2, 6], [3, 7]]];

impl MeshSpace for Threads {
    fn generate_mesh(&self, part: BoxPart) -> Result<Mesh> {
        let map = part.map()?;
        let nodes = map.local_count();
        Ok(Mesh {
            elem_node: ElemNode::trusted(elem_node(self, &part)?, CORNERS.len(), nodes)?,
            node_coord: node_coord(self, &part, nodes)?,
            node_faces: self.map(nodes, |node| faces(&part, node))?,
            map,
            element: ElementType::Hex8,
            part,
            listed: None,
        })
    }

    fn take_mesh(&self, mesh: Mesh) -> Result<Mesh> {
        Ok(mesh)
    }

    fn grid_matrix(
        &self,
        comm: Option<&dyn Communicator>,
        meshes: [&Mesh; 2],
        stencils: &[Stencil; 3],
        dofs: usize,
    ) -> Result<(GridMatrix<HostMemory>, Map)> {
        grid_matrix(
            self,
            comm,
            meshes,
            (stencils, dofs),
            |rows| positions(self, rows),
            |columns, range| columns.numbers(range),
        )
    }

    fn grid_product(&self, matrix: &GridMatrix<HostMemory>, x: &[f64], y: &mut [f64]) -> Result<()> {
        product(self, matrix, x, &mut y[..Operator::<Threads>::rows(matrix)]);
        Ok(())
    }

    fn check_inside(&self, mesh: &Mesh) -> Result<()> {
        let mut outside = vec![None; Threads::partials(mesh.node_coord.len())];
        let pieces = outside.par_iter_mut().zip(mesh.node_coord.par_chunks(Threads::CHUNK)).enumerate();
        self.for_each(pieces, |(piece, (outside, coord))| {
            *outside = coord.iter().position(|&x| !mesh.contains(x)).map(|i| piece * Threads::CHUNK + i);
        });
        match outside.into_iter().flatten().next() {
            None => Ok(()),
            Some(node) => Err(mesh.outside(node, mesh.node_coord[node])),
        }
    }

    fn check_folding(&self, mesh: &Mesh) -> Result<()> {
        check_length("check_folding", "elem_node (nodes per element)", mesh.elem_node.nodes_per_elem(), 8)?;
        let mut folded = vec![None; Threads::partials(mesh.elem_count())];
        let pieces = folded.par_iter_mut().zip(mesh.elem_node.as_slice().par_chunks(8 * Threads::CHUNK)).enumerate();
        self.for_each(pieces, |(piece, (folded, table))| {
            *folded = table.as_chunks::<8>().0.iter().enumerate().find_map(|(i, nodes)| {
                let (place, determinant) = element::fold(&nodes.map(|node| mesh.node_coord[node as usize]))?;
                Some((piece * Threads::CHUNK + i, place, determinant))
            });
        });
        match folded.into_iter().flatten().next() {
            None => Ok(()),
            Some((elem, place, determinant)) => {
                Err(Error::Folded { element: mesh.part.global_elem(elem), place, determinant })
            }
        }
    }

    fn spacing(&self, mesh: &Mesh, axis: usize) -> Result<f64> {
        check_length("spacing", "elem_node (nodes per element)", mesh.elem_node.nodes_per_elem(), 8)?;
        // Relative to the box, so that no square overflows.
        let size = mesh.part.spec().size()[axis];
        let mut largest = vec![0.0f64; Threads::partials(mesh.elem_count())];
        let pieces = largest.par_iter_mut().zip(mesh.elem_node.as_slice().par_chunks(8 * Threads::CHUNK));
        self.for_each(pieces, |(largest, table)| {
            for nodes in table.as_chunks::<8>().0 {
                let z = nodes.map(|node| mesh.node_coord[node as usize][axis] / size);
                let along =
                    |edges: [[usize; 2]; 4]| edges.map(|[a, b]| (z[b] - z[a]).abs()).into_iter().fold(0.0, f64::max);
                let square: f64 = EDGES.map(along).iter().map(|h| h * h).sum();
                *largest = largest.max(square);
            }
        });
        Ok(size * largest.into_iter().fold(0.0, f64::max).sqrt())
    }

    fn scatter_by_id(&self, mesh: &Mesh, seed: u64, fields: usize, vector: &mut [f64]) -> Result<()> {
        let items = fields * mesh.map.owned_count();
        check_at_least("scatter_by_id", "vector", vector.len(), items)?;
        if items == 0 {
            return Ok(());
        }
        self.for_each(vector[..items].par_chunks_mut(fields * Threads::CHUNK).enumerate(), |(chunk, vector)| {
            for (i, items) in vector.chunks_exact_mut(fields).enumerate() {
                let first = fields as u64 * mesh.global_node((chunk * Threads::CHUNK + i) as LocalOrdinal);
                items.iter_mut().zip(first..).for_each(|(item, id)| *item = number_of(seed, id));
            }
        });
        Ok(())
    }

    fn set_on_face(&self, mesh: &Mesh, face: Face, value: f64, vector: &mut [f64]) -> Result<()> {
        check_at_least("set_on_face", "vector", vector.len(), mesh.node_faces.len())?;
        let pieces = vector.par_chunks_mut(Threads::CHUNK).zip(mesh.node_faces.par_chunks(Threads::CHUNK));
        self.for_each(pieces, |(vector, bits)| {
            let on_face = vector.iter_mut().zip(bits).filter(|(_, bits)| face.is_in(**bits));
            on_face.for_each(|(item, _)| *item = value);
        });
        Ok(())
    }

    fn set_nodes(&self, nodes: &[LocalOrdinal], values: &[f64], vector: &mut [f64]) -> Result<()> {
        let fields = super::fields_to_set(nodes, values, vector.len())?;
        for (&node, values) in nodes.iter().zip(values.chunks_exact(fields)) {
            vector[fields * node as usize..][..fields].copy_from_slice(values);
        }
        Ok(())
    }

    fn on_faces(&self, mesh: &Mesh, faces: impl IntoIterator<Item = Face>) -> Result<Vec<u8>> {
        let mask = faces.into_iter().fold(0, |mask, face| mask | face as u8);
        self.map(mesh.node_faces.len(), |node| (mesh.node_faces[node] & mask != 0).into())
    }
}

fn elem_node(space: &Threads, part: &BoxPart) -> Result<Vec<LocalOrdinal>> {
    let (used, elements) = (part.used(), part.elements());
    let local: Vec<LocalOrdinal> =
        space.map(used.count() as usize, |position| part.local_node(used.at(position as u64)))?;
    let mut table = try_zeroed::<LocalOrdinal>("elem_node", CORNERS.len() * elements.count() as usize)?;
    space.for_each(table.par_chunks_mut(CORNERS.len() * Threads::CHUNK).enumerate(), |(chunk, table)| {
        for (i, nodes) in table.chunks_exact_mut(CORNERS.len()).enumerate() {
            let lowest = elements.at((chunk * Threads::CHUNK + i) as u64);
            for (node, corner) in nodes.iter_mut().zip(CORNERS) {
                *node = local[used.position([0, 1, 2].map(|axis| lowest[axis] + corner[axis])) as usize];
            }
        }
    });
    Ok(table)
}

fn node_coord(space: &Threads, part: &BoxPart, nodes: usize) -> Result<Vec<[f64; 3]>> {
    let mut coord = try_zeroed("node_coord", nodes)?;
    space.for_each(coord.par_chunks_mut(Threads::CHUNK).enumerate(), |(chunk, coord)| {
        for (i, coord) in coord.iter_mut().enumerate() {
            *coord = part.spec().coordinates(part.node_index((chunk * Threads::CHUNK + i) as LocalOrdinal));
        }
    });
    Ok(coord)
}

fn faces(part: &BoxPart, node: usize) -> u8 {
    faces_of(part.node_index(node as LocalOrdinal), part.spec().nodes())
}

#[cfg(test)]
mod tests {
    use crate::mesh::MeshSpace;
    use crate::space::Serial;

    #[test]
    fn values_are_set_node_by_node() {
        let mut vector = vec![0.0; 6];
        Serial.set_nodes(&[2, 0], &[1.0, 2.0, 3.0, 4.0], &mut vector).unwrap();
        assert_eq!(vector, [3.0, 4.0, 0.0, 0.0, 1.0, 2.0]);
        Serial.set_nodes(&[], &[], &mut vector).unwrap();
        for (nodes, values, name) in
            [(&[3][..], &[1.0, 2.0][..], "`vector`"), (&[0, 1], &[1.0; 3], "`values`"), (&[], &[1.0], "`values`")]
        {
            let refused = Serial.set_nodes(nodes, values, &mut vector).unwrap_err().to_string();
            assert!(refused.contains(name), "{refused}");
        }
    }
}
