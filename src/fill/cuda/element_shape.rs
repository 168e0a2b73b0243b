//! Sizes of an element on a GPU and its basis tables for `kernels/equation.cu`.

use crate::element::{BasisTables, ElementType, by_axis};
use crate::{Error, Result};

/// Terms at a point: three axes and the value.
const TERMS: usize = 4;
/// Most nodes along an edge of a tile: 64 sums of a thread are 128 of its registers. Where an element has several tiles, 64 sums and the
/// place of the tile spill.
const LARGEST_TILE: usize = 8;
const LARGEST_OF_SEVERAL: usize = 7;
/// Most entries of a matrix that a thread sums beside everything else; 64 spilled registers.
const LARGEST_FUSED: usize = 36;
/// Most elements per block at the points: a warp evaluates one point of neighbouring elements.
const LARGEST_GROUP: usize = 32;
/// Layers of nodes, and of points, of a triquadratic hexahedron along each axis.
const HEX27_LAYERS: usize = 3;
/// Bytes of static shared memory per block.
const SHARED: usize = 48 << 10;

/// Sizes of an element, and how its matrices are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementShape {
    pub nodes: usize,
    pub points: usize,
    /// Dimensions of the element.
    pub dim: usize,
    /// Nodes along an edge of a tile.
    pub block: usize,
    /// Layers of nodes and points along the third axis, 0 without pairs of layers.
    pub layers: usize,
    /// Whether a thread computes a whole element.
    pub fused: bool,
    pub dofs: usize,
    pub symmetric: bool,
}

impl ElementShape {
    /// Computes sizes. Without `layers`, points keep the order of the rule.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when the tables exceed the shared memory of a block.
    pub fn new(dofs: usize, symmetric: bool, layers: bool, tables: &BasisTables) -> Result<Self> {
        let (nodes, points, dim) = (tables.nodes, tables.weights.len(), tables.element.dim());
        // Systems take longer by layers (H200, elasticity assembled: 0.52 us per element, 0.22 by tiles of nodes).
        let by_layers = layers && dofs == 1 && is_standard(ElementType::Hex27, tables);
        let layers = if by_layers { HEX27_LAYERS } else { 0 };
        let largest = if nodes > LARGEST_TILE { LARGEST_OF_SEVERAL } else { LARGEST_TILE };
        let block = if layers > 0 { nodes } else { nodes.div_ceil(nodes.div_ceil(largest).max(1)) };
        let mut shape = ElementShape { nodes, points, dim, block, layers, fused: false, dofs, symmetric };
        shape.fused = dofs == 1 && shape.entries() <= LARGEST_FUSED;
        let bytes = shape.table_bytes() + shape.nodal_bytes(1);
        if bytes > SHARED {
            let (needed, limit) = (format!("{bytes} bytes"), format!("{SHARED} bytes"));
            return Err(Error::TooLarge { what: "the basis at the points of an element".into(), needed, limit });
        }
        Ok(shape)
    }

    /// Nodes of all tiles.
    pub fn padded(&self) -> usize {
        self.nodes.next_multiple_of(self.block.max(1))
    }

    pub fn rows(&self) -> usize {
        self.dofs * self.nodes
    }

    /// Stored entries of a matrix.
    pub fn entries(&self) -> usize {
        let rows = self.rows();
        if self.symmetric { rows * (rows + 1) / 2 } else { rows * rows }
    }

    /// Tiles of an element; residuals of a component are one, too.
    pub fn tiles(&self) -> usize {
        let blocks = if self.layers > 0 { self.layers } else { self.padded() / self.block.max(1) };
        let pairs = if self.symmetric { blocks * (blocks + 1) / 2 } else { blocks * blocks };
        self.dofs * self.dofs * pairs + self.dofs
    }

    /// Numbers that an element has between the two kernels.
    pub fn work_items(&self) -> usize {
        self.points * (self.dofs * self.dofs * TERMS * TERMS + self.dofs * TERMS)
    }

    /// Elements whose nodes a block keeps beside the tables.
    pub fn group(&self) -> usize {
        let fits = |group: &usize| self.table_bytes() + self.nodal_bytes(*group) <= SHARED;
        [1, 2, 4, 8].into_iter().map(|part| LARGEST_GROUP / part).find(fits).unwrap_or(1)
    }

    /// Bytes of the tables, those of layers included.
    fn table_bytes(&self) -> usize {
        (self.points * (self.padded() * TERMS + 1) + self.layered_items()) * size_of::<f64>()
    }

    /// Bytes of the nodes' coordinates and unknowns of `elems` elements, padded.
    fn nodal_bytes(&self, elems: usize) -> usize {
        (3 + self.dofs) * self.nodes * (elems + 1) * size_of::<f64>()
    }

    /// Numbers of the face's and the line's tables, and of the list of nodes.
    fn layered_items(&self) -> usize {
        let face = |of: usize| of / self.layers.max(1);
        if self.layers == 0 {
            return 0;
        }
        face(self.points) * face(self.nodes) * 3 + self.layers * self.layers * 2 + self.nodes
    }

    /// The tables as the kernels read them: `[point][node][4]` with zeros behind the last node, then the weights. With layers, points
    /// are sorted by layer, and the tables of face and line and the nodes by layer follow.
    pub fn tables(&self, tables: &BasisTables) -> Vec<f64> {
        let at_node = |p: usize, m: usize| {
            let [a, b, c] = tables.gradients[p * self.nodes + m];
            [a, b, c, tables.values[p * self.nodes + m]]
        };
        let item = |p: usize, m: usize| if m < self.nodes { at_node(p, m) } else { [0.0; TERMS] };
        let hex27 = ElementType::Hex27;
        let is_layered = self.layers > 0;
        let points = if is_layered { by_axis(&hex27.rule().points) } else { (0..self.points).collect() };
        let basis = points.iter().flat_map(|&p| (0..self.padded()).flat_map(move |m| item(p, m)));
        let mut all: Vec<f64> = basis.chain(points.iter().map(|&p| tables.weights[p])).collect();
        if is_layered {
            let nodes = by_axis(hex27.reference_nodes());
            let (face_nodes, face_points) = (self.nodes / self.layers, self.points / self.layers);
            // phi = face phi times line phi, and the functions of a line, or of a face, add up to 1.
            for (q, m) in (0..face_points).flat_map(|q| (0..face_nodes).map(move |m| (q, m))) {
                let sum =
                    |k: usize| (0..self.layers).map(|z| at_node(points[q], nodes[z * face_nodes + m])[k]).sum::<f64>();
                all.extend([sum(0), sum(1), sum(3)]);
            }
            for (z, layer) in (0..self.layers).flat_map(|z| (0..self.layers).map(move |layer| (z, layer))) {
                let of_layer = &nodes[layer * face_nodes..][..face_nodes];
                let sum = |k: usize| of_layer.iter().map(|&m| at_node(points[z * face_points], m)[k]).sum::<f64>();
                all.extend([sum(2), sum(3)]);
            }
            all.extend(nodes.iter().map(|&node| node as f64));
        }
        all
    }
}

/// Whether these are the tables of an element at the points of its rule.
pub(super) fn is_standard(element: ElementType, tables: &BasisTables) -> bool {
    tables.element == element && *tables == BasisTables::of(element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_tiles_of_nodes() {
        let shape = |element: ElementType, symmetric: bool| {
            ElementShape::new(1, symmetric, true, &BasisTables::of(element)).unwrap()
        };
        let hex8 = shape(ElementType::Hex8, true);
        assert!(hex8.fused && hex8.entries() == 36 && hex8.padded() == 8);
        let hex27 = shape(ElementType::Hex27, true);
        assert!(!hex27.fused && (hex27.layers, hex27.padded(), hex27.tiles(), hex27.entries()) == (3, 27, 7, 378));
        let tables = BasisTables::of(ElementType::Hex27);
        let on_device = hex27.tables(&tables);
        let sizes = [27 * 27 * 4, 27, 9 * 9 * 3, 3 * 3 * 2, 27];
        assert_eq!(on_device.len(), sizes.iter().sum::<usize>());
        // The product of face and line is the function of the whole, at the last point and each node.
        let (basis, rest) = on_device.split_at(sizes[0]);
        let (face, rest) = rest[27..].split_at(sizes[2]);
        let (line, nodes) = rest.split_at(sizes[3]);
        for at in 0..27 {
            let (node, m, layer) = (nodes[at] as usize, at % 9, at / 9);
            let (face, line) = (&face[(8 * 9 + m) * 3..][..3], &line[(2 * 3 + layer) * 2..][..2]);
            let expected = [face[0] * line[1], face[1] * line[1], face[2] * line[0], face[2] * line[1]];
            for (found, expected) in basis[(26 * 27 + node) * 4..][..4].iter().zip(expected) {
                assert!((found - expected).abs() < 1e-14, "node {node}: {found}, {expected}");
            }
        }
        assert_eq!(shape(ElementType::Hex27, false).tiles(), 10);
        let hex20 = shape(ElementType::Hex20, true);
        let tables = BasisTables::of(ElementType::Hex20);
        let on_device = hex20.tables(&tables);
        assert_eq!((hex20.layers, hex20.block, hex20.padded(), hex20.tiles()), (0, 7, 21, 7));
        assert_eq!(on_device.len(), 27 * 21 * 4 + 27);
        let wedge15 = shape(ElementType::Wedge15, true);
        assert_eq!((wedge15.block, wedge15.padded(), wedge15.tiles()), (5, 15, 7));
        assert_eq!(
            (on_device[4 * 21 + 3], on_device[4 * 20], on_device[27 * 21 * 4]),
            (tables.values[20], 0.0, tables.weights[0])
        );
        assert!(!shape(ElementType::Hex8, false).fused && shape(ElementType::Wedge6, false).fused);
        let huge = BasisTables { weights: vec![1.0; 64], ..BasisTables::of(ElementType::Hex27) };
        assert!(ElementShape::new(1, true, true, &huge).unwrap_err().to_string().contains("the basis at the points"));
    }
}
