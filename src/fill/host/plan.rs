//! Checks and strategy of a [`Fill`](super::Fill), compiled once for all numbers of nodes per element.

use super::batches::Store;
use super::blocks::{Blocks, Method};
use super::gather::Gather;
use super::locality::is_scattered;
use super::parts::Output;
use super::sums::{Adds, SharedSums};
use crate::Result;
use crate::contraction::Sum;
use crate::error::{check_at_least, check_length};
use crate::fill::same_graph::{check_elements, check_graph, check_table};
use crate::fill::{Parts, Strategy, Wanted};
use crate::graph::{ElemGraph, with_positions};
use crate::mesh::ElemNode;
use crate::space::Threads;
use crate::sparse::{CrsGraph, CrsMatrix, HostRows};
use std::ops::Range;
use std::sync::Arc;

/// A strategy with its graph.
#[derive(Debug)]
pub(super) struct Plan {
    method: Method<Gather>,
    pub crs: Arc<CrsGraph>,
    pub elem: ElemGraph,
    is_scattered: bool,
}

/// Computes elements and adds them to rows.
pub(super) type Adding<'a> = dyn Fn(Range<usize>, SharedSums<'_>, Adds) -> Result<()> + Sync + 'a;

impl Plan {
    /// Prepares a strategy for elements of `nodes` nodes. Without a strategy, the blocks of `Scatter` add without atomicity.
    pub fn new(
        space: &Threads,
        strategy: Option<Strategy>,
        crs: Arc<CrsGraph>,
        elem: ElemGraph,
        nodes: usize,
    ) -> Result<Self> {
        const NAME: &str = "Fill::new";
        let (positions, elem_node, rows) =
            (with_positions!(elem.positions(), positions => positions.len()), elem.elem_node(), crs.rows());
        check_length(
            NAME,
            "elem_node (nodes per element; dofs of one after Graph::with_dofs)",
            elem_node.nodes_per_elem(),
            nodes,
        )?;
        check_elements(NAME, &elem, &crs)?;
        check_length(NAME, "graph (positions)", positions, elem_node.elem_count() * nodes * nodes)?;
        check_length(NAME, "graph (columns)", crs.columns(), elem_node.node_count())?;
        check_at_least(NAME, "elem_node (its nodes)", elem_node.node_count(), rows)?;
        let method = Method::of(space, strategy, elem_node, || Gather::new(space, elem_node, rows))?;
        let is_scattered = strategy != Some(Strategy::Gather) && is_scattered(elem_node, &crs);
        Ok(Plan { method, crs, elem, is_scattered })
    }

    /// Assembles the elements of a kernel that reads `table`.
    pub fn assemble<'a, 'k>(
        &mut self,
        space: &Threads,
        table: Option<&ElemNode>,
        (sum, parts): (Sum, Parts<'a>),
        add: &Adding<'_>,
        storing: &(dyn Fn(Wanted, Range<usize>) -> Result<Store<'k>> + Sync),
    ) -> Result<()> {
        const NAME: &str = "Fill::assemble";
        if let Some(table) = table {
            check_table(NAME, table, self.elem.elem_node())?;
        }
        let in_crs = HostRows::Crs(&self.crs);
        let of_matrix = |matrix: &'a mut CrsMatrix| -> Result<_> {
            check_graph(NAME, matrix.graph(), &self.crs)?;
            Ok(Some((in_crs, &mut matrix.values_mut()[..])))
        };
        let (values, residual) = match parts {
            Parts::Both(matrix, residual) => (of_matrix(matrix)?, Some(residual)),
            Parts::Stored(matrix, residual) => {
                check_graph(NAME, matrix.graph(), &self.crs)?;
                (Some(matrix.parts_mut()), Some(residual))
            }
            Parts::Values(values, residual) => (Some((in_crs, values)), Some(residual)),
            Parts::Matrix(matrix) => (of_matrix(matrix)?, None),
            Parts::Residual(residual) => (None, Some(residual)),
        };
        let wanted = Wanted { matrix: values.is_some(), residual: residual.is_some() };
        let (elem, is_scattered) = (&self.elem, self.is_scattered);
        let mut output = Output { elem, is_scattered, rows: in_crs, values: &mut [], residual: &mut [], sum, wanted };
        if let Some((rows, values)) = values {
            check_length(NAME, "values", values.len(), rows.values())?;
            (output.rows, output.values) = (rows, values);
        }
        if let Some(residual) = residual {
            check_length(NAME, "residual", residual.len(), self.crs.rows())?;
            output.residual = residual;
        }
        match &mut self.method {
            Method::Blocks(blocks) => {
                let sums = SharedSums::new(space, output);
                blocks.for_each(space, &|elems| add(elems, sums, blocks.adds))
            }
            Method::Gather(gather) => gather.assemble(space, &|elems| storing(wanted, elems), output),
        }
    }

    /// Returns the bytes of element matrices and residuals that one assembly writes to memory and reads back.
    pub fn stored_bytes(&self) -> u64 {
        match &self.method {
            Method::Gather(gather) => gather.stored_bytes(),
            Method::Blocks(_) => 0,
        }
    }

    /// Returns the blocks of a strategy that adds to rows.
    pub fn blocks(&self) -> Option<&Blocks> {
        match &self.method {
            Method::Blocks(blocks) => Some(blocks),
            Method::Gather(_) => None,
        }
    }
}
