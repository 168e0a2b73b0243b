//! Faces of cells: element type and nodes, in an order whose normal points outwards.
//!
//! Corners are listed per shape; the other nodes of a face are those of the cell at the places where the face's reference element has
//! nodes, so that a face of `hex20` is a `quad8` and one of `hex27` a `quad9`.

use super::{Basis, ElementType, Shape};

/// Squared distance within which places are equal.
const SAME: f64 = 1e-12;

/// Corners of the faces of a shape; lines around a face. Normals are t1 x t2 and t1 x e_z.
const fn corners(shape: Shape) -> &'static [&'static [usize]] {
    match shape {
        Shape::Hexahedron => {
            &[&[0, 3, 2, 1], &[4, 5, 6, 7], &[0, 1, 5, 4], &[1, 2, 6, 5], &[2, 3, 7, 6], &[3, 0, 4, 7]]
        }
        Shape::Tetrahedron => &[&[0, 2, 1], &[0, 1, 3], &[1, 2, 3], &[2, 0, 3]],
        Shape::Wedge => &[&[0, 2, 1], &[3, 4, 5], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]],
        Shape::Triangle => &[&[0, 1], &[1, 2], &[2, 0]],
        Shape::Quadrilateral => &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]],
        Shape::Line => &[],
    }
}

impl ElementType {
    /// Returns type and nodes of each face of a cell, or of each line around an element of two dimensions. Corners come first; the
    /// normal points outwards.
    ///
    /// ```
    /// use minifenl::element::ElementType;
    ///
    /// assert_eq!(ElementType::Quad9.faces()[1], (ElementType::Line3, vec![1, 2, 5]));
    /// let wedge: Vec<String> = ElementType::Wedge6.faces().iter().map(|(face, _)| face.to_string()).collect();
    /// assert_eq!(wedge, ["tri3", "tri3", "quad4", "quad4", "quad4"]);
    /// ```
    pub fn faces(self) -> Vec<(ElementType, Vec<usize>)> {
        corners(self.shape()).iter().filter_map(|corners| self.face(corners)).collect()
    }

    /// The face with these corners: of the types whose nodes are all nodes of the cell, that with the most.
    fn face(self, corners: &[usize]) -> Option<(ElementType, Vec<usize>)> {
        let sides = ElementType::ALL.into_iter().map(|(face, _)| face).filter(|face| face.dim() + 1 == self.dim());
        let alike =
            sides.filter(|face| face.of_degree_one().nodes() == corners.len() && face.degree() == self.degree());
        alike.filter_map(|face| Some((face, self.nodes_of(face, corners)?))).max_by_key(|(face, _)| face.nodes())
    }

    /// The cell's nodes at the nodes of a face, unless one is missing.
    fn nodes_of(self, face: ElementType, corners: &[usize]) -> Option<Vec<usize>> {
        let (nodes, corner) = (self.reference_nodes(), Basis::new(face.of_degree_one()));
        let node_at = |x: [f64; 3]| {
            nodes.iter().position(|node| node.iter().zip(x).map(|(a, b)| (a - b).powi(2)).sum::<f64>() < SAME)
        };
        let place = |xi: &[f64; 3]| {
            let weights = corner.values(*xi);
            [0, 1, 2].map(|axis| corners.iter().zip(&weights).map(|(&m, weight)| weight * nodes[m][axis]).sum())
        };
        face.reference_nodes().iter().map(|xi| node_at(place(xi))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::geometry::{self, Place};

    /// Integrals of the normal and of x . n over all faces of a reference element: 0, and its dimension times its volume (Gauss).
    #[test]
    fn faces_close_the_element_and_normals_point_outwards() {
        for (element, name) in ElementType::ALL {
            let (mut closed, mut flux) = ([0.0; 3], 0.0);
            for (face, nodes) in element.faces() {
                assert_eq!((face.dim() + 1, face.nodes()), (element.dim(), nodes.len()), "{name}");
                let (basis, rule) = (Basis::new(face), face.rule());
                let coords: Vec<[f64; 3]> = nodes.iter().map(|&m| element.reference_nodes()[m]).collect();
                for (&xi, weight) in rule.points.iter().zip(&rule.weights) {
                    let mut jacobian = geometry::jacobian(coords.iter().copied(), &basis.gradients(xi));
                    let normal = geometry::complete(&mut jacobian, face.dim(), Place::Boundary);
                    let measure = weight * geometry::determinant_inverse(&jacobian).0;
                    let values = basis.values(xi);
                    for axis in 0..3 {
                        let x: f64 = coords.iter().zip(&values).map(|(x, value)| x[axis] * value).sum();
                        closed[axis] += measure * normal[axis];
                        flux += measure * normal[axis] * x;
                    }
                }
            }
            let volume: f64 = if element.dim() > 1 { element.rule().weights.iter().sum() } else { 0.0 };
            assert!(closed.iter().all(|sum| sum.abs() < 1e-14), "{name}: {closed:?}");
            assert!((flux - element.dim() as f64 * volume).abs() < 1e-13, "{name}: {flux}");
        }
    }

    #[test]
    fn faces_of_elements_of_degree_two_have_the_nodes_of_their_edges() {
        let first = |element: ElementType, face: usize| element.faces().swap_remove(face);
        assert_eq!(first(ElementType::Hex20, 0), (ElementType::Quad8, vec![0, 3, 2, 1, 11, 10, 9, 8]));
        assert_eq!(first(ElementType::Hex27, 3), (ElementType::Quad9, vec![1, 2, 6, 5, 9, 18, 13, 17, 21]));
        assert_eq!(first(ElementType::Tet10, 3), (ElementType::Tri6, vec![2, 0, 3, 6, 7, 9]));
        assert_eq!(first(ElementType::Wedge15, 1), (ElementType::Tri6, vec![3, 4, 5, 9, 10, 11]));
        assert_eq!(first(ElementType::Wedge15, 2), (ElementType::Quad8, vec![0, 1, 4, 3, 6, 13, 9, 12]));
    }
}
