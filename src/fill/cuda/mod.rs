//! The fill on a GPU: launches of `kernels/{fill,heat,colour}.cu`.
//!
//! | strategy | method | same bits in every run | memory, bytes per element |
//! |---|---|---|---|
//! | `Scatter` | hardware additions, lanes on neighbouring columns; elements in a line along x first sum what they share | no | 0 |
//! | `Gather` | one thread per row sums stored element matrices, elements ascending | yes | 32 + 352 for the heat equation |
//! | `Colour` | elements that share no node in parallel, plain additions, one launch per colour | yes | 4 |
//!
//! Element matrices are computed by the heat equation's kernel (trilinear hexahedra), or read from memory, for elements
//! with any number of nodes.

mod colour;
mod contraction;
mod dirichlet;
mod gather;
mod heat;
mod scatter;
mod system;

pub use contraction::ContractionWorkset;
pub use heat::CudaHeatAssembly;
pub use system::ElementMatrices;

use super::{HeatInput, Strategy};
use crate::Result;
use crate::element::HEX8_NODES;
use crate::error::{check_at_least, check_length};
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory};
use crate::sparse::CrsMatrix;
use colour::Colour;
use gather::Gather;
use system::{SystemView, check_tables};

/// A strategy on a GPU, prepared for a mesh, and its working memory.
#[derive(Debug)]
pub struct CudaFill {
    method: Method,
    elems: usize,
    nodes_per_elem: usize,
    rows: usize,
    nnz: usize,
}

#[derive(Debug)]
enum Method {
    Scatter,
    Gather(Gather),
    Colour(Colour),
}

impl CudaFill {
    /// Prepares a strategy. `Gather` lists each row's elements and `Colour` colours the elements; both wait for the GPU.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the graph belongs to another table,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new(
        space: &Cuda,
        strategy: Strategy,
        elem_node: &ElemNode<CudaMemory>,
        graph: &Graph<CudaMemory>,
    ) -> Result<Self> {
        let rows = graph.crs.rows();
        let nodes = elem_node.nodes_per_elem();
        check_at_least("CudaFill::new", "elem_node (its nodes)", elem_node.node_count(), rows)?;
        check_tables("CudaFill::new", elem_node, graph)?;
        let method = match strategy {
            Strategy::Scatter => Method::Scatter,
            Strategy::Gather => Method::Gather(Gather::new(space, elem_node, graph)?),
            Strategy::Colour => Method::Colour(Colour::new(space, elem_node)?),
        };
        Ok(CudaFill { method, elems: elem_node.elem_count(), nodes_per_elem: nodes, rows, nnz: graph.crs.nnz() })
    }

    /// Overwrites the values of `matrix` and `residual[..rows]` with Jacobian and residual of -K laplace(T) + T^2.
    ///
    /// The first call with `Gather` allocates the element matrices, 352 bytes per element.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when an array does not fit the tables or elements have not 8 nodes,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn assemble_heat(
        &mut self,
        space: &Cuda,
        input: HeatInput<'_, CudaMemory>,
        graph: &Graph<CudaMemory>,
        matrix: &mut CrsMatrix<f64, CudaMemory>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "CudaFill::assemble_heat";
        let elem_node = input.elem_node;
        check_length(NAME, "elem_node (nodes per element)", elem_node.nodes_per_elem(), HEX8_NODES)?;
        check_at_least(NAME, "node_coord", input.node_coord.len(), elem_node.node_count())?;
        check_at_least(NAME, "temperature", input.temperature.len(), elem_node.node_count())?;
        let system = self.system(NAME, space, elem_node, graph, matrix, residual)?;
        match &mut self.method {
            Method::Scatter => scatter::heat(system, input),
            Method::Gather(gather) => gather.heat(system, input),
            Method::Colour(colour) => colour.heat(system, input),
        }
    }

    /// Overwrites the values of `matrix` and `residual[..rows]` with the sums of stored element matrices and residuals.
    /// With `Gather` the bits are those of the host's `Gather`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when an array does not fit the tables.
    pub fn assemble_matrices(
        &mut self,
        space: &Cuda,
        elem_node: &ElemNode<CudaMemory>,
        graph: &Graph<CudaMemory>,
        elements: ElementMatrices<'_>,
        matrix: &mut CrsMatrix<f64, CudaMemory>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "CudaFill::assemble_matrices";
        let (elems, nodes) = (elem_node.elem_count(), elem_node.nodes_per_elem());
        let stored = if elements.symmetric { nodes * (nodes + 1) / 2 } else { nodes * nodes };
        check_at_least(NAME, "matrices", elements.matrices.len(), elems * stored)?;
        check_at_least(NAME, "residuals", elements.residuals.len(), elems * nodes)?;
        let system = self.system(NAME, space, elem_node, graph, matrix, residual)?;
        match &self.method {
            Method::Scatter => scatter::matrices(system, elements),
            Method::Gather(gather) => gather.matrices(system, elements),
            Method::Colour(colour) => colour.matrices(system, elements),
        }
    }

    /// Returns the bytes of the heat equation's element matrices and residuals that one assembly writes and reads back:
    /// 36 + 8 numbers per element with `Gather`.
    pub fn stored_bytes(&self) -> u64 {
        match self.method {
            Method::Gather(_) => 2 * gather::stored_len(self.elems) as u64 * size_of::<f64>() as u64,
            Method::Scatter | Method::Colour(_) => 0,
        }
    }

    fn system<'a>(
        &self,
        name: &'static str,
        space: &'a Cuda,
        elem_node: &'a ElemNode<CudaMemory>,
        graph: &'a Graph<CudaMemory>,
        matrix: &'a mut CrsMatrix<f64, CudaMemory>,
        residual: &'a mut CudaArray<f64>,
    ) -> Result<SystemView<'a>> {
        check_length(name, "elem_node (elements)", elem_node.elem_count(), self.elems)?;
        check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), self.nodes_per_elem)?;
        check_length(name, "graph (rows)", graph.crs.rows(), self.rows)?;
        check_length(name, "graph (entries)", graph.crs.nnz(), self.nnz)?;
        check_tables(name, elem_node, graph)?;
        check_length(name, "matrix", matrix.values().len(), self.nnz)?;
        check_at_least(name, "residual", residual.len(), self.rows)?;
        Ok(SystemView { space, elem_node, graph, values: matrix.parts_mut().1, residual })
    }
}
