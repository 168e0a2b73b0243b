//! What an assembly reads and writes: a sparsity pattern with the positions of element matrices in it, values and residual.

use crate::contraction::Sum;
use crate::graph::ElemGraph;
use crate::sparse::{CrsMatrix, HostMatrix, HostRows};

/// The arrays that an assembly writes.
#[derive(Debug)]
pub enum Parts<'a> {
    /// The matrix and the residual.
    Both(&'a mut CrsMatrix, &'a mut [f64]),
    /// The matrix in a storage format, and the residual.
    Stored(&'a mut HostMatrix, &'a mut [f64]),
    /// The values of a matrix on the graph of the plan, in memory of another owner, and the residual.
    Values(&'a mut [f64], &'a mut [f64]),
    /// The matrix alone.
    Matrix(&'a mut CrsMatrix),
    /// The residual alone.
    Residual(&'a mut [f64]),
}

/// Parts of a batch of elements that an assembly reads.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Whether matrices are read.
    pub matrix: bool,
    /// Whether residuals are read.
    pub residual: bool,
}

/// The arrays that an assembly writes, of checked lengths; a part that is not wanted is empty.
pub(super) struct Output<'a> {
    /// Elements, and the positions of their matrices.
    pub elem: &'a ElemGraph,
    /// Whether scatter and colour prefetch what they add to.
    pub is_scattered: bool,
    /// Where the values of a row lie.
    pub rows: HostRows<'a>,
    pub values: &'a mut [f64],
    pub residual: &'a mut [f64],
    /// What happens to the numbers that stand there.
    pub sum: Sum,
    /// The parts that are assembled.
    pub wanted: Wanted,
}
