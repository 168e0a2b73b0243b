//! Block compressed rows (BSR): a graph of nodes with one dense B x B block per entry.
//!
//! ```text
//! y[B i + c] = sum over entries e of row i, d:  values[e, c, d] x[B entries[e] + d]
//! ```
//! Vectors are interleaved: the B dofs of a node are adjacent. A product reads 8 B^2 + 4 bytes per block where CRS reads 12 B^2:
//! 76 against 108 for B = 3. The values of one block are adjacent, so that assembly finds one position per pair of nodes.

mod host;

use super::dof_map::for_each_row;
use super::{CrsGraph, CrsMatrix, DofMap};
use crate::error::check_length;
use crate::space::{HostSpace, try_zeroed, zeroed};
use crate::{Error, Result};
use std::sync::Arc;

/// A shared graph of nodes and a dense block `[c, d]` of `B x B` values per entry.
#[derive(Clone, Debug)]
pub struct BlockCrsMatrix<const B: usize> {
    graph: Arc<CrsGraph>,
    values: Vec<f64>,
}

impl<const B: usize> BlockCrsMatrix<B> {
    /// Makes a matrix from a graph of nodes and values `[entry, c, d]`.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are `B * B` values per entry.
    pub fn new(graph: Arc<CrsGraph>, values: Vec<f64>) -> Result<Self> {
        check_length("BlockCrsMatrix::new", "values", values.len(), B * B * graph.nnz())?;
        Ok(BlockCrsMatrix { graph, values })
    }

    /// Returns the zero matrix on a graph of nodes. As `vec!`, it aborts when the memory is not available.
    pub fn zero(graph: Arc<CrsGraph>) -> Self {
        let values = zeroed(B * B * graph.nnz());
        BlockCrsMatrix { graph, values }
    }

    /// Returns the graph of nodes.
    pub fn graph(&self) -> &Arc<CrsGraph> {
        &self.graph
    }

    /// Returns the values `[entry, c, d]`.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the graph of nodes and the values `[entry, c, d]`, the latter writable.
    pub fn parts_mut(&mut self) -> (&CrsGraph, &mut [f64]) {
        (&self.graph, &mut self.values)
    }

    /// Returns the shared graph of nodes and the values, the latter writable.
    pub(crate) fn values_on_graph(&mut self) -> (&Arc<CrsGraph>, &mut [f64]) {
        (&self.graph, &mut self.values)
    }

    /// Returns the block at a pair of nodes, or `None` if the graph has no such entry.
    pub fn block(&self, row: usize, column: u32) -> Option<[[f64; B]; B]> {
        let position = self.graph.row(row).binary_search(&column).ok()?;
        let block = &self.values[(self.graph.row_range(row).start + position) * B * B..];
        Some(std::array::from_fn(|c| std::array::from_fn(|d| block[c * B + d])))
    }

    /// Copies the values into a matrix of single values on `graph`, which `dofs` made from this matrix's graph. 16 bytes per value.
    ///
    /// # Errors
    /// [`Error::Shape`] when map or graph have other sizes, [`Error::Invalid`], naming the first row found, when the graph is not that
    /// of [`DofMap::expand`]; [`Error::OutOfMemory`].
    pub fn expand<S: HostSpace>(&self, space: &S, dofs: &DofMap, graph: &Arc<CrsGraph>) -> Result<CrsMatrix> {
        check_length("BlockCrsMatrix::expand", "dofs (per node)", dofs.dofs_per_node(), B)?;
        dofs.check("BlockCrsMatrix::expand", &self.graph)?;
        check_length("BlockCrsMatrix::expand", "graph (rows)", graph.rows(), dofs.rows())?;
        check_length("BlockCrsMatrix::expand", "graph (columns)", graph.columns(), dofs.columns())?;
        check_length("BlockCrsMatrix::expand", "graph (entries)", graph.nnz(), self.values.len())?;
        let mut values = try_zeroed("values of dofs", self.values.len())?;
        for_each_row(space, graph.row_map(), &mut values, |dof, values| {
            let (node, c) = dofs.node_of_row(dof);
            let (entries, owned) = (self.graph.row_range(node), dofs.owned_of(self.graph.row(node)));
            let (columns, expected) = (graph.row(dof), B * entries.len());
            let other =
                || Error::Invalid(format!("BlockCrsMatrix::expand: row {dof} of `graph` is not that of `dofs`"));
            if columns.len() != expected {
                return Err(other());
            }
            for (position, entry) in entries.enumerate() {
                let (row, column) = (&self.values[(entry * B + c) * B..][..B], self.graph.entries()[entry] as usize);
                for (d, &value) in row.iter().enumerate() {
                    let at = dofs.position(position, d, owned);
                    if columns[at] as usize != dofs.dof(column, d) {
                        return Err(other());
                    }
                    values[at] = value;
                }
            }
            Ok(())
        })?;
        CrsMatrix::new(graph.clone(), values)
    }
}

#[cfg(test)]
mod tests;
