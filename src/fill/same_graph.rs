//! Checks that a matrix and a kernel's elements are those of the graph of a plan.

use crate::graph::ElemGraph;
use crate::mesh::ElemNode;
use crate::space::MemorySpace;
use crate::sparse::CrsGraph;
use crate::{Error, Result};

/// Refuses a matrix whose graph is neither the plan's nor equal to it. Costs nothing for a copy of the graph and a
/// pass over both graphs otherwise.
pub(super) fn check_graph(operation: &'static str, of_matrix: &CrsGraph, of_plan: &CrsGraph) -> Result<()> {
    if of_matrix.is_copy_of(of_plan) {
        return Ok(());
    }
    check_sizes(operation, of_matrix, of_plan)?;
    match (0..of_plan.rows()).find(|&row| of_matrix.row(row) != of_plan.row(row)) {
        None => Ok(()),
        Some(row) => Err(Error::Invalid(format!(
            "{operation}: the matrix is on another graph: its row {row} has columns {:?}, the plan's {:?}; expected a matrix \
             on the graph of the plan; graph::build_groups makes one graph of several element types",
            first(of_matrix.row(row)),
            first(of_plan.row(row)),
        ))),
    }
}

/// Refuses elements whose positions are in another pattern.
pub(super) fn check_elements<M: MemorySpace>(
    operation: &'static str,
    elem: &ElemGraph<M>,
    crs: &CrsGraph<M>,
) -> Result<()> {
    if elem.is_in(crs) {
        return Ok(());
    }
    let expected = "expected `crs` and `elem` of one graph; Graph::on_pattern finds elements in another pattern";
    Err(Error::Invalid(format!(
        "{operation}: the positions of the graph's elements are in another pattern: {expected}"
    )))
}

/// Refuses a kernel whose element-node table is not that of the plan, whose dofs may be several per node. Costs nothing for a copy of
/// the table with one dof per node, and a pass over both tables otherwise.
pub(super) fn check_table(operation: &'static str, of_kernel: &ElemNode, of_plan: &ElemNode) -> Result<()> {
    if of_kernel.is_copy_of(of_plan) {
        return Ok(());
    }
    let sizes = |table: &ElemNode, dofs| vec![table.elem_count(), dofs * table.nodes_per_elem()];
    let dofs = of_plan.nodes_per_elem() / of_kernel.nodes_per_elem().max(1);
    let (actual, expected) = (sizes(of_kernel, dofs), sizes(of_plan, 1));
    if actual != expected {
        return Err(Error::Shape { operation, array: "kernel (elements and their dofs)", actual, expected });
    }
    let differs = |(nodes, ids): (&[u32], &[u32])| {
        nodes.iter().zip(ids.chunks_exact(dofs)).any(|(&node, ids)| ids[0] as usize != dofs * node as usize)
    };
    match of_kernel.iter().zip(of_plan.iter()).position(differs) {
        None => Ok(()),
        Some(elem) => Err(Error::Invalid(format!(
            "{operation}: the kernel has other elements than the graph: element {elem} has the nodes {:?}, in the graph the dofs {:?}; \
             expected the element-node table from which the graph was built",
            first(of_kernel.elem(elem)),
            first(of_plan.elem(elem)),
        ))),
    }
}

/// Refuses a graph of other sizes: rows, columns, entries.
pub(super) fn check_sizes<M: MemorySpace>(
    operation: &'static str,
    of_matrix: &CrsGraph<M>,
    of_plan: &CrsGraph<M>,
) -> Result<()> {
    let sizes = |graph: &CrsGraph<M>| vec![graph.rows(), graph.columns(), graph.nnz()];
    let (actual, expected) = (sizes(of_matrix), sizes(of_plan));
    if actual == expected {
        return Ok(());
    }
    Err(Error::Shape { operation, array: "matrix (rows, columns and entries of its graph)", actual, expected })
}

/// Refuses a GPU matrix whose graph is neither the plan's nor a copy. Contents of graphs are not compared: that would
/// wait for the GPU.
#[cfg(feature = "cuda")]
pub(super) fn check_copy<M: MemorySpace>(
    operation: &'static str,
    of_matrix: &CrsGraph<M>,
    of_plan: &CrsGraph<M>,
) -> Result<()> {
    check_sizes(operation, of_matrix, of_plan)?;
    if of_matrix.is_copy_of(of_plan) {
        return Ok(());
    }
    let expected = "expected a matrix on the graph of the plan, as CrsMatrix::zeros_on(space, graph.crs.clone())";
    Err(Error::Invalid(format!("{operation}: the graph of the matrix was built apart; {expected}")))
}

/// The first columns of a row, for a message of one line.
fn first(columns: &[u32]) -> &[u32] {
    &columns[..columns.len().min(8)]
}
