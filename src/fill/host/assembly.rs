//! A strategy with its graph: what [`Fill`](super::Fill) and [`BlockFill`](super::BlockFill) share.

use super::batches::Batches;
use super::colour::Colour;
use super::gather::Gather;
use super::kernel::ElementKernel;
use super::pattern::{Output, Pattern};
use super::scatter::Scatter;
use super::sums::with_positions;
use crate::contraction::Sum;
use crate::error::{check_at_least, check_length};
use crate::fill::same_graph::check_graph;
use crate::fill::{Parts, Strategy};
use crate::graph::ElemGraph;
use crate::space::HostSpace;
use crate::sparse::CrsGraph;
use crate::{Error, Result};
use std::sync::Arc;

/// A strategy for elements of `ND` dofs, `B` at each node, with the graph of nodes and the working memory.
#[derive(Debug)]
pub(super) struct Assembly<const ND: usize, const B: usize> {
    method: Method<ND, B>,
    crs: Arc<CrsGraph>,
    pub elem: ElemGraph,
    batches: Batches<ND>,
}

#[derive(Debug)]
enum Method<const ND: usize, const B: usize> {
    Scatter(Scatter),
    Gather(Gather<ND, B>),
    Colour(Colour),
}

/// The values of a matrix and the graph that they are on.
pub(super) type Values<'a> = (&'a Arc<CrsGraph>, &'a mut [f64]);

impl<const ND: usize, const B: usize> Assembly<ND, B> {
    /// Prepares a strategy for a pattern and the elements in it.
    pub fn new<S: HostSpace>(space: &S, strategy: Strategy, crs: Arc<CrsGraph>, elem: ElemGraph) -> Result<Self> {
        check_tables::<ND, B>(&crs, &elem)?;
        let (elem_node, rows) = (elem.elem_node(), crs.rows());
        let method = match strategy {
            Strategy::Scatter => Method::Scatter(Scatter::new(space, elem_node, rows)?),
            Strategy::Gather => Method::Gather(Gather::new(space, elem_node, rows)?),
            Strategy::Colour => Method::Colour(Colour::new(elem_node)?),
        };
        Ok(Assembly { method, crs, elem, batches: Batches::new(space.concurrency())? })
    }

    /// Assembles the parts that are given.
    pub fn assemble<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<ND>,
        sum: Sum,
        parts: Parts<'_, Values<'_>>,
    ) -> Result<()> {
        match parts {
            Parts::Both((graph, values), residual) => {
                self.check(Some(graph), Some(residual))?;
                self.run::<S, true, true>(space, kernel, Output { values, residual, sum })
            }
            Parts::Matrix((graph, values)) => {
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
        check_length("Fill::assemble", "residual", residual.len(), B * self.crs.rows())
    }

    /// Assembles the parts for which `MATRIX` and `RESIDUAL` stand, into arrays of checked lengths.
    fn run<S: HostSpace, const MATRIX: bool, const RESIDUAL: bool>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<ND>,
        output: Output<'_>,
    ) -> Result<()> {
        let (graph, batches) = (Pattern { crs: &self.crs, elem: &self.elem }, &self.batches);
        match &mut self.method {
            Method::Scatter(m) => m.assemble::<S, ND, B, MATRIX, RESIDUAL>(space, kernel, batches, graph, output),
            Method::Gather(m) => m.assemble::<S, MATRIX, RESIDUAL>(space, kernel, batches, graph, output),
            Method::Colour(m) => m.assemble::<S, ND, B, MATRIX, RESIDUAL>(space, kernel, batches, graph, output),
        }
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
fn check_tables<const ND: usize, const B: usize>(crs: &CrsGraph, elem: &ElemGraph) -> Result<()> {
    const NAME: &str = "Fill::new";
    if B == 0 || !ND.is_multiple_of(B) {
        return Err(Error::Invalid(format!("{NAME}: {ND} dofs per element of {B} dofs per node, expected a multiple")));
    }
    let (positions, elem_node, nodes) = (with_positions!(elem, p => p.len()), elem.elem_node(), ND / B);
    check_length(NAME, "elem_node (nodes per element)", elem_node.nodes_per_elem(), nodes)?;
    check_length(NAME, "graph (positions)", positions, elem_node.elem_count() * nodes * nodes)?;
    check_length(NAME, "graph (columns)", crs.columns(), elem_node.node_count())?;
    check_at_least(NAME, "elem_node (its nodes)", elem_node.node_count(), crs.rows())
}
