//! Chooses how a GPU computes an element's products, and its tables for `kernels/apply.cu`.

use crate::element::{Basis, DIM, ElementType, Interpolation};

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
        let (nodes, points) = (element.nodes(), element.rule().weights.len());
        if dofs == 1 && nodes <= LARGEST_ALONE {
            let edge = Interpolation::new(element).edge();
            return ApplyShape { nodes, points, edge, group: 0 };
        }
        let most = THREADS / nodes.max(points);
        let group = 1 << most.max(1).ilog2();
        ApplyShape { nodes, points, edge: Interpolation::new(element).edge(), group }
    }

    /// The numbers of the basis, as the kernels read them.
    pub fn numbers(self, element: ElementType) -> Vec<f64> {
        if self.edge > 0 {
            return Interpolation::new(element).numbers();
        }
        let (basis, rule) = (Basis::new(element), element.rule());
        let at = |&xi: &[f64; DIM]| {
            let pairs = basis.gradients(xi).into_iter().zip(basis.values(xi));
            pairs.flat_map(|([a, b, c], value)| [a, b, c, value]).collect::<Vec<f64>>()
        };
        rule.points.iter().flat_map(at).chain(rule.weights.iter().copied()).collect()
    }
}
