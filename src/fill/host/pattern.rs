//! A sparsity pattern with the positions of element matrices in it, borrowed from a graph or from a stored system.

use crate::graph::{ElemGraph, Graph};
use crate::sparse::CrsGraph;

/// What strategies read of a graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern<'a> {
    pub crs: &'a CrsGraph,
    pub elem: &'a ElemGraph,
}

impl<'a> From<&'a Graph> for Pattern<'a> {
    fn from(graph: &'a Graph) -> Self {
        Pattern { crs: &graph.crs, elem: &graph.elem }
    }
}
