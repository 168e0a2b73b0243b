//! Assembly of several dofs per node into blocks: displacements, velocities, several species.

use super::assembly::Assembly;
use super::kernel::ElementKernel;
use crate::Result;
use crate::contraction::Sum;
use crate::fill::{Parts, Strategy};
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::HostSpace;
use crate::sparse::BlockCrsMatrix;

/// A strategy on host memory for elements of `ND` dofs, `B` dofs at each of their `ND / B` nodes.
///
/// Dof `B i + c` of an element is field c at node i. Graph and positions are those of the nodes: 1 byte per pair of nodes of an
/// element in rows of up to 255 nodes, B^2 times less than positions of dofs. Strategies, sums and promises about bits are those of
/// [`Fill`](super::Fill).
///
/// ```
/// use minifenl::fill::{BlockFill, Strategy, element_fn};
/// use minifenl::{graph, mesh::ElemNode, space::Serial, sparse::BlockCrsMatrix};
///
/// // A bar along (3, 4) / 5 from node 0 to node 1, free to move in the plane: K = n n^T [1, -1; -1, 1].
/// let elem_node = ElemNode::new(vec![0, 1], 2, 2)?;
/// let graph = graph::build(&Serial, &elem_node, 2, graph::Strategy::default())?;
/// let n = [0.6, 0.8];
/// let stiffness = |r: usize, s: usize| (if r / 2 == s / 2 { 1.0 } else { -1.0 }) * n[r % 2] * n[s % 2];
/// let kernel = element_fn(|_| (std::array::from_fn(|r| std::array::from_fn(|s| stiffness(r, s))), [0.0; 4]));
/// let (mut matrix, mut residual) = (BlockCrsMatrix::<2>::zero(graph.crs.clone()), vec![f64::NAN; 4]);
/// BlockFill::<4, 2>::new(&Serial, Strategy::Gather, &graph)?.assemble(&Serial, &kernel, &mut matrix, &mut residual)?;
/// assert_eq!(matrix.block(0, 1), Some([[-0.6 * 0.6, -0.6 * 0.8], [-0.8 * 0.6, -0.8 * 0.8]]));
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Debug)]
pub struct BlockFill<const ND: usize, const B: usize> {
    assembly: Assembly<ND, B>,
}

impl<const ND: usize, const B: usize> BlockFill<ND, B> {
    /// Prepares a strategy for a graph of nodes.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) unless `ND` is a multiple of `B`, otherwise those of
    /// [`Fill::new`](super::Fill::new).
    pub fn new<S: HostSpace>(space: &S, strategy: Strategy, graph: &Graph) -> Result<Self> {
        let (crs, elem) = (graph.crs.clone(), graph.elem.clone());
        Ok(BlockFill { assembly: Assembly::new("BlockFill::new", space, strategy, crs, elem)? })
    }

    /// Overwrites the values of `matrix` and `residual`, `[node, field]`, with the sums over all elements.
    ///
    /// # Errors
    /// Those of [`Fill::assemble`](super::Fill::assemble).
    pub fn assemble<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<ND>,
        matrix: &mut BlockCrsMatrix<B>,
        residual: &mut [f64],
    ) -> Result<()> {
        self.assemble_parts(space, kernel, Sum::Overwrite, Parts::Both(matrix, residual))
    }

    /// Assembles the matrix, the residual, or both, which overwrite what stands in them or add to it.
    ///
    /// # Errors
    /// Those of [`Fill::assemble`](super::Fill::assemble).
    pub fn assemble_parts<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<ND>,
        sum: Sum,
        parts: Parts<'_, &mut BlockCrsMatrix<B>>,
    ) -> Result<()> {
        self.assembly.assemble(
            "BlockFill::assemble",
            space,
            kernel,
            sum,
            parts.map(|matrix| {
                let (graph, values) = matrix.values_on_graph();
                (graph, &mut values[..])
            }),
        )
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

#[cfg(test)]
mod tests;
