//! The fill on host memory: one implementation for [`Serial`](crate::space::Serial) and
//! [`Threads`](crate::space::Threads), one file per strategy.
//!
//! An [`ElementKernel`] computes batches of element matrices; a [`Fill`] adds them to the rows.

mod batches;
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

use super::same_graph::check_graph;
use super::{Parts, Strategy};
use crate::Result;
use crate::contraction::Sum;
use crate::error::{check_at_least, check_length};
use crate::graph::{ElemGraph, Graph};
use crate::mesh::ElemNode;
use crate::space::HostSpace;
use crate::sparse::{CrsGraph, CrsMatrix};
use batches::Batches;
use colour::Colour;
use gather::Gather;
use pattern::{Output, Pattern};
use scatter::Scatter;
use std::sync::Arc;
use sums::with_positions;

/// A strategy on host memory, prepared for a graph whose elements have `NN` nodes, and its working memory. It shares the
/// graph's pattern, positions and element-node table.
#[derive(Debug)]
pub struct Fill<const NN: usize> {
    method: Method<NN>,
    crs: Arc<CrsGraph>,
    elem: ElemGraph,
    batches: Batches<NN>,
}

#[derive(Debug)]
enum Method<const NN: usize> {
    Scatter(Scatter),
    Gather(Gather<NN>),
    Colour(Colour),
}

impl<const NN: usize> Fill<NN> {
    /// Prepares a strategy for a graph.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when elements have not `NN` nodes or pattern and elements are of two graphs,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new<S: HostSpace>(space: &S, strategy: Strategy, graph: &Graph) -> Result<Self> {
        Self::prepare(space, strategy, graph.crs.clone(), graph.elem.clone())
    }

    /// [`new`](Self::new) for a pattern and the elements in it.
    fn prepare<S: HostSpace>(space: &S, strategy: Strategy, crs: Arc<CrsGraph>, elem: ElemGraph) -> Result<Self> {
        check_tables::<NN>("Fill::new", &crs, &elem)?;
        let (elem_node, rows) = (elem.elem_node(), crs.rows());
        let method = match strategy {
            Strategy::Scatter => Method::Scatter(Scatter::new(space, elem_node, rows)?),
            Strategy::Gather => Method::Gather(Gather::new(space, elem_node, rows)?),
            Strategy::Colour => Method::Colour(Colour::new(elem_node)?),
        };
        Ok(Fill { method, crs, elem, batches: Batches::new(space.concurrency())? })
    }

    /// Overwrites the values of `matrix` and `residual` with the sums over all elements.
    ///
    /// A matrix that shares the plan's graph ([`CrsMatrix::zero`] of a clone of [`Graph::crs`]) costs one comparison of
    /// pointers. A matrix with a graph of its own is compared row by row, in one pass over its 8 bytes per row and 4 per
    /// entry.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Invalid`](crate::Error::Invalid) when the matrix is on another graph,
    /// [`Error::Shape`](crate::Error::Shape) unless the residual has one item per row.
    pub fn assemble<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<NN>,
        matrix: &mut CrsMatrix,
        residual: &mut [f64],
    ) -> Result<()> {
        let (graph, values) = matrix.values_on_graph();
        self.check(Some(graph), Some(residual))?;
        self.run::<S, true, true>(space, kernel, Output { values, residual, sum: Sum::Overwrite })
    }

    /// Assembles the matrix, the residual, or both, which overwrite what stands in them or add to it. One group of elements
    /// after another adds to the same matrix in this way; the first overwrites. With [`Strategy::Gather`] and
    /// [`Strategy::Colour`] the bits depend on the order of the groups, not on the number of threads.
    ///
    /// ```
    /// use minifenl::contraction::Sum;
    /// use minifenl::fill::{Fill, Parts, Strategy, element_fn};
    /// use minifenl::{graph, mesh::ElemNode, space::Serial, sparse::CrsMatrix};
    ///
    /// let elem_node = ElemNode::new(vec![0, 1, 1, 2], 2, 3)?;
    /// let graph = graph::build(&Serial, &elem_node, 3, graph::Strategy::default())?;
    /// let mut fill = Fill::<2>::new(&Serial, Strategy::default(), &graph)?;
    /// let kernel = element_fn(|_| ([[1.0, -1.0], [-1.0, 1.0]], [0.5; 2]));
    /// let mut residual = vec![1.0; 3];
    /// fill.assemble_parts(&Serial, &kernel, Sum::Into, Parts::Residual(&mut residual))?;
    /// assert_eq!(residual, [1.5, 2.0, 1.5]);
    /// # Ok::<(), minifenl::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`assemble`](Self::assemble).
    pub fn assemble_parts<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<NN>,
        sum: Sum,
        parts: Parts<'_>,
    ) -> Result<()> {
        match parts {
            Parts::Both(matrix, residual) => {
                let (graph, values) = matrix.values_on_graph();
                self.check(Some(graph), Some(residual))?;
                self.run::<S, true, true>(space, kernel, Output { values, residual, sum })
            }
            Parts::Matrix(matrix) => {
                let (graph, values) = matrix.values_on_graph();
                self.check(Some(graph), None)?;
                self.run::<S, true, false>(space, kernel, Output { values, residual: &mut [], sum })
            }
            Parts::Residual(residual) => {
                self.check(None, Some(residual))?;
                self.run::<S, false, true>(space, kernel, Output { values: &mut [], residual, sum })
            }
        }
    }

    fn check(&self, graph: Option<&Arc<CrsGraph>>, residual: Option<&[f64]>) -> Result<()> {
        graph.map_or(Ok(()), |graph| check_graph("Fill::assemble", graph, &self.crs))?;
        let Some(residual) = residual else { return Ok(()) };
        check_length("Fill::assemble", "residual", residual.len(), self.crs.rows())
    }

    /// Assembles the parts for which `MATRIX` and `RESIDUAL` stand, into arrays of checked lengths.
    fn run<S: HostSpace, const MATRIX: bool, const RESIDUAL: bool>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<NN>,
        output: Output<'_>,
    ) -> Result<()> {
        let graph = Pattern { crs: &self.crs, elem: &self.elem };
        let batches = &self.batches;
        match &mut self.method {
            Method::Scatter(scatter) => {
                scatter.assemble::<S, NN, MATRIX, RESIDUAL>(space, kernel, batches, graph, output)
            }
            Method::Gather(gather) => gather.assemble::<S, MATRIX, RESIDUAL>(space, kernel, batches, graph, output),
            Method::Colour(colour) => colour.assemble::<S, NN, MATRIX, RESIDUAL>(space, kernel, batches, graph, output),
        }
    }

    /// Returns the element-node table.
    pub fn elem_node(&self) -> &ElemNode {
        self.elem.elem_node()
    }

    /// Returns the bytes of element matrices and residuals that one assembly writes to memory and reads back.
    pub fn stored_bytes(&self) -> u64 {
        match &self.method {
            Method::Gather(gather) => gather.stored_bytes(),
            Method::Scatter(_) | Method::Colour(_) => 0,
        }
    }
}

/// Refuses elements of another number of nodes, and a pattern whose sizes are those of another table.
fn check_tables<const NN: usize>(name: &'static str, crs: &CrsGraph, elem: &ElemGraph) -> Result<()> {
    let (positions, elem_node) = (with_positions!(elem, positions => positions.len()), elem.elem_node());
    check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), NN)?;
    check_length(name, "graph (positions)", positions, elem_node.elem_count() * NN * NN)?;
    check_length(name, "graph (columns)", crs.columns(), elem_node.node_count())?;
    check_at_least(name, "elem_node (its nodes)", elem_node.node_count(), crs.rows())
}
