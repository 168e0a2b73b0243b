//! The fill for elements whose number of nodes is known at run time only.
//!
//! The sums of [`Fill`](super::Fill), element by element: matrices are computed one at a time, so vector lanes are of no use, and
//! loops over nodes are not unrolled. [`Fill`](super::Fill) is several times as fast for small elements; for large ones the
//! kernel dominates. Working memory per thread: 8 n (n + 1) bytes for n nodes per element; with `Gather` as much per element.

use super::assembly::{check_output, check_tables};
use super::colour::Colour;
use super::gather::add_up;
use super::pattern::{Output, Pattern};
use super::pool::Pool;
use super::scatter::Scatter;
use super::sums::{SharedSums, with_positions};
use super::values_of;
use crate::contraction::Sum;
use crate::fill::{Parts, Strategy, Wanted};
use crate::graph::{ElemGraph, Graph, NodeElem, Position};
use crate::mesh::ElemNode;
use crate::space::atomic::{AtomicF64, add_unshared};
use crate::space::{HostSpace, even_bounds, split_at, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Elements per task of `Gather`.
const BLOCK: usize = 64;

/// A strategy on host memory, prepared for a graph whose elements have any number of nodes.
///
/// ```
/// use minifenl::fill::{DynFill, Strategy};
/// use minifenl::{graph, mesh::ElemNode, space::Serial, sparse::CrsMatrix};
///
/// let nodes_per_elem: usize = "3".parse()?;
/// let elem_node = ElemNode::new(vec![0, 1, 2, 2, 1, 3], nodes_per_elem, 4)?;
/// let graph = graph::build(&Serial, &elem_node, 4, graph::Strategy::default())?;
/// let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; 4]);
/// DynFill::new(&Serial, Strategy::default(), &graph)?.assemble(
///     &Serial,
///     |_elem, matrix, residual| {
///         (0..nodes_per_elem).for_each(|i| matrix[i * nodes_per_elem + i] = 1.0);
///         residual.fill(0.5);
///     },
///     &mut matrix,
///     &mut residual,
/// )?;
/// assert_eq!((matrix.get(1, 1), matrix.get(1, 2), residual), (Some(2.0), Some(0.0), vec![0.5, 1.0, 1.0, 0.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DynFill {
    method: Method,
    crs: Arc<CrsGraph>,
    elem: ElemGraph,
    /// Matrix and residual of an element, for each thread.
    work: Pool<Vec<f64>>,
}

#[derive(Debug)]
enum Method {
    Scatter(Scatter),
    Colour(Colour),
    Gather { lists: NodeElem, matrices: Vec<f64>, residuals: Vec<f64> },
}

impl DynFill {
    /// Prepares a strategy for a graph.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when pattern and elements are of two graphs,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new<S: HostSpace>(space: &S, strategy: Strategy, graph: &Graph) -> Result<Self> {
        let (crs, elem) = (graph.crs.clone(), graph.elem.clone());
        let (elem_node, rows, nn) = (elem.elem_node(), crs.rows(), elem.nodes_per_elem());
        check_tables("DynFill::new", nn, &crs, &elem)?;
        let items = elem_node.as_slice().len();
        let method = match strategy {
            Strategy::Scatter => Method::Scatter(Scatter::new(space, elem_node, rows)?),
            Strategy::Colour => Method::Colour(Colour::new(elem_node)?),
            Strategy::Gather => Method::Gather {
                lists: NodeElem::new(space, elem_node, rows)?,
                matrices: try_zeroed("element matrices", items * nn)?,
                residuals: try_zeroed("element residuals", items)?,
            },
        };
        let work = Pool::new(space.concurrency(), || try_zeroed("an element matrix", nn * (nn + 1)))?;
        Ok(DynFill { method, crs, elem, work })
    }

    /// Returns the element-node table.
    pub fn elem_node(&self) -> &ElemNode {
        self.elem.elem_node()
    }

    /// Overwrites the values of `matrix` and `residual` with the sums over all elements. `kernel(elem, matrix, residual)` writes
    /// the matrix `[i, j]`, row by row, and the residual `[i]` of an element into arrays of zeros; it is called from several
    /// threads.
    ///
    /// # Errors
    /// As [`Fill::assemble`](super::Fill::assemble).
    pub fn assemble<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: impl Fn(usize, &mut [f64], &mut [f64]) + Sync,
        matrix: &mut CrsMatrix,
        residual: &mut [f64],
    ) -> Result<()> {
        self.assemble_parts(space, kernel, Sum::Overwrite, Parts::Both(matrix, residual))
    }

    /// Assembles the matrix, the residual, or both, which overwrite what stands in them or add to it.
    ///
    /// # Errors
    /// As [`Fill::assemble`](super::Fill::assemble).
    pub fn assemble_parts<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: impl Fn(usize, &mut [f64], &mut [f64]) + Sync,
        sum: Sum,
        parts: Parts<'_>,
    ) -> Result<()> {
        let output = check_output("DynFill::assemble", &self.crs, 1, sum, parts.map(values_of))?;
        let graph = Pattern { crs: &self.crs, elem: &self.elem, is_scattered: false };
        let element = Element { kernel, nn: self.elem.nodes_per_elem(), work: &self.work };
        let wanted = output.wanted;
        match &mut self.method {
            Method::Scatter(scatter) => {
                let sums = SharedSums::new(space, &self.crs, output);
                let add = |row, cell: &AtomicF64, term| scatter.add(row, cell, term);
                scatter.for_blocks(space, |elems| element.add(elems, graph, sums, wanted, add))
            }
            Method::Colour(colour) => {
                let sums = SharedSums::new(space, &self.crs, output);
                let add = |_, cell: &AtomicF64, term| add_unshared(cell, term);
                colour.for_blocks(space, graph.elem.elem_node(), |elems| element.add(elems, graph, sums, wanted, add))
            }
            Method::Gather { lists, matrices, residuals } => {
                element.store(space, matrices, residuals)?;
                gather(space, graph, lists, (matrices, residuals), output);
                Ok(())
            }
        }
    }
}

/// The element kernel and its working memory.
struct Element<'a, F> {
    kernel: F,
    nn: usize,
    work: &'a Pool<Vec<f64>>,
}

impl<F: Fn(usize, &mut [f64], &mut [f64]) + Sync> Element<'_, F> {
    /// Adds elements to their rows.
    fn add(
        &self,
        elems: Range<usize>,
        graph: Pattern<'_>,
        sums: SharedSums<'_>,
        wanted: Wanted,
        add: impl Fn(LocalOrdinal, &AtomicF64, f64) + Copy,
    ) -> Result<()> {
        let (nn, elem_node) = (self.nn, graph.elem.elem_node());
        let new = || try_zeroed("an element matrix", nn * (nn + 1));
        self.work.lend(new, |work| {
            let (matrix, residual) = work.split_at_mut(nn * nn);
            for elem in elems {
                matrix.fill(0.0);
                residual.fill(0.0);
                (self.kernel)(elem, matrix, residual);
                with_positions!(graph.elem, positions => {
                    let positions = &positions[elem * nn * nn..][..nn * nn];
                    for (i, &row) in elem_node.elem(elem).iter().enumerate() {
                        // Ghosts have no row here: their owner computes the same element.
                        if row as usize >= sums.crs.rows() {
                            continue;
                        }
                        if wanted.has_residual() {
                            add(row, &sums.residual[row as usize], residual[i]);
                        }
                        if wanted.has_matrix() {
                            let values = &sums.values[sums.crs.row_range(row as usize)];
                            let terms = matrix[i * nn..][..nn].iter().zip(&positions[i * nn..][..nn]);
                            terms.for_each(|(&term, position)| add(row, &values[position.get()], term));
                        }
                    }
                });
            }
        })
    }

    /// Stores the matrices and residuals of all elements.
    fn store<S: HostSpace>(&self, space: &S, matrices: &mut [f64], residuals: &mut [f64]) -> Result<()> {
        let nn = self.nn;
        let blocks = matrices.par_chunks_mut(BLOCK * nn * nn).zip(residuals.par_chunks_mut(BLOCK * nn));
        space.try_for_each(blocks.enumerate(), |(block, (matrices, residuals))| {
            let elems = matrices.chunks_exact_mut(nn * nn).zip(residuals.chunks_exact_mut(nn));
            for (at, (matrix, residual)) in elems.enumerate() {
                matrix.fill(0.0);
                residual.fill(0.0);
                (self.kernel)(block * BLOCK + at, matrix, residual);
            }
            Ok(())
        })
    }
}

/// Sums each row's parts of the stored elements, elements ascending.
fn gather<S: HostSpace>(
    space: &S,
    graph: Pattern<'_>,
    lists: &NodeElem,
    (matrices, residuals): (&[f64], &[f64]),
    Output { values, residual, sum, wanted }: Output<'_>,
) {
    let (row_map, nn) = (graph.crs.row_map(), graph.elem.nodes_per_elem());
    let bounds = even_bounds(graph.crs.rows(), 16 * space.concurrency(), 1);
    // A part that is not wanted is cut into empty pieces.
    let entries = |row: usize| if wanted.has_matrix() { row_map[row] as usize } else { 0 };
    let items = usize::from(wanted.has_residual());
    let pieces = split_at(values, bounds.iter().map(|&row| entries(row))).into_par_iter();
    let pieces = pieces.zip(split_at(residual, bounds.iter().map(|&row| items * row))).enumerate();
    let terms = |slot: usize, _| (&matrices[slot * nn..][..nn], residuals[slot]);
    with_positions!(graph.elem, positions => {
        space.for_each(pieces, |(piece, (mut values, residual))| {
            let mut residual = residual.as_chunks_mut::<1>().0.iter_mut();
            for row in bounds[piece]..bounds[piece + 1] {
                let (columns, rest) = values.split_at_mut(entries(row + 1) - entries(row));
                values = rest;
                let (slots, residual) = (lists.slots(row), residual.next());
                add_up(slots, terms, positions, columns, residual, (sum, wanted));
            }
        });
    });
}
