//! Element types: nodes, reference coordinates, the polynomials of the basis, cubature.
//!
//! | type | reference element | nodes | polynomials | points | degree that the points integrate |
//! |---|---|---|---|---|---|
//! | `hex8` | [-1, 1]^3 | 8 | 1 x y z xy xz yz xyz | 2^3 | 3 per axis |
//! | `hex20` | [-1, 1]^3 | 20 | serendipity | 3^3 | 5 per axis |
//! | `hex27` | [-1, 1]^3 | 27 | 2 per axis | 3^3 | 5 per axis |
//! | `tet4` | x, y, z >= 0, x + y + z <= 1 | 4 | 1 x y z | 4 | 2 |
//! | `tet10` | the same | 10 | of degree 2 | 14 | 5 |
//! | `wedge6` | triangle x [-1, 1] | 6 | (1 x y)(1 z) | 3 x 2 | 2 and 3 |
//! | `tri3` | x, y >= 0, x + y <= 1 | 3 | 1 x y | 3 | 2 |
//! | `quad4` | [-1, 1]^2 | 4 | 1 x y xy | 2^2 | 3 per axis |
//!
//! Nodes are in the order of VTK: corners, midpoints of edges, midpoints of faces, centre. The basis function of a node is the
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
    /// Linear triangle.
    Tri3,
    /// Bilinear quadrilateral.
    Quad4,
}

impl ElementType {
    /// All types with their names.
    pub const ALL: [(Self, &'static str); 8] = [
        (ElementType::Hex8, "hex8"),
        (ElementType::Hex20, "hex20"),
        (ElementType::Hex27, "hex27"),
        (ElementType::Tet4, "tet4"),
        (ElementType::Tet10, "tet10"),
        (ElementType::Wedge6, "wedge6"),
        (ElementType::Tri3, "tri3"),
        (ElementType::Quad4, "quad4"),
    ];

    /// Returns the number of nodes.
    pub const fn nodes(self) -> usize {
        self.reference_nodes().len()
    }

    /// Returns the number of reference coordinates.
    pub const fn dim(self) -> usize {
        match self {
            ElementType::Tri3 | ElementType::Quad4 => 2,
            _ => 3,
        }
    }

    /// Returns the reference coordinates of the nodes; third coordinates of two-dimensional types are 0.
    pub const fn reference_nodes(self) -> &'static [[f64; 3]] {
        match self {
            ElementType::Hex8 => HEX.split_at(8).0,
            ElementType::Hex20 => HEX.split_at(20).0,
            ElementType::Hex27 => &HEX,
            ElementType::Tet4 => TET.split_at(4).0,
            ElementType::Tet10 => &TET,
            ElementType::Wedge6 => &WEDGE,
            ElementType::Tri3 => TET.split_at(3).0,
            ElementType::Quad4 => &QUAD,
        }
    }

    /// Returns the exponents of the monomials x^a y^b z^c that span the basis.
    pub(super) fn exponents(self) -> Vec<[u8; 3]> {
        let all = (0..27).map(|k| [k % 3, k / 3 % 3, k / 9]);
        // The degree without factors that are linear: at most 2 for a serendipity element.
        let superlinear = |e: [u8; 3]| e.iter().filter(|&&power| power > 1).sum::<u8>();
        let is_one = |e: [u8; 3]| match self {
            ElementType::Hex8 => e.iter().all(|&power| power <= 1),
            ElementType::Hex20 => superlinear(e) <= 2,
            ElementType::Hex27 => true,
            ElementType::Tet4 => e.iter().sum::<u8>() <= 1,
            ElementType::Tet10 => e.iter().sum::<u8>() <= 2,
            ElementType::Wedge6 => e[0] + e[1] <= 1 && e[2] <= 1,
            ElementType::Tri3 => e[0] + e[1] <= 1 && e[2] == 0,
            ElementType::Quad4 => e[0] <= 1 && e[1] <= 1 && e[2] == 0,
        };
        all.filter(|&e| is_one(e)).collect()
    }

    /// Returns the cubature rule of the table above.
    pub fn rule(self) -> Rule {
        match self {
            ElementType::Hex8 => Rule::gauss(2, 3),
            ElementType::Hex20 | ElementType::Hex27 => Rule::gauss(3, 3),
            ElementType::Tet4 => Rule::tetrahedron4(),
            ElementType::Tet10 => Rule::tetrahedron14(),
            ElementType::Wedge6 => Rule::triangle3().times(&Rule::gauss(2, 1)),
            ElementType::Tri3 => Rule::triangle3(),
            ElementType::Quad4 => Rule::gauss(2, 2),
        }
    }

    /// Returns the number of the cell type in VTK files.
    pub const fn vtk_cell(self) -> u8 {
        match self {
            ElementType::Hex8 => 12,
            ElementType::Hex20 => 25,
            ElementType::Hex27 => 29,
            ElementType::Tet4 => 10,
            ElementType::Tet10 => 24,
            ElementType::Wedge6 => 13,
            ElementType::Tri3 => 5,
            ElementType::Quad4 => 9,
        }
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
const WEDGE: [[f64; 3]; 6] =
    [[0.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]];
const QUAD: [[f64; 3]; 4] = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]];
