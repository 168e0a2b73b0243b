//! A strategy with its graph: what [`Fill`](super::Fill) and [`BlockFill`](super::BlockFill) share.

use super::batches::Batches;
use super::colour::Colour;
use super::gather::Gather;
use super::kernel::AnyKernel;
use super::locality::is_scattered;
use super::pattern::{Output, Pattern};
use super::scatter::Scatter;
use super::sums::with_positions;
use crate::contraction::Sum;
use crate::error::{check_at_least, check_length};
use crate::fill::same_graph::{check_elements, check_graph};
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
    is_scattered: bool,
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
    pub fn new<S: HostSpace>(
        name: &'static str,
        space: &S,
        strategy: Strategy,
        crs: Arc<CrsGraph>,
        elem: ElemGraph,
    ) -> Result<Self> {
        if B == 0 || !ND.is_multiple_of(B) {
            let why = format!("{name}: {ND} dofs per element of {B} dofs per node, expected a multiple");
            return Err(Error::Invalid(why));
        }
        check_tables(name, ND / B, &crs, &elem)?;
        let (elem_node, rows) = (elem.elem_node(), crs.rows());
        let method = match strategy {
            Strategy::Scatter => Method::Scatter(Scatter::new(space, elem_node, rows)?),
            Strategy::Gather => Method::Gather(Gather::new(space, elem_node, rows)?),
            Strategy::Colour => Method::Colour(Colour::new(elem_node)?),
        };
        let is_scattered = strategy != Strategy::Gather && is_scattered(elem_node, &crs, B);
        Ok(Assembly { method, crs, elem, batches: Batches::new(space.concurrency())?, is_scattered })
    }

    /// Assembles the parts that are given.
    pub fn assemble<S: HostSpace>(
        &mut self,
        name: &'static str,
        space: &S,
        kernel: &dyn AnyKernel<ND>,
        sum: Sum,
        parts: Parts<'_, Values<'_>>,
    ) -> Result<()> {
        let output = check_output(name, &self.crs, B, sum, parts)?;
        let graph = Pattern { crs: &self.crs, elem: &self.elem, is_scattered: self.is_scattered };
        let batches = &self.batches;
        match &mut self.method {
            Method::Scatter(scatter) => scatter.assemble::<S, ND, B>(space, kernel, batches, graph, output),
            Method::Gather(gather) => gather.assemble(space, kernel, batches, graph, output),
            Method::Colour(colour) => colour.assemble::<S, ND, B>(space, kernel, batches, graph, output),
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

/// Refuses elements of another number of nodes than `nodes`, and a pattern whose sizes are those of another table.
pub(super) fn check_tables(name: &'static str, nodes: usize, crs: &CrsGraph, elem: &ElemGraph) -> Result<()> {
    let (positions, elem_node) = (with_positions!(elem, positions => positions.len()), elem.elem_node());
    check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), nodes)?;
    check_elements(name, elem, crs)?;
    check_length(name, "graph (positions)", positions, elem_node.elem_count() * nodes * nodes)?;
    check_length(name, "graph (columns)", crs.columns(), elem_node.node_count())?;
    check_at_least(name, "elem_node (its nodes)", elem_node.node_count(), crs.rows())
}

/// Returns the arrays to write. Refuses a matrix on another graph than that of the plan, and a residual of another length than
/// `dofs` items per row of the graph.
pub(super) fn check_output<'a>(
    name: &'static str,
    crs: &Arc<CrsGraph>,
    dofs: usize,
    sum: Sum,
    parts: Parts<'a, Values<'a>>,
) -> Result<Output<'a>> {
    let wanted = parts.wanted();
    let (matrix, residual) = match parts {
        Parts::Both(matrix, residual) => (Some(matrix), Some(residual)),
        Parts::Matrix(matrix) => (Some(matrix), None),
        Parts::Residual(residual) => (None, Some(residual)),
    };
    let mut output = Output { values: &mut [], residual: &mut [], sum, wanted };
    if let Some((graph, values)) = matrix {
        check_graph(name, graph, crs)?;
        output.values = values;
    }
    if let Some(residual) = residual {
        check_length(name, "residual", residual.len(), dofs * crs.rows())?;
        output.residual = residual;
    }
    Ok(output)
}
