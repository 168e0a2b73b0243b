//! The fill on host memory: one implementation for [`Serial`](crate::space::Serial) and
//! [`Threads`](crate::space::Threads), one file per strategy.
//!
//! An [`ElementKernel`] computes batches of element matrices; a [`Fill`] adds them to the rows.

mod any_equation;
mod assembly;
mod batches;
mod block;
mod colour;
mod dirichlet;
mod dyn_fill;
#[cfg(test)]
mod dyn_tests;
mod element_fn;
mod gather;
#[cfg(test)]
mod group_tests;
mod heat;
mod kernel;
mod locality;
mod model;
mod operator;
mod pattern;
mod pool;
mod scatter;
mod seam;
mod sums;
#[cfg(test)]
mod tests;
mod volumes;
mod window;

pub use block::BlockFill;
pub use dyn_fill::DynFill;
pub use element_fn::{ElementFn, element_fn};
pub use heat::HostHeatAssembly;
pub use kernel::{
    ContractionKernel, ElementBatch, ElementKernel, Elements, EquationKernel, EquationScratch, FusedKernel,
};
pub use operator::HostOperator;

use super::{Parts, Strategy};
use crate::Result;
use crate::contraction::Sum;
use crate::graph::{ElemGraph, Graph};
use crate::mesh::ElemNode;
use crate::space::HostSpace;
use crate::sparse::{CrsGraph, CrsMatrix};
use assembly::{Assembly, Values};
use std::sync::Arc;

/// A strategy on host memory, prepared for a graph whose elements have `NN` nodes, and its working memory. It shares the
/// graph's pattern, positions and element-node table.
#[derive(Debug)]
pub struct Fill<const NN: usize> {
    assembly: Assembly<NN, 1>,
}

impl<const NN: usize> Fill<NN> {
    /// Prepares a strategy for a graph.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when elements have not `NN` nodes, [`Error::Invalid`](crate::Error::Invalid) when
    /// pattern and elements are of two graphs, [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new<S: HostSpace>(space: &S, strategy: Strategy, graph: &Graph) -> Result<Self> {
        Self::prepare(space, strategy, graph.crs.clone(), graph.elem.clone())
    }

    /// [`new`](Self::new) for a pattern and the elements in it.
    fn prepare<S: HostSpace>(space: &S, strategy: Strategy, crs: Arc<CrsGraph>, elem: ElemGraph) -> Result<Self> {
        Ok(Fill { assembly: Assembly::new("Fill::new", space, strategy, crs, elem)? })
    }

    /// Overwrites the values of `matrix` and `residual` with the sums over all elements.
    ///
    /// A matrix on the plan's graph or a copy of it ([`CrsMatrix::zero`] of a clone of [`Graph::crs`]) costs a comparison of two
    /// numbers. A matrix on a graph that was built apart is compared row by row, in a pass over 8 bytes per row and 4 per entry.
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
        self.assemble_parts(space, kernel, Sum::Overwrite, Parts::Both(matrix, residual))
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
        self.assembly.assemble("Fill::assemble", space, kernel, sum, parts.map(values_of))
    }

    /// Returns the element-node table.
    pub fn elem_node(&self) -> &ElemNode {
        self.assembly.elem.elem_node()
    }

    /// Returns the bytes of element matrices and residuals that one assembly writes to memory and reads back.
    pub fn stored_bytes(&self) -> u64 {
        self.assembly.stored_bytes()
    }
}

/// The values of a matrix and the graph that they are on.
fn values_of(matrix: &mut CrsMatrix) -> Values<'_> {
    let (graph, values) = matrix.values_on_graph();
    (graph, values)
}
