//! Element types: one row each of what is known of them.
//!
//! A new type is a variant, a row of [`ROWS`], its cubature rule in `rules.rs` if it has a new one, and a word in the list of
//! `src/fill/host/volumes.rs`; for a type of a known shape everything else derives from the row.
//!
//! Nodes are in the order of VTK: corners, midpoints of edges, midpoints of faces, centre; nodes 0, 1, 2 of wedges are counter-clockwise
//! seen from the other base, as in gmsh ([`ElementType::vtk_order`]). The basis function of a node is the
//! polynomial of the space that is 1 at the node and 0 at the others ([`Basis`](super::Basis)).

use super::rules::Rule;

/// Shape, nodes and basis of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Trilinear hexahedron.
    #[default]
    Hex8,
    /// Hexahedron with nodes on its edges.
    Hex20,
    /// Triquadratic hexahedron.
    Hex27,
    /// Linear tetrahedron.
    Tet4,
    /// Quadratic tetrahedron.
    Tet10,
    /// Linear wedge: a triangle along a line.
    Wedge6,
    /// Wedge with nodes on its edges.
    Wedge15,
    /// Linear triangle.
    Tri3,
    /// Quadratic triangle.
    Tri6,
    /// Bilinear quadrilateral.
    Quad4,
    /// Quadrilateral with nodes on its edges.
    Quad8,
    /// Biquadratic quadrilateral.
    Quad9,
    /// Linear line.
    Line2,
    /// Quadratic line.
    Line3,
}

/// Reference element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// [-1, 1]^3.
    Hexahedron,
    /// x, y, z >= 0, x + y + z <= 1.
    Tetrahedron,
    /// A triangle in x and y, times [-1, 1].
    Wedge,
    /// x, y >= 0, x + y <= 1.
    Triangle,
    /// [-1, 1]^2.
    Quadrilateral,
    /// [-1, 1].
    Line,
}

/// What is known of an element type.
struct Row {
    of: ElementType,
    name: &'static str,
    shape: Shape,
    /// Degree of the basis along an edge.
    degree: usize,
    /// Reference coordinates of the nodes.
    nodes: &'static [[f64; 3]],
    /// Number of the cell type in VTK files, and the node at each place of a cell, where the order differs.
    vtk: (u8, &'static [usize]),
    /// Whether x^a y^b z^c is one of the monomials that span the basis, for exponents up to 2.
    spans: fn([u8; 3]) -> bool,
    /// Cubature rule, and its number of points.
    points: usize,
    rule: fn() -> Rule,
}

#[rustfmt::skip]
const ROWS: [Row; 14] = [
    Row { of: ElementType::Hex8, name: "hex8", shape: Shape::Hexahedron, degree: 1, nodes: HEX.split_at(8).0, vtk: (12, &[]),
          spans: |[a, b, c]| a <= 1 && b <= 1 && c <= 1, points: 8, rule: || Rule::gauss(2, 3) },
    // Serendipity: the degree without linear factors is at most 2.
    Row { of: ElementType::Hex20, name: "hex20", shape: Shape::Hexahedron, degree: 2, nodes: HEX.split_at(20).0, vtk: (25, &[]),
          spans: |all| all.iter().filter(|&&power| power > 1).sum::<u8>() <= 2, points: 27, rule: || Rule::gauss(3, 3) },
    Row { of: ElementType::Hex27, name: "hex27", shape: Shape::Hexahedron, degree: 2, nodes: &HEX, vtk: (29, &[]),
          spans: |_| true, points: 27, rule: || Rule::gauss(3, 3) },
    Row { of: ElementType::Tet4, name: "tet4", shape: Shape::Tetrahedron, degree: 1, nodes: TET.split_at(4).0, vtk: (10, &[]),
          spans: |[a, b, c]| a + b + c <= 1, points: 4, rule: Rule::tetrahedron4 },
    Row { of: ElementType::Tet10, name: "tet10", shape: Shape::Tetrahedron, degree: 2, nodes: &TET, vtk: (24, &[]),
          spans: |[a, b, c]| a + b + c <= 2, points: 14, rule: Rule::tetrahedron14 },
    // In VTK's files the triangle (0, 1, 2) turns the other way, seen from (3, 4, 5).
    Row { of: ElementType::Wedge6, name: "wedge6", shape: Shape::Wedge, degree: 1, nodes: WEDGE.split_at(6).0,
          vtk: (13, &[0, 2, 1, 3, 5, 4]),
          spans: |[a, b, c]| a + b <= 1 && c <= 1, points: 6, rule: || Rule::triangle3().times(&Rule::gauss(2, 1)) },
    // Serendipity: of degree 2 in the triangle and along the line, of degree 3 together.
    Row { of: ElementType::Wedge15, name: "wedge15", shape: Shape::Wedge, degree: 2, nodes: &WEDGE,
          vtk: (26, &[0, 2, 1, 3, 5, 4, 8, 7, 6, 11, 10, 9, 12, 14, 13]),
          spans: |[a, b, c]| a + b <= 2 && a + b + c <= 3, points: 18, rule: || Rule::triangle6().times(&Rule::gauss(3, 1)) },
    Row { of: ElementType::Tri3, name: "tri3", shape: Shape::Triangle, degree: 1, nodes: TRI.split_at(3).0, vtk: (5, &[]),
          spans: |[a, b, c]| a + b <= 1 && c == 0, points: 3, rule: Rule::triangle3 },
    Row { of: ElementType::Tri6, name: "tri6", shape: Shape::Triangle, degree: 2, nodes: &TRI, vtk: (22, &[]),
          spans: |[a, b, c]| a + b <= 2 && c == 0, points: 6, rule: Rule::triangle6 },
    Row { of: ElementType::Quad4, name: "quad4", shape: Shape::Quadrilateral, degree: 1, nodes: QUAD.split_at(4).0, vtk: (9, &[]),
          spans: |[a, b, c]| a <= 1 && b <= 1 && c == 0, points: 4, rule: || Rule::gauss(2, 2) },
    // Serendipity, as hex20.
    Row { of: ElementType::Quad8, name: "quad8", shape: Shape::Quadrilateral, degree: 2, nodes: QUAD.split_at(8).0, vtk: (23, &[]),
          spans: |[a, b, c]| a + b <= 3 && c == 0, points: 9, rule: || Rule::gauss(3, 2) },
    Row { of: ElementType::Quad9, name: "quad9", shape: Shape::Quadrilateral, degree: 2, nodes: &QUAD, vtk: (28, &[]),
          spans: |[_, _, c]| c == 0, points: 9, rule: || Rule::gauss(3, 2) },
    Row { of: ElementType::Line2, name: "line2", shape: Shape::Line, degree: 1, nodes: LINE.split_at(2).0, vtk: (3, &[]),
          spans: |[a, b, c]| a <= 1 && b + c == 0, points: 2, rule: || Rule::gauss(2, 1) },
    Row { of: ElementType::Line3, name: "line3", shape: Shape::Line, degree: 2, nodes: &LINE, vtk: (21, &[]),
          spans: |[_, b, c]| b + c == 0, points: 3, rule: || Rule::gauss(3, 1) },
];

/// Nodes of the trilinear hexahedron.
pub const HEX8_NODES: usize = ElementType::Hex8.nodes();

impl ElementType {
    /// All types with their names.
    pub const ALL: [(Self, &'static str); ROWS.len()] = {
        let (mut all, mut at) = ([(ElementType::Hex8, ""); ROWS.len()], 0);
        while at < ROWS.len() {
            assert!(ROWS[at].of as usize == at, "rows are in the order of the variants");
            all[at] = (ROWS[at].of, ROWS[at].name);
            at += 1;
        }
        all
    };

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns the types with three dimensions and their names.
    pub fn volumes() -> impl Iterator<Item = (Self, &'static str)> + Clone {
        Self::ALL.into_iter().filter(|(element, _)| element.dim() == 3)
    }

    /// Returns the names of [`volumes`](Self::volumes), with commas between them.
    pub fn volume_names() -> String {
        Self::volumes().map(|(_, name)| name).collect::<Vec<_>>().join(", ")
    }

    pub(crate) const fn shape(self) -> Shape {
        self.row().shape
    }

    /// Returns the number of nodes.
    pub const fn nodes(self) -> usize {
        self.row().nodes.len()
    }

    /// Returns the number of points of [`rule`](Self::rule).
    pub const fn points(self) -> usize {
        self.row().points
    }

    /// Returns the degree of the basis along an edge.
    pub const fn degree(self) -> usize {
        self.row().degree
    }

    /// Returns the type of degree 1 with the same corners.
    pub fn of_degree_one(self) -> Self {
        self.of_degree(1)
    }

    /// Returns a type of degree 2 with the same corners, or this one.
    pub fn of_degree_two(self) -> Self {
        self.of_degree(2)
    }

    fn of_degree(self, degree: usize) -> Self {
        let alike = |of: &Row| of.degree == degree && of.shape as usize == self.shape() as usize;
        ROWS.iter().find(|row| alike(row)).map_or(self, |row| row.of)
    }

    /// Returns the number of reference coordinates.
    pub const fn dim(self) -> usize {
        match self.shape() {
            Shape::Line => 1,
            Shape::Triangle | Shape::Quadrilateral => 2,
            Shape::Hexahedron | Shape::Tetrahedron | Shape::Wedge => 3,
        }
    }

    /// Returns the nodes, and points, along an edge of a hexahedron that is a product of lines.
    pub(crate) const fn tensor_edge(self) -> Option<usize> {
        let edge = self.degree() + 1;
        let is_product = matches!(self.shape(), Shape::Hexahedron) && self.nodes() == edge * edge * edge;
        if is_product { Some(edge) } else { None }
    }

    /// Returns the reference coordinates of the nodes, 0 beyond the element's dimension.
    pub const fn reference_nodes(self) -> &'static [[f64; 3]] {
        self.row().nodes
    }

    /// Returns the exponents of the monomials x^a y^b z^c that span the basis.
    pub(super) fn exponents(self) -> Vec<[u8; 3]> {
        (0..27).map(|k| [k % 3, k / 3 % 3, k / 9]).filter(|&exponents| (self.row().spans)(exponents)).collect()
    }

    /// Returns the cubature rule of element integrals.
    pub fn rule(self) -> Rule {
        (self.row().rule)()
    }

    /// Returns the number of the cell type in VTK files.
    pub const fn vtk_cell(self) -> u8 {
        self.row().vtk.0
    }

    /// Returns the node at each place of a cell in VTK files.
    pub fn vtk_order(self) -> Vec<usize> {
        let order = self.row().vtk.1;
        if order.is_empty() { (0..self.nodes()).collect() } else { order.to_vec() }
    }
}

crate::space::named_choice!(ElementType, "element type");

#[rustfmt::skip]
const HEX: [[f64; 3]; 27] = [
    [-1.0, -1.0, -1.0], [1.0, -1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0],
    [0.0, -1.0, -1.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0], [-1.0, 0.0, -1.0],
    [0.0, -1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [-1.0, 0.0, 1.0],
    [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0],
    [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0],
    [0.0, 0.0, 0.0],
];
#[rustfmt::skip]
const TET: [[f64; 3]; 10] = [
    [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0],
    [0.5, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5],
];
#[rustfmt::skip]
const WEDGE: [[f64; 3]; 15] = [
    [0.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0],
    [0.5, 0.0, -1.0], [0.5, 0.5, -1.0], [0.0, 0.5, -1.0], [0.5, 0.0, 1.0], [0.5, 0.5, 1.0], [0.0, 0.5, 1.0],
    [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0],
];
#[rustfmt::skip]
const TRI: [[f64; 3]; 6] = [
    [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.0],
];
#[rustfmt::skip]
const QUAD: [[f64; 3]; 9] = [
    [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0],
    [0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0],
];
const LINE: [[f64; 3]; 3] = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_agree_with_themselves() {
        for (element, name) in ElementType::ALL {
            let (rule, mut order) = (element.rule(), element.vtk_order());
            assert_eq!((rule.points.len(), rule.weights.len()), (element.points(), element.points()), "{name}");
            assert_eq!(element.exponents().len(), element.nodes(), "{name}");
            order.sort_unstable();
            assert!(order.into_iter().eq(0..element.nodes()), "{name}");
        }
    }
}
