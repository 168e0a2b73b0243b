//! The fill on a GPU: launches of `kernels/{fill,heat,colour}.cu`.
//!
//! | strategy | method | same bits in every run | memory, bytes per element |
//! |---|---|---|---|
//! | `Scatter` | hardware additions, lanes on neighbouring columns; elements in a line along x first sum what they share | no | 0 |
//! | `Gather` | one thread per row sums stored element matrices, elements ascending | yes | 32, and 352 per element of a window |
//! | `Colour` | elements that share no node in parallel, plain additions, one launch per colour | yes | 4 |
//!
//! Element matrices are computed by the heat equation's kernel (trilinear hexahedra), or read from memory, for elements
//! with any number of nodes.

mod colour;
mod contraction;
mod dirichlet;
mod gather;
mod heat;
mod places;
mod scatter;
mod system;
mod windows;

pub use contraction::ContractionWorkset;
pub use heat::CudaHeatAssembly;
pub use system::ElementMatrices;

use super::{HeatInput, Strategy, step_of};
use crate::element::HEX8_NODES;
use crate::error::{check_at_least, check_length};
use crate::fill::kernel_files::HEAT;
use crate::graph::{ElemGraph, Graph};
use crate::mesh::ElemNode;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::{CrsMatrix, RowLayout};
use crate::{Error, Result};
use colour::Colour;
use gather::{Arrays, Gather};
use scatter::HEAT_THREADS;
use system::{SystemView, check_tables};
use windows::Batch;

/// A strategy on a GPU, prepared for a mesh, and its working memory.
#[derive(Debug)]
pub struct CudaFill {
    method: Method,
    elems: usize,
    nodes_per_elem: usize,
    rows: usize,
    /// Number of values, padding included.
    len: usize,
}

#[derive(Debug)]
enum Method {
    Scatter,
    Gather(Box<Gather>),
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
        Self::with_step(space, strategy, step_of(elem_node.elem_count()), elem_node, graph)
    }

    /// Prepares a strategy as [`new`](Self::new). With `Gather` the heat equation's element matrices are computed `step` elements
    /// at a time; the result does not depend on it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_step(
        space: &Cuda,
        strategy: Strategy,
        step: usize,
        elem_node: &ElemNode<CudaMemory>,
        graph: &Graph<CudaMemory>,
    ) -> Result<Self> {
        Self::prepare(space, strategy, step, elem_node, RowLayout::of_graph(&graph.crs), &graph.elem)
    }

    /// Prepares a strategy for a matrix in any layout; strategies other than `Gather` need CRS.
    fn prepare(
        space: &Cuda,
        strategy: Strategy,
        step: usize,
        elem_node: &ElemNode<CudaMemory>,
        layout: RowLayout<'_>,
        places: &ElemGraph<CudaMemory>,
    ) -> Result<Self> {
        let nodes = elem_node.nodes_per_elem();
        check_at_least("CudaFill::new", "elem_node (its nodes)", elem_node.node_count(), layout.rows)?;
        check_tables("CudaFill::new", elem_node, places, layout)?;
        if strategy != Strategy::Gather && layout.shift != 0 {
            return Err(Error::Invalid(format!("strategy {strategy} on a matrix in slices: expected gather")));
        }
        let method = match strategy {
            Strategy::Scatter => Method::Scatter,
            Strategy::Gather => Method::Gather(Box::new(Gather::new(space, step, elem_node, layout)?)),
            Strategy::Colour => Method::Colour(Colour::new(space, elem_node)?),
        };
        let elems = elem_node.elem_count();
        Ok(CudaFill { method, elems, nodes_per_elem: nodes, rows: layout.rows, len: layout.len })
    }

    /// Overwrites the values of `matrix` and `residual[..rows]` with Jacobian and residual of -K laplace(T) + T^2.
    ///
    /// The first call with `Gather` allocates a window of element matrices, 352 bytes each.
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
        let layout = RowLayout::of_graph(&graph.crs);
        let system = self.system(NAME, space, input.elem_node, &graph.elem, layout, matrix.parts_mut().1, residual)?;
        self.heat(NAME, system, input)
    }

    /// [`assemble_heat`](Self::assemble_heat) in any layout.
    fn heat(&mut self, name: &'static str, system: SystemView<'_>, input: HeatInput<'_, CudaMemory>) -> Result<()> {
        let HeatInput { elem_node, node_coord, temperature, conductivity } = input;
        check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), HEX8_NODES)?;
        check_at_least(name, "node_coord", node_coord.len(), elem_node.node_count())?;
        check_at_least(name, "temperature", temperature.len(), elem_node.node_count())?;
        let (space, nodes) = (system.space, elem_node.nodes());
        match &mut self.method {
            Method::Scatter => scatter::heat(system, input),
            Method::Gather(gather) => gather.heat(system, true, |batch, arrays| {
                let (Batch { first, count, column, capacity }, Arrays { matrices, residuals }) = (batch, arrays);
                #[rustfmt::skip]
                let arguments = arguments![
                    first as u64, count as u64, column as u64, capacity as u64, nodes, node_coord, temperature,
                    conductivity, matrices, residuals,
                ];
                space.launch(&HEAT, "store_heat", Grid::cover(count, HEAT_THREADS), arguments)
            }),
            Method::Colour(colour) => colour.heat(system, input),
        }
    }

    /// [`heat`](Self::heat) with element matrices by contractions, for `Gather`.
    fn contractions(
        &mut self,
        name: &'static str,
        workset: &mut ContractionWorkset,
        system: SystemView<'_>,
        input: HeatInput<'_, CudaMemory>,
    ) -> Result<()> {
        let (space, table) = (system.space, input.elem_node);
        check_length(name, "elem_node (nodes per element)", table.nodes_per_elem(), HEX8_NODES)?;
        check_at_least(name, "node_coord", input.node_coord.len(), table.node_count())?;
        check_at_least(name, "temperature", input.temperature.len(), table.node_count())?;
        let Method::Gather(gather) = &mut self.method else {
            return Err(Error::Invalid(format!("{name}: expected strategy gather")));
        };
        // The contractions compute all 64 entries: each takes any pair of operands and knows no symmetry.
        gather.heat(system, false, |batch, Arrays { matrices, residuals }| {
            let Batch { first, count, column, capacity } = batch;
            // Elements behind the last column go to the first ones.
            let head = count.min(capacity - column);
            for (elems, column) in [(first..first + head, column), (first + head..first + count, 0)] {
                workset.evaluate_columns(space, input, elems, column..capacity, matrices, residuals)?;
            }
            Ok(())
        })
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
        let layout = RowLayout::of_graph(&graph.crs);
        let system = self.system(NAME, space, elem_node, &graph.elem, layout, matrix.parts_mut().1, residual)?;
        self.matrices(system, elements)
    }

    /// Sums element matrices of checked lengths.
    fn matrices(&self, system: SystemView<'_>, elements: ElementMatrices<'_>) -> Result<()> {
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
            Method::Gather(_) => 2 * (gather::stored_per_elem(true) * self.elems * size_of::<f64>()) as u64,
            Method::Scatter | Method::Colour(_) => 0,
        }
    }

    /// Returns the number of element matrices that are stored at once.
    pub fn stored_elements(&self) -> usize {
        match &self.method {
            Method::Gather(gather) => gather.capacity(self.elems),
            Method::Scatter | Method::Colour(_) => 0,
        }
    }

    fn system<'a>(
        &self,
        name: &'static str,
        space: &'a Cuda,
        elem_node: &'a ElemNode<CudaMemory>,
        places: &'a ElemGraph<CudaMemory>,
        layout: RowLayout<'a>,
        values: &'a mut CudaArray<f64>,
        residual: &'a mut CudaArray<f64>,
    ) -> Result<SystemView<'a>> {
        check_length(name, "elem_node (elements)", elem_node.elem_count(), self.elems)?;
        check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), self.nodes_per_elem)?;
        check_length(name, "graph (rows)", layout.rows, self.rows)?;
        check_length(name, "graph (entries)", layout.len, self.len)?;
        check_tables(name, elem_node, places, layout)?;
        check_length(name, "matrix", values.len(), self.len)?;
        check_at_least(name, "residual", residual.len(), self.rows)?;
        Ok(SystemView { space, elem_node, places, layout, values, residual })
    }
}
