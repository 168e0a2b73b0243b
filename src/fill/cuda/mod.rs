//! The fill on a GPU: launches of `kernels/{fill,heat,colour}.cu`.
//!
//! | strategy | how | same bits in every run | memory, bytes an element |
//! |---|---|---|---|
//! | `Scatter` | hardware additions, lanes on neighbouring columns; elements in a line along x add up first what they share | no | 0 |
//! | `Gather` | a thread a row adds up stored element matrices, elements ascending | yes | 32 + 352 for the heat equation |
//! | `Colour` | elements that share no node at once, plain additions, a launch a colour | yes | 4 |
//!
//! Element matrices come from the heat equation's kernel (trilinear hexahedra), or stored, of any number of nodes.

mod colour;
mod contraction;
mod dirichlet;
mod gather;
mod scatter;

pub use contraction::ContractionWorkset;

use super::Strategy;
use crate::element::HEX8_NODES;
use crate::error::{check_at_least, check_length};
use crate::graph::{Graph, Positions};
use crate::mesh::ElemNode;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory};
use crate::sparse::CrsMatrix;
use crate::{Error, Result};

/// Element matrices and residuals that some other kernel stored, elements side by side.
#[derive(Clone, Copy, Debug)]
pub struct ElementMatrices<'a> {
    /// `[i * nodes_per_elem + j, elem]`; with `symmetric` only entries with i <= j, `[packed(i, j), elem]`, row by row.
    pub matrices: &'a CudaArray<f64>,
    /// `[i, elem]`.
    pub residuals: &'a CudaArray<f64>,
    /// Whether matrices are symmetric, and stored as such.
    pub symmetric: bool,
}

/// What a strategy works out once for a mesh on a GPU, and its working memory.
#[derive(Debug)]
pub struct CudaFill {
    plan: Plan,
    elems: usize,
    nodes_per_elem: usize,
    rows: usize,
    nnz: usize,
}

#[derive(Debug)]
enum Plan {
    Scatter,
    Gather(gather::Plan),
    Colour(colour::Plan),
}

/// Nodes that the heat equation's kernel reads.
#[derive(Clone, Copy)]
struct Heat<'a> {
    node_coord: &'a CudaArray<[f64; 3]>,
    temperature: &'a CudaArray<f64>,
    conductivity: f64,
}

/// Tables that a fill reads and sums that it writes, of checked lengths.
struct Target<'a> {
    space: &'a Cuda,
    elem_node: &'a ElemNode<CudaMemory>,
    graph: &'a Graph<CudaMemory>,
    values: &'a mut CudaArray<f64>,
    residual: &'a mut CudaArray<f64>,
}

impl CudaFill {
    /// Prepares a strategy. `Gather` makes the lists of the rows' elements, `Colour` the colours; both wait for the GPU.
    ///
    /// # Errors
    /// [`Error::Shape`] when table and graph do not belong together, [`Error::TooLarge`] where the memory cannot be had.
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
        let plan = match strategy {
            Strategy::Scatter => Plan::Scatter,
            Strategy::Gather => Plan::Gather(gather::Plan::new(space, elem_node, graph)?),
            Strategy::Colour => Plan::Colour(colour::Plan::new(space, elem_node)?),
        };
        Ok(CudaFill { plan, elems: elem_node.elem_count(), nodes_per_elem: nodes, rows, nnz: graph.crs.nnz() })
    }

    /// Overwrites the values of `matrix` and `residual[..rows]` with Jacobian and residual of -K laplace(T) + T^2.
    ///
    /// The first call with `Gather` allocates the element matrices, 352 bytes an element.
    ///
    /// # Errors
    /// [`Error::Shape`] when an array does not fit the tables or elements have not eight nodes, [`Error::TooLarge`] where
    /// the memory cannot be had.
    pub fn assemble_heat(
        &mut self,
        space: &Cuda,
        elem_node: &ElemNode<CudaMemory>,
        graph: &Graph<CudaMemory>,
        node_coord: &CudaArray<[f64; 3]>,
        temperature: &CudaArray<f64>,
        conductivity: f64,
        matrix: &mut CrsMatrix<f64, CudaMemory>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "CudaFill::assemble_heat";
        check_length(NAME, "elem_node (nodes an element)", elem_node.nodes_per_elem(), HEX8_NODES)?;
        check_at_least(NAME, "node_coord", node_coord.len(), elem_node.node_count())?;
        check_at_least(NAME, "temperature", temperature.len(), elem_node.node_count())?;
        let heat = Heat { node_coord, temperature, conductivity };
        let target = self.target(NAME, space, elem_node, graph, matrix, residual)?;
        match &mut self.plan {
            Plan::Scatter => scatter::heat(target, heat),
            Plan::Gather(plan) => plan.heat(target, heat),
            Plan::Colour(plan) => plan.heat(target, heat),
        }
    }

    /// Overwrites the values of `matrix` and `residual[..rows]` with the sums of stored element matrices and residuals.
    /// With `Gather` the bits are those of the host's `Gather`.
    ///
    /// # Errors
    /// [`Error::Shape`] when an array does not fit the tables.
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
        let target = self.target(NAME, space, elem_node, graph, matrix, residual)?;
        match &self.plan {
            Plan::Scatter => scatter::matrices(target, elements),
            Plan::Gather(plan) => plan.matrices(target, elements),
            Plan::Colour(plan) => plan.matrices(target, elements),
        }
    }

    fn target<'a>(
        &self,
        name: &'static str,
        space: &'a Cuda,
        elem_node: &'a ElemNode<CudaMemory>,
        graph: &'a Graph<CudaMemory>,
        matrix: &'a mut CrsMatrix<f64, CudaMemory>,
        residual: &'a mut CudaArray<f64>,
    ) -> Result<Target<'a>> {
        check_length(name, "elem_node (elements)", elem_node.elem_count(), self.elems)?;
        check_length(name, "elem_node (nodes an element)", elem_node.nodes_per_elem(), self.nodes_per_elem)?;
        check_length(name, "graph (rows)", graph.crs.rows(), self.rows)?;
        check_length(name, "graph (entries)", graph.crs.nnz(), self.nnz)?;
        check_tables(name, elem_node, graph)?;
        check_length(name, "matrix", matrix.values().len(), self.nnz)?;
        check_at_least(name, "residual", residual.len(), self.rows)?;
        Ok(Target { space, elem_node, graph, values: matrix.parts_mut().1, residual })
    }
}

/// That the arrays are as long as their owners say.
fn check_tables(name: &'static str, elem_node: &ElemNode<CudaMemory>, graph: &Graph<CudaMemory>) -> Result<()> {
    let nodes = elem_node.nodes_per_elem();
    let slots = elem_node.elem_count() * nodes;
    let positions = match graph.elem.positions() {
        Positions::U8(positions) => positions.len(),
        Positions::U16(positions) => positions.len(),
        Positions::U32(positions) => positions.len(),
    };
    check_length(name, "graph (its elements' nodes)", graph.elem.nodes_per_elem(), nodes)?;
    check_at_least(name, "elem_node", elem_node.nodes().len(), slots)?;
    check_at_least(name, "graph (positions)", positions, slots * nodes)?;
    check_at_least(name, "graph (row_map)", graph.crs.row_map().len(), graph.crs.rows() + 1)
}

impl Target<'_> {
    fn rows(&self) -> usize {
        self.graph.crs.rows()
    }

    fn elems(&self) -> usize {
        self.elem_node.elem_count()
    }

    fn nodes_per_elem(&self) -> usize {
        self.elem_node.nodes_per_elem()
    }

    /// Zeroes values and residual.
    fn clear(&mut self) -> Result<()> {
        self.space.fill_bytes(self.values, 0)?;
        crate::blas::Blas::fill(self.space, self.graph.crs.rows(), 0.0, self.residual)
    }

    /// The positions, and which of their three types they have.
    fn positions(&self) -> (Argument, usize) {
        match self.graph.elem.positions() {
            Positions::U8(positions) => (positions.into(), 0),
            Positions::U16(positions) => (positions.into(), 1),
            Positions::U32(positions) => (positions.into(), 2),
        }
    }
}

/// Bytes of a position of each type.
const WIDTHS: [u32; 3] = [1, 2, 4];

/// Number of blocks, where it fits a launch.
fn blocks(count: usize) -> Result<usize> {
    const MOST: usize = i32::MAX as usize;
    if count <= MOST {
        return Ok(count);
    }
    let (needed, limit) = (format!("{count} blocks"), format!("{MOST}"));
    Err(Error::TooLarge { what: "a launch on the GPU".into(), needed, limit })
}
