//! Data of the strategies: a sparsity pattern with the positions of element matrices in it, values and residual.

use crate::contraction::Sum;
use crate::fill::Wanted;
use crate::graph::ElemGraph;
use crate::sparse::CrsGraph;

/// What strategies read of a graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern<'a> {
    pub crs: &'a CrsGraph,
    pub elem: &'a ElemGraph,
    /// Whether scatter and colour prefetch what they add to.
    pub is_scattered: bool,
}

/// The arrays that an assembly writes, of checked lengths; a part that is not wanted is empty.
pub(super) struct Output<'a> {
    pub values: &'a mut [f64],
    pub residual: &'a mut [f64],
    /// What happens to the numbers that stand there.
    pub sum: Sum,
    /// The parts that are assembled.
    pub wanted: Wanted,
}
