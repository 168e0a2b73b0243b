//! Chooses how a GPU computes an element's products by `kernels/apply.cu`.

use crate::element::{ElementType, Interpolation};

/// Threads per block, as in the kernels.
pub(super) const THREADS: usize = 128;
/// Most nodes of an element of one unknown that a thread computes.
const LARGEST_ALONE: usize = 8;
/// How an element is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApplyShape {
    pub nodes: usize,
    pub points: usize,
    /// Nodes along an edge where the element is done axis by axis, else 0.
    pub edge: usize,
    /// Elements per block; 0 where a thread computes an element.
    pub group: usize,
}

impl ApplyShape {
    pub fn new(element: ElementType, dofs: usize) -> Self {
        let (nodes, points, edge) = (element.nodes(), element.points(), Interpolation::new(element).edge());
        if dofs == 1 && nodes <= LARGEST_ALONE {
            return ApplyShape { nodes, points, edge, group: 0 };
        }
        let most = THREADS / nodes.max(points);
        let group = 1 << most.max(1).ilog2();
        ApplyShape { nodes, points, edge, group }
    }
}
