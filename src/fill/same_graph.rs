//! Checks that a matrix is on the graph of a plan.

use crate::graph::ElemGraph;
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
             on the graph of the plan",
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
