//! [`Fill`]: a strategy with its graph and working memory.

use super::batches::storing;
use super::blocks::BlockCounts;
use super::kernel::ElementKernel;
use super::plan::{Adding, Plan};
use super::sums::add_elems;
use crate::Result;
use crate::contraction::Sum;
use crate::fill::{Additions, Parts, Strategy};
use crate::graph::{ElemGraph, Graph};
use crate::mesh::ElemNode;
use crate::space::Threads;
use crate::sparse::{CrsGraph, CrsMatrix};
use std::sync::Arc;

/// A strategy on host memory, prepared for a graph whose elements have `NN` nodes, and its working memory. It shares the
/// graph's pattern, positions and element-node table.
///
/// With several dofs per node the nodes are those of [`Graph::with_dofs`], and `NN` is the number of dofs of an element.
#[derive(Debug)]
pub struct Fill<const NN: usize>(Plan);

impl<const NN: usize> Fill<NN> {
    /// Prepares a strategy for a graph.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when elements have not `NN` nodes, [`Error::Invalid`](crate::Error::Invalid) when
    /// pattern and elements are of two graphs, [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new(space: &Threads, strategy: Strategy, graph: &Graph) -> Result<Self> {
        Self::prepare(space, Some(strategy), graph.crs.clone(), graph.elem.clone())
    }

    /// [`new`](Self::new) for a pattern and the elements in it. Without a strategy, the blocks of `Scatter` add without atomicity.
    pub(super) fn prepare(
        space: &Threads,
        strategy: Option<Strategy>,
        crs: Arc<CrsGraph>,
        elem: ElemGraph,
    ) -> Result<Self> {
        Plan::new(space, strategy, crs, elem, NN).map(Fill)
    }

    /// Overwrites the values of `matrix` and `residual` with the sums over all elements.
    ///
    /// A matrix on the plan's graph or a copy of it ([`CrsMatrix::zero`] of a clone of [`Graph::crs`]) costs a comparison of two
    /// numbers. A matrix on a graph that was built apart is compared row by row, in a pass over 8 bytes per row and 4 per entry. So is the
    /// element-node table of the kernel, in a pass over 4 bytes per node of an element, unless it is a copy of the plan's.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Invalid`](crate::Error::Invalid) when the matrix is on another graph
    /// or the kernel has other elements, [`Error::Shape`](crate::Error::Shape) unless the residual has one item per row; those of the kernel, such as
    /// [`Error::Folded`](crate::Error::Folded); [`Error::OutOfMemory`](crate::Error::OutOfMemory) for working memory.
    pub fn assemble(
        &mut self,
        space: &Threads,
        kernel: &dyn ElementKernel<NN>,
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
    pub fn assemble_parts(
        &mut self,
        space: &Threads,
        kernel: &dyn ElementKernel<NN>,
        sum: Sum,
        parts: Parts<'_>,
    ) -> Result<()> {
        let add: &Adding = &|elems, sums, adds| add_elems(kernel, elems, sums, adds);
        self.0.assemble(space, kernel.elem_node(), (sum, parts), add, &|wanted, elems| storing(kernel, wanted, elems))
    }

    /// Returns the element-node table.
    pub fn elem_node(&self) -> &ElemNode {
        self.0.elem.elem_node()
    }

    /// Returns the bytes of element matrices and residuals that one assembly writes to memory and reads back.
    pub fn stored_bytes(&self) -> u64 {
        self.0.stored_bytes()
    }

    /// Counts the blocks of elements and the phases in which they are assembled; `None` with [`Strategy::Gather`]. With
    /// [`Strategy::Colour`] and elements in random order many blocks of 256 elements share nodes: as many phases as blocks are the work of one
    /// thread.
    pub fn blocks(&self) -> Option<BlockCounts> {
        Some(self.0.blocks()?.counts())
    }

    /// Counts the additions of one assembly of matrix and residual: `NN + 1` per corner of an element at a row. Returns `None` with
    /// [`Strategy::Gather`], which writes each sum once. One pass over the table.
    pub fn additions(&self, space: &Threads) -> Option<Additions> {
        Some(self.0.blocks()?.adds.count(space, self.elem_node(), self.0.crs.rows()))
    }
}
