//! The fill on host memory: one implementation for [`Serial`](crate::space::Serial) and
//! [`Threads`](crate::space::Threads), one file per strategy.
//!
//! An [`ElementKernel`] computes batches of element matrices; a [`Fill`] adds them to the rows.

mod colour;
mod dirichlet;
mod element_fn;
mod gather;
mod heat;
mod kernel;
mod pattern;
mod scatter;
mod seam;
mod sums;
#[cfg(test)]
mod tests;
mod window;

pub use element_fn::{ElementFn, element_fn};
pub use heat::HostHeatAssembly;
pub use kernel::{ContractionKernel, ElementBatch, ElementKernel, Elements, FusedKernel};

use super::Strategy;
use crate::Result;
use crate::error::{check_at_least, check_length};
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::HostSpace;
use crate::sparse::CrsMatrix;
use colour::Colour;
use gather::Gather;
use pattern::Pattern;
use scatter::Scatter;
use sums::with_positions;

/// A strategy on host memory, prepared for a mesh whose elements have `NN` nodes, and its working memory.
#[derive(Debug)]
pub struct Fill<const NN: usize> {
    method: Method<NN>,
    elems: usize,
    rows: usize,
    nnz: usize,
}

#[derive(Debug)]
enum Method<const NN: usize> {
    Scatter(Scatter),
    Gather(Gather<NN>),
    Colour(Colour),
}

impl<const NN: usize> Fill<NN> {
    /// Prepares a strategy.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the table has other elements or the graph belongs to another table,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new<S: HostSpace>(space: &S, strategy: Strategy, elem_node: &ElemNode, graph: &Graph) -> Result<Self> {
        Self::prepare(space, strategy, elem_node, graph.into())
    }

    /// [`new`](Self::new) for a borrowed pattern.
    fn prepare<S: HostSpace>(space: &S, strategy: Strategy, elem_node: &ElemNode, graph: Pattern<'_>) -> Result<Self> {
        check_tables::<NN>("Fill::new", elem_node, graph)?;
        let rows = graph.crs.rows();
        let method = match strategy {
            Strategy::Scatter => Method::Scatter(Scatter::new(space, elem_node, rows)?),
            Strategy::Gather => Method::Gather(Gather::new(space, elem_node, rows)?),
            Strategy::Colour => Method::Colour(Colour::new(elem_node)?),
        };
        Ok(Fill { method, elems: elem_node.elem_count(), rows, nnz: graph.crs.nnz() })
    }

    /// Overwrites the values of `matrix` and `residual[..rows]` with the sums over all elements.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when table or graph have other sizes than those that the strategy was prepared
    /// for, the matrix has another number of entries than the graph, or the residual fewer items than rows.
    pub fn assemble<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<NN>,
        elem_node: &ElemNode,
        graph: &Graph,
        matrix: &mut CrsMatrix,
        residual: &mut [f64],
    ) -> Result<()> {
        let values = matrix.parts_mut().1;
        self.assemble_values(space, kernel, elem_node, graph.into(), values, residual)
    }

    /// [`assemble`](Self::assemble) for a borrowed pattern.
    fn assemble_values<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<NN>,
        elem_node: &ElemNode,
        graph: Pattern<'_>,
        values: &mut [f64],
        residual: &mut [f64],
    ) -> Result<()> {
        check_tables::<NN>("Fill::assemble", elem_node, graph)?;
        check_length("Fill::assemble", "elem_node (elements)", elem_node.elem_count(), self.elems)?;
        check_length("Fill::assemble", "graph (rows)", graph.crs.rows(), self.rows)?;
        check_length("Fill::assemble", "graph (entries)", graph.crs.nnz(), self.nnz)?;
        check_length("Fill::assemble", "matrix", values.len(), self.nnz)?;
        check_at_least("Fill::assemble", "residual", residual.len(), self.rows)?;
        let residual = &mut residual[..self.rows];
        match &mut self.method {
            Method::Scatter(scatter) => scatter.assemble(space, kernel, elem_node, graph, values, residual),
            Method::Gather(gather) => gather.assemble(space, kernel, elem_node, graph, values, residual)?,
            Method::Colour(colour) => colour.assemble(space, kernel, elem_node, graph, values, residual),
        }
        Ok(())
    }

    /// Returns the bytes of element matrices and residuals that one assembly writes to memory and reads back.
    pub fn stored_bytes(&self) -> u64 {
        match &self.method {
            Method::Gather(gather) => gather.stored_bytes(),
            Method::Scatter(_) | Method::Colour(_) => 0,
        }
    }
}

/// Refuses elements of another number of nodes, and a graph whose sizes are those of another table.
fn check_tables<const NN: usize>(name: &'static str, elem_node: &ElemNode, graph: Pattern<'_>) -> Result<()> {
    let positions = with_positions!(graph.elem, positions => positions.len());
    check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), NN)?;
    check_length(name, "graph (its elements' nodes)", graph.elem.nodes_per_elem(), NN)?;
    check_length(name, "graph (positions)", positions, elem_node.elem_count() * NN * NN)?;
    check_length(name, "graph (columns)", graph.crs.columns(), elem_node.node_count())?;
    check_at_least(name, "elem_node (its nodes)", elem_node.node_count(), graph.crs.rows())
}
