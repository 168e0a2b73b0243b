//! The elements of one cell of the grid: 1 hexahedron, 2 wedges or 6 tetrahedra, and the grid points that are their nodes.

use crate::element::{ElementType, Shape};
use std::collections::BTreeSet;

/// The grid points of a cell's elements.
#[derive(Debug)]
pub(super) struct CellElements {
    /// Grid points per cell and axis.
    pub degree: u64,
    /// Points of each element, from the cell's lowest.
    pub shapes: Vec<Vec<[u64; 3]>>,
    /// Points that are nodes, each coordinate modulo the degree.
    pub places: BTreeSet<[u64; 3]>,
}

impl CellElements {
    pub fn new(element: ElementType) -> Self {
        let (degree, units) = (element.degree() as u64, unit_nodes(element));
        let of_unit = |along: &[[u8; 3]; 3], unit: &[f64; 3]| {
            [0, 1, 2].map(|axis| {
                // Halves are whole numbers of points where the degree is 2.
                let moved: f64 = (0..3).map(|i| unit[i] * f64::from(along[i][axis])).sum();
                (degree as f64 * moved).round() as u64
            })
        };
        let shape = |along: &[[u8; 3]; 3]| units.iter().map(|unit| of_unit(along, unit)).collect();
        let shapes: Vec<Vec<[u64; 3]>> = images(element).iter().map(shape).collect();
        let places = shapes.iter().flatten().map(|point| point.map(|index| index % degree)).collect();
        CellElements { degree, shapes, places }
    }

    /// Returns whether a grid point is a node.
    pub fn is_node(&self, point: [u64; 3]) -> bool {
        self.places.contains(&point.map(|index| index % self.degree))
    }
}

/// Returns the number of elements of a cell.
pub(super) fn count(element: ElementType) -> usize {
    images(element).len()
}

/// The nodes of the reference element in [0, 1] along each axis.
fn unit_nodes(element: ElementType) -> Vec<[f64; 3]> {
    let nodes = element.reference_nodes();
    let is_centred = [0, 1, 2].map(|axis| nodes.iter().any(|xi| xi[axis] < 0.0));
    let unit = |xi: &[f64; 3]| [0, 1, 2].map(|axis| if is_centred[axis] { (xi[axis] + 1.0) / 2.0 } else { xi[axis] });
    nodes.iter().map(unit).collect()
}

/// The images of the unit cube, or of the unit simplex, in a cell: x -> sum_i x_i along_i.
fn images(element: ElementType) -> Vec<[[u8; 3]; 3]> {
    const E: [[u8; 3]; 3] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    let diagonal = [1, 1, 0];
    match element.shape() {
        Shape::Hexahedron | Shape::Quadrilateral | Shape::Line => vec![E],
        Shape::Wedge | Shape::Triangle => vec![[E[0], diagonal, E[2]], [diagonal, E[1], E[2]]],
        // An image per order of the axes. The last three orders are odd: two corners change places, so that the volume is positive.
        Shape::Tetrahedron => [[0, 1], [1, 2], [2, 0], [1, 0], [0, 2], [2, 1]]
            .into_iter()
            .enumerate()
            .map(|(at, [a, b])| {
                let second = std::array::from_fn(|axis| E[a][axis] + E[b][axis]);
                if at < 3 { [E[a], second, [1; 3]] } else { [second, E[a], [1; 3]] }
            })
            .collect(),
    }
}
