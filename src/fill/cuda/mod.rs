//! The fill on a GPU: launches of `kernels/{fill,heat,fill_contraction,equation,intrepid,apply}.cu`.
//!
//! | strategy | method | same bits in every run | memory, bytes per element |
//! |---|---|---|---|
//! | `Scatter` | a hardware addition of every entry, lanes on neighbouring columns | no | 0 |
//! | `Gather` | threads per row (one for elements of eight nodes) sum stored element matrices, elements ascending | yes | 32, and 352 per element of a window |
//!
//! `Colour` is refused: a mesh of hexahedra has about 15 colours, each a launch that reads and writes the matrix: 4 to 12 times slower than `Gather` with the fused kernel, 1.5 to 3.6 with others (H200).
//!
//! Element matrices of trilinear hexahedra are computed by the fused kernel of the heat equation or, for an equation of one unknown,
//! by contractions on tensor cores, those of any element by the kernels of an [`EquationText`]; for elements with any number of nodes
//! they may also be read from memory. Kernel `intrepid` takes the nine contractions instead, and stores full matrices. But for the
//! fused kernel, `Scatter` stores element matrices first, those of a step of elements at a time: 352 bytes per trilinear hexahedron, 576 with `intrepid`.

mod adds;
mod apply_shape;
mod dirichlet;
mod element_matrices;
mod element_shape;
mod equation;
mod equation_text;
mod gallery;
mod gather;
mod given;
mod operator;
mod places;
mod points;
mod system;
mod tensor_cores;
mod windows;
mod worksets;

pub use equation::CudaEquationKernel;
pub use equation_text::EquationText;
pub use gallery::CudaAssembly;
pub use given::CudaGiven;
pub use operator::CudaModelOperator;
pub use system::{ElementMatrices, EquationInput};

use super::same_graph::{check_copy, check_elements};
use super::{Additions, Strategy, step_of};
use crate::contraction::Sum;
use crate::error::{check_at_least, check_length};
use crate::graph::{ElemGraph, Graph};
use crate::space::cuda::{Cuda, CudaArray, CudaMemory};
use crate::sparse::{CrsGraph, CrsMatrix, RowLayout};
use crate::{Error, Result};
use adds::Adds;
use gather::Gather;
use std::sync::Arc;
use system::{SystemView, check_tables};

/// A strategy on a GPU, prepared for a graph, and its working memory. It shares the graph's pattern, positions and
/// element-node table.
#[derive(Debug)]
pub struct CudaFill {
    method: Method,
    /// Table and positions; with `crs` those of the graph that the plan was made for, else those of a stored system.
    places: ElemGraph<CudaMemory>,
    crs: Option<Arc<CrsGraph<CudaMemory>>>,
    rows: usize,
    /// Number of values, padding included.
    len: usize,
    /// Elements whose matrices are computed at a time.
    step: usize,
}

#[derive(Debug)]
enum Method {
    Adds(Adds, Additions),
    Gather(Box<Gather>),
}

impl CudaFill {
    /// Prepares a strategy. `Gather` lists each row's elements and waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when pattern and elements are of two graphs,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new(space: &Cuda, strategy: Strategy, graph: &Graph<CudaMemory>) -> Result<Self> {
        Self::with_step(space, strategy, step_of(graph.elem.elem_node().elem_count()), graph)
    }

    /// Prepares a strategy as [`new`](Self::new). Element matrices are computed `step` elements at a time; the result of `Gather` does
    /// not depend on it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_step(space: &Cuda, strategy: Strategy, step: usize, graph: &Graph<CudaMemory>) -> Result<Self> {
        check_elements("CudaFill::new", &graph.elem, &graph.crs)?;
        let fill = Self::prepare(space, strategy, step, RowLayout::of_graph(&graph.crs), &graph.elem)?;
        Ok(CudaFill { crs: Some(graph.crs.clone()), ..fill })
    }

    /// Prepares a strategy for a matrix in any layout; strategies other than `Gather` need CRS.
    fn prepare(
        space: &Cuda,
        strategy: Strategy,
        step: usize,
        layout: RowLayout<'_>,
        places: &ElemGraph<CudaMemory>,
    ) -> Result<Self> {
        let elem_node = places.elem_node();
        check_at_least("CudaFill::new", "elem_node (its nodes)", elem_node.node_count(), layout.rows)?;
        check_tables("CudaFill::new", places, layout)?;
        if strategy != Strategy::Gather && layout.shift != 0 {
            return Err(Error::Invalid(format!("strategy {strategy} on a matrix in slices: expected gather")));
        }
        let adds = |adds: Adds| adds.count(space, places, layout.rows).map(|additions| Method::Adds(adds, additions));
        let method = match strategy {
            Strategy::Scatter => adds(Adds::Atomic)?,
            Strategy::Colour => return Err(on_hosts(strategy)),
            Strategy::Gather => Method::Gather(Box::new(Gather::new(space, step, elem_node, layout)?)),
        };
        Ok(CudaFill { method, places: places.clone(), crs: None, rows: layout.rows, len: layout.len, step })
    }

    /// Returns the graph of the plan and the values of a matrix on it or on a copy. Contents of graphs are not compared: that would
    /// wait for the GPU.
    fn graph_of<'a>(
        &self,
        name: &'static str,
        matrix: &'a mut CrsMatrix<f64, CudaMemory>,
    ) -> Result<(Arc<CrsGraph<CudaMemory>>, &'a mut CudaArray<f64>)> {
        let (graph, values) = matrix.parts_mut();
        let Some(crs) = &self.crs else {
            return Err(Error::Invalid(format!("{name}: expected a plan that was made for a graph")));
        };
        check_copy(name, graph, crs)?;
        Ok((crs.clone(), values))
    }

    /// Overwrites the values of `matrix` and `residual[..rows]` with the sums of stored element matrices and residuals.
    /// With `Gather` the bits are those of the host's `Gather`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when an array does not fit the tables, [`Error::Invalid`](crate::Error::Invalid) when
    /// the matrix is not on the graph of the plan or a copy.
    pub fn assemble_matrices(
        &mut self,
        space: &Cuda,
        elements: ElementMatrices<'_>,
        matrix: &mut CrsMatrix<f64, CudaMemory>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "CudaFill::assemble_matrices";
        let (elems, nodes) = (self.elems(), self.places.nodes_per_elem());
        let stored = if elements.symmetric { nodes * (nodes + 1) / 2 } else { nodes * nodes };
        check_at_least(NAME, "matrices", elements.matrices.len(), elems * stored)?;
        check_at_least(NAME, "residuals", elements.residuals.len(), elems * nodes)?;
        let (crs, values) = self.graph_of(NAME, matrix)?;
        let system = self.system(NAME, space, &self.places, RowLayout::of_graph(&crs), values, residual)?;
        self.matrices(system, elements)
    }

    /// Sums element matrices of checked lengths.
    fn matrices(&self, mut system: SystemView<'_>, elements: ElementMatrices<'_>) -> Result<()> {
        match &self.method {
            Method::Adds(adds, _) => {
                system.clear()?;
                adds.matrices(&mut system, (0, self.elems()), elements)
            }
            Method::Gather(gather) => gather.matrices(system, elements),
        }
    }

    /// Returns the number of element matrices that `Gather` stores at once, 0 with `Scatter`.
    pub fn stored_elements(&self) -> usize {
        match &self.method {
            Method::Gather(gather) => gather.capacity(self.elems()),
            Method::Adds(..) => 0,
        }
    }

    /// Returns the additions of one assembly; `None` with `Gather`, which writes each sum once.
    pub fn additions(&self) -> Option<Additions> {
        match self.method {
            Method::Adds(_, additions) => Some(additions),
            Method::Gather(_) => None,
        }
    }

    fn elems(&self) -> usize {
        self.places.elem_node().elem_count()
    }

    fn system<'a>(
        &self,
        name: &'static str,
        space: &'a Cuda,
        places: &'a ElemGraph<CudaMemory>,
        layout: RowLayout<'a>,
        values: &'a mut CudaArray<f64>,
        residual: &'a mut CudaArray<f64>,
    ) -> Result<SystemView<'a>> {
        check_length(name, "graph (rows)", layout.rows, self.rows)?;
        check_length(name, "graph (entries)", layout.len, self.len)?;
        check_tables(name, places, layout)?;
        check_length(name, "matrix", values.len(), self.len)?;
        check_at_least(name, "residual", residual.len(), self.rows)?;
        Ok(SystemView { space, places, layout, values, residual, sum: Sum::Overwrite })
    }
}

/// Refuses a strategy of hosts.
fn on_hosts(strategy: Strategy) -> Error {
    Error::Invalid(format!("strategy {strategy} on a GPU: expected scatter or gather"))
}
