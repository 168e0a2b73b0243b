//! The boundary of a mesh: faces of one cell only, as tables of their own.
//!
//! Cost: 24 bytes per face of a cell, sorted by corners.

use super::ElemNode;
use crate::element::ElementType;
use crate::error::check_length;
use crate::space::{try_push, try_reserve};
use crate::{LocalOrdinal, Result};

/// Faces of one type on the boundary of a mesh.
#[derive(Clone, Debug)]
pub struct BoundaryFaces {
    /// Type of the faces.
    pub element: ElementType,
    /// Nodes of each face, of those of the mesh, in an order whose normal points outwards.
    pub elem_node: ElemNode,
    /// The cell of each face.
    pub cells: Vec<LocalOrdinal>,
}

/// Returns the faces on the boundary of cells of one type, by type of face.
///
/// A face is kept if it belongs to one cell only and `keep` accepts its nodes. Wedges have triangles and quadrilaterals; cells in a plane have
/// lines. In a mesh of several types of cells, `keep` has to refuse the faces between types.
///
/// On several ranks each rank finds the faces of its part: all that have one of its nodes, and others inside the mesh, whose rows no
/// rank assembles.
///
/// ```
/// use minifenl::element::ElementType;
/// use minifenl::mesh::{ElemNode, boundary_faces};
///
/// // Two triangles; lines on the edge 1-3 and beyond.
/// let elem_node = ElemNode::new(vec![0, 1, 2, 2, 1, 3], 3, 4)?;
/// let lines = &boundary_faces(ElementType::Tri3, &elem_node, &|nodes| nodes.contains(&3))?[0];
/// assert_eq!((lines.elem_node.as_slice(), &lines.cells[..]), (&[1, 3, 3, 2][..], &[1, 1][..]));
/// # Ok::<(), minifenl::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for cells of another number of nodes, [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the
/// memory is not available.
pub fn boundary_faces(
    element: ElementType,
    elem_node: &ElemNode,
    keep: &dyn Fn(&[LocalOrdinal]) -> bool,
) -> Result<Vec<BoundaryFaces>> {
    const NAME: &str = "mesh::boundary_faces";
    check_length(NAME, "elem_node (nodes per element)", elem_node.nodes_per_elem(), element.nodes())?;
    let faces = element.faces();
    // Corners of each face in ascending order, and its number.
    let mut all = Vec::new();
    try_reserve("faces", &mut all, elem_node.elem_count() * faces.len())?;
    let mut corners = Vec::with_capacity(4);
    for (cell, nodes) in elem_node.iter().enumerate() {
        for (at, (face, of_face)) in faces.iter().enumerate() {
            corners.clear();
            corners.extend(of_face[..face.of_degree_one().nodes()].iter().map(|&m| nodes[m]));
            corners.sort_unstable();
            corners.dedup();
            // Faces that repeated nodes turn into lines or points have no area.
            if corners.len() > face.dim() {
                let mut key = [LocalOrdinal::MAX; 4];
                key.iter_mut().zip(&corners).for_each(|(corner, &node)| *corner = node);
                all.push((key, cell * faces.len() + at));
            }
        }
    }
    all.sort_unstable();
    let alone = all.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1);
    let mut numbers = Vec::new();
    alone.map(|same| same[0].1).try_for_each(|number| try_push("faces of the boundary", &mut numbers, number))?;
    numbers.sort_unstable();
    let mut types: Vec<ElementType> = faces.iter().map(|(face, _)| *face).collect();
    types.sort_unstable_by_key(|face| face.nodes());
    types.dedup();
    let of_number = |&number: &usize| (number / faces.len(), &faces[number % faces.len()]);
    let table = |element: ElementType| {
        let (mut table, mut cells, mut face) = (Vec::new(), Vec::new(), Vec::with_capacity(element.nodes()));
        for (cell, (_, nodes)) in numbers.iter().map(of_number).filter(|(_, (of, _))| *of == element) {
            face.clear();
            face.extend(nodes.iter().map(|&m| elem_node.elem(cell)[m]));
            if keep(&face) {
                face.iter().try_for_each(|&node| try_push("nodes of faces", &mut table, node))?;
                try_push("cells of faces", &mut cells, cell as LocalOrdinal)?;
            }
        }
        let elem_node = ElemNode::with_repeats(table, element.nodes(), elem_node.node_count())?;
        Ok(BoundaryFaces { element, elem_node, cells })
    };
    types.into_iter().map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Communicator;
    use crate::comm::ranks::on_ranks;
    use crate::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
    use std::collections::BTreeSet;

    /// A cube and a wedge beside it, written as a hexahedron: 5 + 2 squares or collapsed ones of area, 2 triangles.
    #[test]
    fn a_collapsed_cell_has_the_faces_that_have_an_area() {
        let cells = vec![0, 1, 2, 3, 4, 5, 6, 7, 1, 8, 2, 2, 5, 9, 6, 6];
        let elem_node = ElemNode::with_repeats(cells, 8, 10).unwrap();
        let all = boundary_faces(ElementType::Hex8, &elem_node, &|_| true).unwrap();
        assert_eq!(all[0].cells, [[0; 5].as_slice(), &[1; 4]].concat());
        assert!(!all[0].elem_node.iter().any(|face| [1, 2, 5, 6].iter().all(|node| face.contains(node))));
    }

    #[test]
    fn a_box_has_the_faces_of_its_surface() {
        for (element, name) in ElementType::volumes() {
            let mesh = Mesh::of_box(element, [2, 3, 4], [1.0, 2.0, 3.0]).unwrap();
            let surface = 2 * (2 * 3 + 3 * 4 + 2 * 4);
            let all = boundary_faces(element, &mesh.elem_node, &|_| true).unwrap();
            // Squares, or two triangles each; wedges have triangles at the bottom and at the top.
            let count: usize = all.iter().map(|of| of.cells.len()).sum();
            let cut = match element.of_degree_one() {
                ElementType::Hex8 => 0,
                ElementType::Tet4 => surface,
                _ => 2 * 2 * 3,
            };
            assert_eq!(count, surface + cut, "{name}");
            for of in &all {
                assert!(of.cells.is_sorted(), "{name}: {:?}", of.cells);
                for (face, &cell) in of.elem_node.iter().zip(&of.cells) {
                    let nodes = mesh.elem_node.elem(cell as usize);
                    assert!(face.iter().all(|node| nodes.contains(node)), "{name}");
                    let bits = face.iter().fold(0xff, |bits, &node| bits & mesh.node_faces[node as usize]);
                    assert!(bits.count_ones() == 1, "{name}: a face of {face:?} is not on the surface");
                }
            }
            let top = boundary_faces(element, &mesh.elem_node, &|nodes| {
                nodes.iter().all(|&node| mesh.node_coord[node as usize][2] == 3.0)
            });
            let count: usize = top.unwrap().iter().map(|of| of.cells.len()).sum();
            assert_eq!(count, 6 * if element.of_degree_one() == ElementType::Hex8 { 1 } else { 2 }, "{name}");
        }
        let table = ElemNode::new(vec![0, 1, 2, 3], 4, 4).unwrap();
        let refused = boundary_faces(ElementType::Hex8, &table, &|_| true).unwrap_err().to_string();
        assert!(refused.starts_with("mesh::boundary_faces: `elem_node (nodes per element)`"), "{refused}");
    }

    /// Faces that have an owned node, by global ids: together those of the whole box.
    #[test]
    fn ranks_find_the_faces_of_their_nodes() {
        let spec = BoxSpec::unit([5, 7, 9], CoordinateMap::None).unwrap();
        for element in [ElementType::Tet4, ElementType::Wedge15] {
            let found = |ranks: usize| {
                let of_ranks = on_ranks(ranks, |comm| {
                    let part = BoxPart::new(&spec, comm.rank(), ranks).unwrap();
                    let mesh = Mesh::of_elements(comm, element, &part).unwrap();
                    let is_owned = |nodes: &[u32]| nodes.iter().any(|&node| (node as usize) < mesh.map.owned_count());
                    let faces = boundary_faces(element, &mesh.elem_node, &is_owned).unwrap();
                    let ids = |face: &[u32]| face.iter().map(|&node| mesh.global_node(node)).collect::<Vec<_>>();
                    faces.iter().flat_map(|of| of.elem_node.iter().map(ids)).collect::<Vec<_>>()
                });
                of_ranks.into_iter().flatten().collect::<BTreeSet<_>>()
            };
            assert_eq!(found(3), found(1), "{element}");
        }
    }
}
