//! Where the values of a matrix on a GPU lie, for kernels that assemble them.

use crate::space::cuda::{CudaArray, CudaMemory};
use crate::sparse::CrsGraph;

/// Layout of a matrix's values: value `k` of row r is `starts[r >> shift] + r % 2^shift + (k << shift)`. CRS has shift 0, slices
/// of 32 rows have shift 5.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLayout<'a> {
    pub rows: usize,
    pub starts: &'a CudaArray<u64>,
    pub shift: u32,
    /// Whether rows lack the entries that other rows store, of a symmetric matrix.
    pub halves: bool,
    /// Number of values, padding included.
    pub len: usize,
}

impl<'a> RowLayout<'a> {
    /// The layout of a matrix in CRS.
    pub fn of_graph(graph: &'a CrsGraph<CudaMemory>) -> Self {
        RowLayout { rows: graph.rows(), starts: graph.row_map(), shift: 0, halves: false, len: graph.nnz() }
    }

    /// Number of starts that the layout needs.
    pub fn starts_len(&self) -> usize {
        self.rows.div_ceil(1 << self.shift) + 1
    }
}
