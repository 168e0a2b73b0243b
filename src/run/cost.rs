//! Bytes and flops of one call of each phase on one rank, by formula: pure functions of sizes.
//!
//! Every array counts once a pass (caches keep what is reused), without write-allocate. Node ids and columns are 4
//! bytes, positions in a row 1, row offsets and values 8; an element has 8 nodes, an interior row 27 entries.

use crate::solve::CgVariant;

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

/// What one call moves and computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes read and written.
    pub bytes: u64,
    /// Floating-point operations.
    pub flops: u64,
}

/// y = A x: values and columns 12 per entry, offsets 8, x 8 (ghosts too), y 8; one product and one sum per entry.
pub fn spmv(s: Sizes) -> Cost {
    Cost { bytes: 12 * s.nnz + 8 * (s.owned + 1) + 8 * (s.owned + s.ghosts) + 8 * s.owned, flops: 2 * s.nnz }
}

/// One iteration of classic CG with a matrix in CRS.
pub fn cg_iteration(s: Sizes) -> Cost {
    cg_iteration_of(CgVariant::Classic, spmv(s), s)
}

/// One CG iteration: a product with a dot product inside and the vector updates, in bytes and flops per row. Classic: x and r with r.r
/// 48 and 8, p 24 and 2. Single-reduction: p, s, x and r with r.r 72 and 10. Pipelined: z, s, p, x, r and w with r.r and w.r 104
/// and 16.
pub fn cg_iteration_of(variant: CgVariant, product: Cost, s: Sizes) -> Cost {
    let (bytes, flops) = match variant {
        CgVariant::Classic => (72, 2 + 8),
        CgVariant::SingleReduction => (72, 2 + 10),
        CgVariant::Pipelined => (104, 2 + 16),
    };
    Cost { bytes: product.bytes + bytes * s.owned, flops: product.flops + flops * s.owned }
}

/// Count, fill and sort at their bound (table in, columns and offsets out), then [`graph_elem`].
pub fn graph(s: Sizes) -> Cost {
    Cost { bytes: 32 * s.elems + 4 * s.nnz + 8 * (s.owned + 1) + graph_elem(s).bytes, flops: 0 }
}

/// Counts 4 in, offsets 8 out.
pub fn graph_scan(s: Sizes) -> Cost {
    Cost { bytes: 12 * s.owned + 8, flops: 0 }
}

/// ElemGraph: table 32 per element and columns 4 per entry in, 64 positions of 1 out.
pub fn graph_elem(s: Sizes) -> Cost {
    Cost { bytes: (32 + 64) * s.elems + 4 * s.nnz, flops: 0 }
}

/// What every fill reads: table 32 and positions 64 per element, coordinates 24 and T 8 per node.
fn fill_inputs(s: Sizes) -> u64 {
    (32 + 64) * s.elems + 32 * (s.owned + s.ghosts)
}

/// Scatter and colour: values and residual are zeroed (8) and then read and written (16). `stored` bytes of element matrices go
/// through memory before.
pub fn fill_scatter(s: Sizes, element_flops: u64, stored: u64) -> Cost {
    Cost { bytes: fill_inputs(s) + 24 * (s.nnz + s.owned) + stored, flops: element_flops * s.elems }
}

/// Gather: values and residual are written once. `stored` bytes of element matrices go through memory; none where a window of them
/// stays in the caches.
pub fn fill_gather(s: Sizes, element_flops: u64, stored: u64) -> Cost {
    Cost { bytes: fill_inputs(s) + 8 * (s.nnz + s.owned) + stored, flops: element_flops * s.elems }
}

/// Dirichlet elimination: `entries` listed values and residuals, 8 bytes of list read and 8 written each.
pub fn boundary(entries: u64) -> Cost {
    Cost { bytes: 16 * entries, flops: 0 }
}

/// Values copied from CRS into another format: 8 per entry read, 8 written.
pub fn format(s: Sizes) -> Cost {
    Cost { bytes: 16 * s.nnz, flops: 0 }
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
        assert_eq!(cg_iteration_of(CgVariant::Pipelined, spmv(NODE), NODE), Cost { bytes: 356 + 104, flops: 72 });
        assert_eq!(graph_scan(NODE).bytes, 20);
        assert_eq!(graph(NODE).bytes, 32 + 108 + 16 + 32 + 64 + 108);
        assert_eq!(fill_scatter(NODE, 7, 0), Cost { bytes: 32 + 64 + 32 + 24 * 28, flops: 7 });
        assert_eq!(fill_gather(NODE, 7, 704), Cost { bytes: 32 + 64 + 32 + 8 * 28 + 704, flops: 7 });
    }

    #[test]
    fn ghosts_cost_reads_only() {
        assert_eq!(spmv(Sizes { ghosts: 10, ..NODE }).bytes - spmv(NODE).bytes, 80);
        assert_eq!(halo(3, Sizes { ghosts: 2, ..NODE }).bytes, 88);
        assert_eq!((boundary(10).bytes, format(NODE).bytes), (160, 432));
    }
}
