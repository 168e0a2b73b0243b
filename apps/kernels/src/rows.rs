//! A matrix in compressed rows as loops by hand read it.

use minifenl::Result;
use minifenl::space::{Array, ExecutionSpace};
use minifenl::sparse::CrsMatrix;

/// The arrays of a matrix in rows, as loops by hand read them.
#[derive(Debug)]
pub struct Rows<S: ExecutionSpace> {
    /// Row i has the entries `starts[i]..starts[i + 1]`.
    pub starts: Array<S, u32>,
    /// Columns of the entries.
    pub columns: Array<S, u32>,
    /// Values of the entries.
    pub values: Array<S, f64>,
}

impl<S: ExecutionSpace> Rows<S> {
    /// Copies the arrays of a matrix of fewer than 2^32 entries.
    pub fn new(space: &S, matrix: &CrsMatrix) -> Result<Self> {
        let graph = matrix.graph();
        let starts: Vec<u32> = graph.row_map().iter().map(|&start| start as u32).collect();
        let (starts, columns) = (space.upload(&starts)?, space.upload(graph.entries())?);
        Ok(Rows { starts, columns, values: space.upload(matrix.values())? })
    }
}
