//! Block compressed rows (BSR): a graph of nodes with one dense B x B block per entry.
//!
//! ```text
//! y[B i + c] = sum over entries e of row i, d:  values[e, c, d] x[B entries[e] + d]
//! ```
//! Vectors are interleaved: the B dofs of a node are adjacent. A product reads 8 B^2 + 4 bytes per block where CRS reads 12 B^2:
//! 76 against 108 for B = 3. The values of one block are adjacent, so that assembly finds one position per pair of nodes.

#[cfg(feature = "cuda")]
mod cuda;
mod host;

use super::dof_map::for_each_row;
use super::{CrsGraph, CrsMatrix, DofMap};
use crate::error::check_length;
use crate::space::{ExecutionSpace, HostMemory, HostSpace, MemorySpace, try_zeroed, zeroed};
use crate::{Error, LocalOrdinal, Result, RowOffset};
use std::sync::Arc;

/// A shared graph of nodes and a dense block `[c, d]` of `B x B` values per entry. A GPU multiplies with blocks of 1 to 8 dofs.
#[derive(Clone, Debug)]
pub struct BlockCrsMatrix<const B: usize, M: MemorySpace = HostMemory> {
    graph: Arc<CrsGraph<M>>,
    values: M::Array<f64>,
}

impl<const B: usize, M: MemorySpace> BlockCrsMatrix<B, M> {
    /// Returns the zero matrix on a graph of nodes in a space's memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available.
    pub fn zeros_on(space: &impl ExecutionSpace<Memory = M>, graph: Arc<CrsGraph<M>>) -> Result<Self> {
        let values = space.zeros(B * B * graph.nnz())?;
        Ok(BlockCrsMatrix { graph, values })
    }

    /// Returns the graph of nodes.
    pub fn graph(&self) -> &Arc<CrsGraph<M>> {
        &self.graph
    }

    /// Returns the values `[entry, c, d]`.
    pub fn values(&self) -> &M::Array<f64> {
        &self.values
    }

    /// Returns the graph of nodes and the values `[entry, c, d]`, the latter writable. Their number stays.
    pub fn parts_mut(&mut self) -> (&CrsGraph<M>, &mut M::Slice<f64>) {
        (&self.graph, M::slice_mut(&mut self.values))
    }

    /// Returns the shared graph of nodes and the values, the latter writable.
    pub(crate) fn values_on_graph(&mut self) -> (&Arc<CrsGraph<M>>, &mut M::Array<f64>) {
        (&self.graph, &mut self.values)
    }

    /// Returns rows and columns, in dofs.
    fn size(&self) -> (usize, usize) {
        (B * self.graph.rows(), B * self.graph.columns())
    }

    /// Returns the bytes that a product moves, each vector once.
    fn product_bytes(&self) -> usize {
        let (rows, columns) = self.size();
        let entries = (size_of::<f64>() * B * B + size_of::<LocalOrdinal>()) * self.graph.nnz();
        entries + size_of::<RowOffset>() * (self.graph.rows() + 1) + size_of::<f64>() * (rows + columns)
    }
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

    /// Copies the matrix into the memory of a space. The copy has its own graph, so it shares none with other copies.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available, [`Error::Device`] when a device fails.
    pub fn upload<S: ExecutionSpace>(&self, space: &S) -> Result<BlockCrsMatrix<B, S::Memory>> {
        Ok(BlockCrsMatrix { graph: Arc::new(self.graph.upload(space)?), values: space.upload(&self.values)? })
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
