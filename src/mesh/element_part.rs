//! One rank's mesh of the box for elements of any type, made on the host: its own elements and ghosts, numbered by [`MeshPart`].
//!
//! ```text
//! grid points  of a BoxSpec: along an axis 1 per cell for elements of degree 1, 2 per cell for degree 2
//! owned        grid points of the rank's BoxPart that some element has as a node
//! elements     all that have an owned node; cells are cut into 1 hexahedron, 2 wedges, or 6 tetrahedra, one per order of the axes
//!              (Kuhn 1960)
//! ```
//! A node's global id is its position in the grid; `hex20` leaves gaps. Ghosts and messages follow from the ids, so that the same
//! elements on any other partition would be numbered in the same way. Memory: a table of 8 bytes per element corner meanwhile, and
//! about 20 bytes per node for the ids and their directory.

use super::cell_elements::{self, CellElements};
use super::meshed_box::Listed;
use super::{BoxPart, BoxSpec, CoordinateMap, IndexBox, Mesh, MeshPart, MeshSpace, Sizes, point};
use crate::comm::{Communicator, Solo, agree};
use crate::element::ElementType;
use crate::space::{MemorySpace, Serial, try_collect, try_push, try_reserve};
use crate::{Error, GlobalOrdinal, Result};

impl Mesh {
    /// Cuts the box `[0, size]` into cells, and each cell into elements, on one rank. Nodes run along x first, then y, then z; elements of
    /// degree 2 have a node at every half cell.
    ///
    /// # Errors
    /// As [`of_elements`](Self::of_elements), [`BoxSpec::new`] and [`BoxPart::new`].
    pub fn of_box(element: ElementType, cells: [usize; 3], size: [f64; 3]) -> Result<Self> {
        let points = cells.map(|count| (element.degree() as u64).saturating_mul(count as u64).saturating_add(1));
        let spec = BoxSpec::new(points, size, CoordinateMap::None)?;
        Self::of_elements(&Solo, element, &BoxPart::new(&spec, 0, 1)?)
    }

    /// Makes the tables of a part. `part` cuts the grid points; elements of degree 2 need an odd number of them along each axis.
    /// Collective.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an element type of fewer than three dimensions, an even number of points with degree 2, or a node that the
    /// coordinate map moves out of the box; those of [`MeshPart::new`].
    pub fn of_elements(comm: &dyn Communicator, element: ElementType, part: &BoxPart) -> Result<Self> {
        let spec = part.spec();
        let (owned, table) = agree(comm, cells(element, spec).and_then(|()| tables(element, part)))?;
        let numbered = MeshPart::new(comm, &owned, &table, element.nodes())?;
        agree(comm, {
            let interior = numbered.interior_count();
            let MeshPart { elem_node, nodes, .. } = numbered;
            let (whole, ids) = (IndexBox::whole(spec.nodes()), nodes.ids());
            let points = || ids.iter().map(|&id| whole.at(id));
            try_collect("node_coord", points().map(|index| spec.coordinates(index))).and_then(|node_coord| {
                let mesh = Mesh {
                    element,
                    elem_node,
                    node_coord,
                    node_faces: try_collect("node_faces", points().map(|index| point::faces_of(index, whole.high)))?,
                    map: nodes.map().clone(),
                    part: part.clone(),
                    listed: Some(Listed { ids: try_collect("node ids", ids.iter().copied())?, interior }),
                };
                Serial.check_inside(&mesh).map(|()| mesh)
            })
        })
    }

    /// Returns the bytes that [`of_elements`](Self::of_elements) needs at most, and those that it keeps.
    pub fn listed_bytes(sizes: &Sizes) -> [u64; 2] {
        let &Sizes { owned, ghosts, sent, nodes, .. } = sizes;
        let (local, table) = (sizes.local(), 4 * nodes * sizes.elems);
        let slots = |items: u64| (items * 8).div_ceil(7).next_power_of_two();
        // A list that doubles until it has N ids, beside the half as large one before; then the directory.
        let list = 12 * owned.next_power_of_two();
        let directory = list.max(8 * owned.next_power_of_two() + 8 * owned).max(24 * owned);
        // A hash table that grows for the ghosts.
        let numbers = 17 * if ghosts == 0 { slots(owned) } else { slots(owned) + slots(2 * owned) };
        let numbered = 8 * local + table + (table + 12 * owned).max(33 * local + 4 * sent);
        let peak = 8 * nodes * sizes.looked_at + 8 * sizes.points + numbers + directory.max(numbered);
        let kept = Self::bytes(sizes) + 8 * local + 4 * sent;
        [peak.max(kept), kept]
    }

    /// Returns the largest extent of an element of this rank along an axis.
    pub fn extent(&self, axis: usize) -> f64 {
        let of_elem = |nodes: &[u32]| {
            let along = || nodes.iter().map(|&node| self.node_coord[node as usize][axis]);
            along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min)
        };
        self.elem_node.iter().map(of_elem).fold(0.0, f64::max)
    }
}

impl<M: MemorySpace> Mesh<M> {
    /// Returns the number of elements of the whole box.
    pub fn global_elem_count(&self) -> u64 {
        let cells = self.spec().nodes().map(|points| (points - 1) / self.element.degree() as u64);
        cells.iter().product::<u64>() * cell_elements::count(self.element) as u64
    }
}

/// Refuses types and boxes that do not go together.
fn cells(element: ElementType, spec: &BoxSpec) -> Result<()> {
    if element.dim() != 3 {
        return Err(Error::Invalid(format!(
            "Mesh::of_elements: {element} has {} dimensions, expected an element of 3",
            element.dim()
        )));
    }
    match spec.nodes().into_iter().find(|points| (points - 1) % element.degree() as u64 != 0) {
        None => Ok(()),
        Some(points) => Err(Error::Invalid(format!(
            "Mesh::of_elements: {points} nodes along an axis: {element} has a node at every half cell, expected an odd number"
        ))),
    }
}

/// Global ids of the owned nodes, and the table of all elements that have one of them.
fn tables(element: ElementType, part: &BoxPart) -> Result<(Vec<GlobalOrdinal>, Vec<GlobalOrdinal>)> {
    let (degree, owned, spec) = (element.degree() as u64, part.owned(), part.spec());
    let whole = IndexBox::whole(spec.nodes());
    // Cell c has the points degree c to degree (c + 1).
    let around = IndexBox::from_axes(|axis| {
        let last = (spec.nodes()[axis] - 1) / degree;
        (owned.low[axis].saturating_sub(degree).div_ceil(degree), last.min((owned.high[axis] - 1) / degree + 1))
    });
    let cells = CellElements::new(element);
    let (mut nodes, mut table) = (Vec::new(), Vec::new());
    let elems = around.count() as usize * cells.shapes.len();
    try_reserve("element-node table", &mut table, elems.saturating_mul(element.nodes()))?;
    for cell in around.iter() {
        for shape in &cells.shapes {
            let points = shape.iter().map(|point| [0, 1, 2].map(|axis| degree * cell[axis] + point[axis]));
            if points.clone().any(|point| owned.contains(point)) {
                table.extend(points.map(|point| whole.position(point)));
            }
        }
    }
    try_reserve("owned nodes", &mut nodes, owned.count() as usize)?;
    let found = owned.iter().filter(|point| cells.is_node(*point));
    found.map(|point| whole.position(point)).try_for_each(|id| try_push("owned nodes", &mut nodes, id))?;
    Ok((nodes, table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{BasisTables, geometry};
    use std::collections::BTreeMap;

    fn points(element: ElementType) -> [u64; 3] {
        [3, 2, 4].map(|cells| cells * element.degree() as u64 + 1)
    }

    /// The elements of all ranks, by the places of their nodes, against those of the box in one piece. tests/program/problems.rs solves on ranks.
    #[test]
    fn ranks_have_together_the_elements_of_the_whole_box() {
        for (element, _) in ElementType::volumes() {
            let spec = BoxSpec::new(points(element), [1.5, 1.0, 0.5], CoordinateMap::None).unwrap();
            let whole = Mesh::of_box(element, [3, 2, 4], spec.size()).unwrap();
            let key = |x: [f64; 3]| x.map(|x| (x * 1e6).round() as i64);
            let all = IndexBox::whole(spec.nodes());
            let place = |&id: &u64| key(spec.coordinates(all.at(id)));
            let of_whole = |nodes: &[u32]| nodes.iter().map(|&node| key(whole.node_coord[node as usize])).collect();
            let mut expected: Vec<Vec<_>> = whole.elem_node.iter().map(of_whole).collect();
            expected.sort();
            for ranks in [1, 2, 5] {
                let (mut found, mut owners, mut corners) = (Vec::<Vec<[i64; 3]>>::new(), BTreeMap::new(), 0);
                for rank in 0..ranks {
                    let (owned, table) = tables(element, &BoxPart::new(&spec, rank, ranks).unwrap()).unwrap();
                    for id in &owned {
                        assert_eq!(owners.insert(*id, rank), None, "{element}: two ranks own a node");
                    }
                    for elem in table.chunks_exact(element.nodes()) {
                        let of_rank = elem.iter().filter(|id| owned.contains(id)).count();
                        assert!(of_rank > 0, "{element}: an element without an owned node");
                        corners += of_rank;
                        if owned.contains(&elem[0]) {
                            found.push(elem.iter().map(place).collect());
                        }
                    }
                }
                found.sort();
                assert!(found == expected && owners.len() == whole.node_coord.len(), "{element} on {ranks} ranks");
                // Each owner has all elements of its nodes.
                assert_eq!(corners, expected.len() * element.nodes(), "{element} on {ranks} ranks");
            }
        }
    }

    #[test]
    fn counts_faces_and_random_numbers_are_those_by_hand() {
        let part =
            |spec: &BoxSpec, element| Mesh::of_elements(&Solo, element, &BoxPart::new(spec, 0, 1).unwrap()).unwrap();
        let twisted = part(&BoxSpec::unit([5; 3], CoordinateMap::TWIST).unwrap(), ElementType::Tet10);
        for (x, faces) in twisted.node_coord.iter().zip(&twisted.node_faces) {
            assert_eq!(*faces != 0, x.iter().any(|&x| x == 0.0 || x == 1.0));
        }
        let (random, again) = (twisted.random(7, 3), twisted.random(8, 3));
        assert!(random.len() == 3 * 125 && random.iter().all(|number| number.abs() < 1.0));
        assert!(random[0] != random[1] && random[0] != again[0]);
        assert_eq!((twisted.interior_count(), twisted.global_elem_count()), (125, 48));
        let brick = part(&BoxSpec::new([5, 5, 3], [1.0, 2.0, 3.0], CoordinateMap::None).unwrap(), ElementType::Hex20);
        // 9 x 2 corners, 12 x 2 + 9 midpoints of edges.
        assert_eq!((brick.map.global_count(), brick.global_elem_count()), (18 + 24 + 9, 4));
        assert_eq!([0, 1, 2].map(|axis| brick.extent(axis)), [0.5, 1.0, 3.0]);
    }

    #[test]
    fn boxes_that_cannot_be_are_refused() {
        let refused = |element, points, map| {
            let part = BoxPart::new(&BoxSpec::unit(points, map).unwrap(), 0, 1).unwrap();
            Mesh::of_elements(&Solo, element, &part).unwrap_err().to_string()
        };
        let refused_box = |cells| Mesh::of_box(ElementType::Tet10, cells, [1.0; 3]).unwrap_err().to_string();
        assert!(
            refused_box([1, 0, 1]).contains("expected 2 or more per axis")
                && refused_box([2000; 3]).contains("32 bits")
        );
        assert!(refused(ElementType::Hex27, [5, 4, 5], CoordinateMap::None).contains("4 nodes along an axis"));
        assert!(refused(ElementType::Quad4, [5; 3], CoordinateMap::None).contains("expected an element of 3"));
        assert!(refused(ElementType::Tet4, [9; 3], CoordinateMap::Bubble(-40.0)).contains("out of the box"));
    }

    #[test]
    fn elements_fill_the_box_and_none_is_folded() {
        for (element, name) in ElementType::volumes() {
            let mesh = Mesh::of_box(element, [3, 2, 4], [1.5, 1.0, 0.5]).unwrap();
            let (tables, mut volume) = (BasisTables::of(element), 0.0);
            for nodes in mesh.elem_node.iter() {
                for (p, weight) in tables.weights.iter().enumerate() {
                    let gradients = &tables.gradients[p * tables.nodes..][..tables.nodes];
                    let mut jacobian = [[0.0; 3]; 3];
                    for (&node, gradient) in nodes.iter().zip(gradients) {
                        for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
                            jacobian[a][b] += mesh.node_coord[node as usize][a] * gradient[b];
                        }
                    }
                    let determinant = geometry::determinant_inverse(&jacobian).0;
                    assert!(determinant > 0.0, "{name}");
                    volume += weight * determinant;
                }
            }
            assert!((volume - 0.75).abs() < 1e-13, "{name}: {volume}");
        }
    }

    #[test]
    fn counts_and_corners_are_those_by_hand() {
        let counts = |element, cells| {
            let mesh = Mesh::of_box(element, cells, [2.0, 3.0, 4.0]).unwrap();
            let last = *mesh.node_coord.last().unwrap();
            (mesh.elem_node.elem_count(), mesh.node_coord.len(), last)
        };
        let corner = [2.0, 3.0, 4.0];
        assert_eq!(counts(ElementType::Hex8, [2, 3, 4]), (24, 60, corner));
        assert_eq!(counts(ElementType::Hex27, [2, 3, 4]), (24, 5 * 7 * 9, corner));
        // 60 corners, and an edge's midpoint along x, y and z: 2 * 20 + 3 * 15 + 4 * 12.
        assert_eq!(counts(ElementType::Hex20, [2, 3, 4]), (24, 60 + 40 + 45 + 48, corner));
        assert_eq!(counts(ElementType::Tet4, [2, 3, 4]), (144, 60, corner));
        assert_eq!(counts(ElementType::Tet10, [2, 3, 4]), (144, 5 * 7 * 9, corner));
        assert_eq!(counts(ElementType::Wedge6, [2, 3, 4]), (48, 60, corner));
    }

    /// Each pair of neighbours shares the nodes of a face, so that the numbers of element pairs by shared nodes are known.
    #[test]
    fn neighbours_share_whole_faces() {
        for (element, per_face) in
            [(ElementType::Hex8, 4), (ElementType::Hex20, 8), (ElementType::Hex27, 9), (ElementType::Wedge6, 4)]
        {
            let mesh = Mesh::of_box(element, [2, 1, 1], [1.0; 3]).unwrap();
            let elems: Vec<_> = mesh.elem_node.iter().collect();
            let shared = |a: usize, b: usize| elems[a].iter().filter(|node| elems[b].contains(node)).count();
            let most = (0..elems.len()).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| shared(a, b)).max();
            assert_eq!(most, Some(per_face), "{element}");
        }
    }
}
