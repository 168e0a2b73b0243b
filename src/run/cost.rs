//! Bytes and flops of one call of each phase on one rank, by formula.
//!
//! Every array counts once a pass (caches keep what is reused), without write-allocate. Node ids and columns are 4
//! bytes, row offsets and values 8; of the box of hexahedra an element has 8 nodes, its positions 1 byte, an interior row 27 entries.
//! For other problems [`Shape`] says how many.

use crate::solve::{CgVariant, Method};

/// Sizes of one rank's share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Nodes (rows) that the rank owns.
    pub owned: u64,
    /// Ghost nodes.
    pub ghosts: u64,
    /// Elements that it computes.
    pub elems: u64,
    /// Entries of its rows.
    pub nnz: u64,
}

/// Sizes of an element's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes.
    pub nodes: u64,
    /// Points of the cubature rule.
    pub points: u64,
    /// Unknowns per node.
    pub dofs: u64,
    /// Bytes of a position in a row of unknowns.
    pub position: u64,
}

impl Shape {
    /// Trilinear hexahedra with one unknown per node.
    pub const HEX8: Shape = Shape { nodes: 8, points: 8, dofs: 1, position: 1 };

    /// Bytes of the node ids, and of the positions, of an element of `per_node` rows per node.
    fn tables(&self, per_node: u64) -> [u64; 2] {
        let rows = self.nodes * per_node;
        [4 * rows, self.position * rows * rows]
    }
}

/// Bytes and flops of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes read and written.
    pub bytes: u64,
    /// Floating-point operations.
    pub flops: u64,
}

/// y = A x by a matrix in CRS. Values and columns 12 per entry, offsets 8, x 8 (ghosts too), y 8; one product and one sum per entry.
pub fn spmv(s: Sizes) -> Cost {
    Cost { bytes: 12 * s.nnz + 8 * (s.owned + 1) + 8 * (s.owned + s.ghosts) + 8 * s.owned, flops: 2 * s.nnz }
}

/// One iteration of classic CG with a matrix in CRS.
pub fn cg_iteration(s: Sizes) -> Cost {
    cg_iteration_of(CgVariant::Classic, spmv(s), s)
}

/// One CG iteration: a product with a dot product inside and the vector updates. In bytes and flops per row, classic: x and r with r.r
/// 48 and 6, p 24 and 2, p.q of the product 0 and 2. Single-reduction: p, s, x and r with r.r 72 and 10.
pub fn cg_iteration_of(variant: CgVariant, product: Cost, s: Sizes) -> Cost {
    let (bytes, flops) = match variant {
        CgVariant::Classic => (72, 2 + 8),
        CgVariant::SingleReduction => (72, 2 + 10),
    };
    Cost { bytes: product.bytes + bytes * s.owned, flops: product.flops + flops * s.owned }
}

/// One iteration of GMRES, BiCGStab or MINRES. Vectors as [`Method`] states them; `step` is a product with the preconditioner. GMRES: the
/// mean over the iterations between restarts.
pub fn general_iteration(method: Method, step: Cost, s: Sizes) -> Cost {
    let (steps, bytes, flops) = match method {
        Method::Cg => (1, 72, 10),
        Method::Gmres { restart } => (1, 40 * (restart as u64 + 1), 4 * (restart as u64 + 1)),
        Method::BiCgStab => (2, 264, 25),
        Method::MinRes => (1, 200, 21),
    };
    Cost { bytes: steps * step.bytes + bytes * s.owned, flops: steps * step.flops + flops * s.owned }
}

/// A graph: count, fill and sort at their bound, then the positions. With several unknowns per node also the expansion: the nodes' graph
/// in, that of the unknowns out.
pub fn graph(s: Sizes, shape: Shape) -> Cost {
    let pattern = |dofs: u64| 4 * dofs * dofs * s.nnz + 8 * (dofs * s.owned + 1);
    let elements = |dofs: u64| shape.tables(dofs).iter().sum::<u64>() * s.elems;
    let [table, _] = shape.tables(1);
    let of_nodes = table * s.elems + pattern(1) + elements(1) + 4 * s.nnz;
    let expanded = if shape.dofs > 1 { [1, shape.dofs].map(|dofs| pattern(dofs) + elements(dofs)) } else { [0; 2] };
    Cost { bytes: of_nodes + expanded.iter().sum::<u64>(), flops: 0 }
}

/// Counts 4 in, offsets 8 out.
pub fn graph_scan(s: Sizes) -> Cost {
    Cost { bytes: 12 * s.owned + 8, flops: 0 }
}

/// What every fill reads: ids of an element's nodes and positions, coordinates 24 and unknowns 8 per node.
fn fill_inputs(s: Sizes, shape: Shape) -> u64 {
    let ([ids, _], [_, positions]) = (shape.tables(1), shape.tables(shape.dofs));
    (ids + positions) * s.elems + (24 + 8 * shape.dofs) * (s.owned + s.ghosts)
}

/// Flops of an element's matrix and residual by the general kernel.
///
/// At each point: coordinates and Jacobian 24 per node, gradients 15 per
/// node, fields 8 per node and unknown, slopes times the basis 28 per node and pair of unknowns, sums of the matrix 8 per pair of rows and
/// of the residual 8 per row. The equation itself is not counted, nor what kernels save: half of the sums of a symmetric matrix, and a
/// quarter of those of an equation without terms of values.
pub fn element_flops(shape: Shape) -> u64 {
    let Shape { nodes, points, dofs, .. } = shape;
    let rows = dofs * nodes;
    points * ((24 + 15) * nodes + 8 * rows + 28 * dofs * rows + 8 * rows * rows + 8 * rows)
}

/// A fill that moves `sum` bytes per value and residual. They are 8 with gather, which writes them once; 24 with others, which zero
/// them (8), then read and write them (16). `stored` bytes of element matrices go through memory; none where a window of them stays in
/// the caches. Sizes are those of the nodes.
pub fn fill(s: Sizes, shape: Shape, sum: u64, element_flops: u64, stored: u64) -> Cost {
    let sums = shape.dofs * shape.dofs * s.nnz + shape.dofs * s.owned;
    Cost { bytes: fill_inputs(s, shape) + sum * sums + stored, flops: element_flops * s.elems }
}

/// Dirichlet elimination of `entries` listed values and residuals: 8 bytes of list read, 8 written.
pub fn boundary(entries: u64) -> Cost {
    Cost { bytes: 16 * entries, flops: 0 }
}

/// Values copied into the format that products read. Of each entry 8 bytes are read and `item` written.
pub fn format(entries: u64, item: u64) -> Cost {
    Cost { bytes: (8 + item) * entries, flops: 0 }
}

/// One exchange: `sent` items packed (read, written) and sent, ghosts received.
pub fn halo(sent: u64, s: Sizes) -> Cost {
    Cost { bytes: 8 * (3 * sent + s.ghosts), flops: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One interior node of an infinite mesh (one offset more for the end of the table).
    const NODE: Sizes = Sizes { owned: 1, ghosts: 0, elems: 1, nnz: 27 };

    #[test]
    fn costs_of_an_interior_node_equal_those_by_hand() {
        assert_eq!(spmv(NODE), Cost { bytes: 216 + 108 + 16 + 8 + 8, flops: 54 });
        assert_eq!(cg_iteration(NODE), Cost { bytes: 356 + 72, flops: 64 });
        assert_eq!(cg_iteration_of(CgVariant::SingleReduction, spmv(NODE), NODE), Cost { bytes: 356 + 72, flops: 66 });
        // Vectors as the methods state them: GMRES of up to 2 vectors moves 80 and 160 bytes in turn.
        let step = Cost { bytes: 1000, flops: 100 };
        assert_eq!(general_iteration(Method::BiCgStab, step, NODE), Cost { bytes: 2264, flops: 225 });
        let mean = (80 + 160) / 2;
        assert_eq!(
            general_iteration(Method::Gmres { restart: 2 }, step, NODE),
            Cost { bytes: 1000 + mean, flops: 112 }
        );
        assert_eq!(graph_scan(NODE).bytes, 20);
        assert_eq!(graph(NODE, Shape::HEX8).bytes, 32 + 108 + 16 + 32 + 64 + 108);
        assert_eq!(fill(NODE, Shape::HEX8, 24, 7, 0), Cost { bytes: 32 + 64 + 32 + 24 * 28, flops: 7 });
        assert_eq!(fill(NODE, Shape::HEX8, 8, 7, 704), Cost { bytes: 32 + 64 + 32 + 8 * 28 + 704, flops: 7 });
    }

    #[test]
    fn costs_of_other_shapes_equal_those_by_hand() {
        // A node with the neighbours of a hexahedron's, and elements of 20 nodes with 3 unknowns each.
        let shape = Shape { nodes: 20, points: 27, dofs: 3, position: 2 };
        let nodes = 80 + (108 + 16) + (80 + 2 * 400) + 108;
        let expansion = (108 + 16 + 80 + 800) + (9 * 108 + 8 * 4 + 240 + 2 * 3600);
        assert_eq!(graph(NODE, shape).bytes, nodes + expansion);
        let inputs = 80 + 2 * 3600 + 24 + 24;
        assert_eq!(fill(NODE, shape, 8, 5, 100), Cost { bytes: inputs + 8 * (243 + 3) + 100, flops: 5 });
        assert_eq!(fill(Sizes { ghosts: 2, ..NODE }, shape, 24, 0, 0).bytes, inputs + 2 * 48 + 24 * 246);
    }

    #[test]
    fn flops_of_an_element_equal_those_by_hand() {
        // Per point: 156 before the fields, 32 and 32 for fields and residual, 112 slopes times basis, 128 of the matrix.
        let tet4 = Shape { nodes: 4, points: 4, dofs: 1, position: 1 };
        assert_eq!(element_flops(tet4), 4 * (156 + 32 + 112 + 128 + 32));
        // Nine times as many slopes and entries, three times as many fields and rows.
        assert_eq!(element_flops(Shape { dofs: 3, ..tet4 }), 4 * (156 + 3 * 32 + 9 * 112 + 9 * 128 + 3 * 32));
    }

    #[test]
    fn ghosts_cost_reads_only() {
        assert_eq!(spmv(Sizes { ghosts: 10, ..NODE }).bytes - spmv(NODE).bytes, 80);
        assert_eq!(halo(3, Sizes { ghosts: 2, ..NODE }).bytes, 88);
        assert_eq!((boundary(10).bytes, format(27, 8).bytes, format(14, 4).bytes), (160, 432, 168));
    }
}
