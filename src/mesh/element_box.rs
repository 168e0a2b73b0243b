//! Boxes of elements of any type, in one piece: for tests, examples and convergence studies.
//!
//! | shape | elements per cell |
//! |---|---|
//! | hexahedron, quadrilateral | 1 |
//! | wedge, triangle | 2: the halves of a square |
//! | tetrahedron | 6, one per order of the axes (Kuhn 1960) |
//!
//! Nodes run along x first, then y, then z. Elements of degree 2 have a node at every half cell.

use super::ElemNode;
use crate::element::{ElementType, Shape};
use crate::{Error, LocalOrdinal, Result};

/// Elements and the coordinates of their nodes.
#[derive(Clone, Debug)]
pub struct ElementBox {
    /// Nodes of each element.
    pub elem_node: ElemNode,
    /// Coordinates of each node.
    pub node_coord: Vec<[f64; 3]>,
}

/// The image of the unit cube, or of the unit simplex, in a cell: x -> origin + sum_i x_i along_i.
pub(super) struct Piece {
    origin: [i64; 3],
    along: [[i64; 3]; 3],
}

impl Piece {
    /// Returns the grid point of a node of the unit cube or simplex within its cell. Halves are whole numbers of
    /// points where the degree is 2.
    pub(super) fn point(&self, unit: &[f64; 3], degree: usize) -> [usize; 3] {
        [0, 1, 2].map(|axis| {
            let moved: f64 = (0..3).map(|i| unit[i] * self.along[i][axis] as f64).sum();
            (degree as f64 * (self.origin[axis] as f64 + moved)).round() as usize
        })
    }
}

impl ElementBox {
    /// Cuts the box `[0, size]` into cells, and each cell into elements. Two-dimensional types take the first two axes, at z = 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an axis without cells, [`Error::TooLarge`] for more nodes than 32 bits number.
    pub fn new(element: ElementType, cells: [usize; 3], size: [f64; 3]) -> Result<Self> {
        if cells[..element.dim()].contains(&0) {
            return Err(Error::Invalid(format!(
                "ElementBox::new: {cells:?} cells: expected 1 or more along each axis"
            )));
        }
        let degree = element.degree();
        let cells: [usize; 3] = std::array::from_fn(|axis| if axis < element.dim() { cells[axis] } else { 0 });
        let points = cells.map(|count| (degree * count).saturating_add(1));
        let all = points.iter().fold(1usize, |all, &count| all.saturating_mul(count));
        if all >= LocalOrdinal::MAX as usize {
            let (needed, limit) = (format!("{all} nodes"), format!("{} (32 bits)", LocalOrdinal::MAX - 1));
            return Err(Error::TooLarge { what: "ElementBox".into(), needed, limit });
        }
        let (pieces, offsets) = (pieces(element), unit_nodes(element));
        let mut table = Vec::new();
        for cell in 0..cells.iter().map(|&count| count.max(1)).product() {
            let at = [cell % cells[0], cell / cells[0] % cells[1], cell / (cells[0] * cells[1])];
            for piece in &pieces {
                table.extend(offsets.iter().map(|unit| {
                    let point = piece.point(unit, degree);
                    let along = |axis: usize| degree * at[axis] + point[axis];
                    (along(0) + points[0] * (along(1) + points[1] * along(2))) as LocalOrdinal
                }));
            }
        }
        let spacing: [f64; 3] = std::array::from_fn(|axis| size[axis] / (points[axis] - 1).max(1) as f64);
        let coord = |node: usize| {
            let at = [node % points[0], node / points[0] % points[1], node / (points[0] * points[1])];
            std::array::from_fn(|axis| at[axis] as f64 * spacing[axis])
        };
        // Elements without nodes on their faces leave some points unused.
        let mut number = vec![LocalOrdinal::MAX; all];
        table.iter().for_each(|&node| number[node as usize] = 0);
        let mut node_coord = Vec::new();
        for (node, number) in number.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
            *number = node_coord.len() as LocalOrdinal;
            node_coord.push(coord(node));
        }
        table.iter_mut().for_each(|node| *node = number[*node as usize]);
        Ok(ElementBox { elem_node: ElemNode::new(table, element.nodes(), node_coord.len())?, node_coord })
    }
}

/// The nodes of the reference element in [0, 1] along each axis.
pub(super) fn unit_nodes(element: ElementType) -> Vec<[f64; 3]> {
    let centred = match element.shape() {
        Shape::Hexahedron => [true; 3],
        Shape::Quadrilateral => [true, true, false],
        Shape::Wedge => [false, false, true],
        Shape::Tetrahedron | Shape::Triangle => [false; 3],
    };
    let unit =
        |xi: &[f64; 3]| std::array::from_fn(|axis| if centred[axis] { (xi[axis] + 1.0) / 2.0 } else { xi[axis] });
    element.reference_nodes().iter().map(unit).collect()
}

pub(super) fn pieces(element: ElementType) -> Vec<Piece> {
    const E: [[i64; 3]; 3] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    let sum = |a: [i64; 3], b: [i64; 3]| std::array::from_fn(|axis| a[axis] + b[axis]);
    let of = |along| Piece { origin: [0; 3], along };
    let diagonal = [1, 1, 0];
    match element.shape() {
        Shape::Hexahedron | Shape::Quadrilateral => vec![of(E)],
        Shape::Wedge | Shape::Triangle => vec![of([E[0], diagonal, E[2]]), of([diagonal, E[1], E[2]])],
        Shape::Tetrahedron => [[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1], [2, 1, 0]]
            .into_iter()
            .enumerate()
            .map(|(at, [a, b, _])| {
                let (first, second) = (E[a], sum(E[a], E[b]));
                // The last three orders are odd: two corners change places, so that the volume is positive.
                of(if at < 3 { [first, second, [1; 3]] } else { [second, first, [1; 3]] })
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Basis, geometry};

    #[test]
    fn elements_fill_the_box_and_none_is_folded() {
        for (element, name) in ElementType::volumes() {
            let mesh = ElementBox::new(element, [3, 2, 4], [1.5, 1.0, 0.5]).unwrap();
            let (tables, mut volume) = (Basis::new(element).at(&element.rule()), 0.0);
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
            let mesh = ElementBox::new(element, cells, [2.0, 3.0, 4.0]).unwrap();
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
        assert_eq!(counts(ElementType::Tri3, [2, 3, 0]), (12, 12, [2.0, 3.0, 0.0]));
        assert_eq!(counts(ElementType::Quad4, [2, 3, 9]), (6, 12, [2.0, 3.0, 0.0]));
    }

    /// Each pair of neighbours shares the nodes of a face, so that the numbers of element pairs by shared nodes are known.
    #[test]
    fn neighbours_share_whole_faces() {
        for (element, per_face) in
            [(ElementType::Hex8, 4), (ElementType::Hex20, 8), (ElementType::Hex27, 9), (ElementType::Wedge6, 4)]
        {
            let mesh = ElementBox::new(element, [2, 1, 1], [1.0; 3]).unwrap();
            let elems: Vec<_> = mesh.elem_node.iter().collect();
            let shared = |a: usize, b: usize| elems[a].iter().filter(|node| elems[b].contains(node)).count();
            let most = (0..elems.len()).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| shared(a, b)).max();
            assert_eq!(most, Some(per_face), "{element}");
        }
    }

    #[test]
    fn boxes_that_cannot_be_are_refused() {
        let refused = |cells| ElementBox::new(ElementType::Tet10, cells, [1.0; 3]).unwrap_err().to_string();
        assert!(refused([1, 0, 1]).contains("1 or more along each axis"));
        assert!(refused([2000, 2000, 2000]).contains("32 bits"));
    }
}
