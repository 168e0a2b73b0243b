//! Matrices with several unknowns per node on a host: rows and columns in groups of D that share their pattern.
//!
//! ```text
//! row D n + c, column D m + d    one entry (n, m) of the graph of nodes, with D x D values
//! slice                          32 nodes; tables, links and places are those of the graph of nodes
//! values of stored entry k       D x D vectors [c][d] of 32 values
//! ```
//! A mirrored entry is read as the transposed block. Rows are summed in the order of their columns, as in slices of single rows.

use super::host_layout::{HostLayout, Table};
use super::host_rows::{AHEAD, Rows, put, vector};
use super::host_unions::{LISTED, SLICE};
use super::stored_value::StoredValue;
use crate::space::{HostSpace, even_bounds, prefetch, split_at, try_zeroed};
use crate::sparse::CrsGraph;
use crate::sparse::spmv::row_sum;
use crate::{Result, RowOffset};
use rayon::prelude::*;

/// Returns how many unknowns each node has, if the rows of a graph are those of nodes: 3, 2 or 1. Reads columns up to the first that
/// tells.
pub(super) fn dofs<S: HostSpace>(space: &S, graph: &CrsGraph) -> usize {
    let is_blocked = |d: usize| {
        let fits = graph.nnz() > 0 && graph.rows().is_multiple_of(d) && graph.columns().is_multiple_of(d);
        fits && is_node(graph, d, 0) && {
            let nodes = graph.rows() / d;
            let mut pieces = vec![true; nodes.div_ceil(S::CHUNK)];
            space.for_each(pieces.par_iter_mut().enumerate(), |(piece, is_blocked)| {
                let first = piece * S::CHUNK;
                *is_blocked = (first..nodes.min(first + S::CHUNK)).all(|node| is_node(graph, d, node));
            });
            pieces.into_iter().all(|is_blocked| is_blocked)
        }
    };
    [3, 2].into_iter().find(|&d| is_blocked(d)).unwrap_or(1)
}

/// Whether the rows of a node have the same columns, and these are those of nodes.
fn is_node(graph: &CrsGraph, d: usize, node: usize) -> bool {
    let columns = graph.row(d * node);
    columns.len().is_multiple_of(d)
        && (1..d).all(|c| graph.row(d * node + c) == columns)
        && columns
            .chunks_exact(d)
            .all(|of| of[0].is_multiple_of(d as u32) && of.iter().zip(of[0]..).all(|(&column, next)| column == next))
}

/// Returns the graph of the nodes of a graph with `d` unknowns per node.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
pub(super) fn of_nodes<S: HostSpace>(space: &S, graph: &CrsGraph, d: usize) -> Result<CrsGraph> {
    let nodes = graph.rows() / d;
    // The rows of a node are as long as each other.
    let begins = |node: usize| graph.row_map()[d * node] / (d * d) as RowOffset;
    let mut entries = try_zeroed("columns of nodes", graph.nnz() / (d * d))?;
    let bounds = even_bounds(nodes, space.concurrency(), 1);
    let pieces = split_at(&mut entries, bounds.iter().map(|&node| begins(node) as usize));
    space.for_each(pieces.into_par_iter().zip(bounds.par_windows(2)), |(piece, bounds)| {
        let columns = (bounds[0]..bounds[1]).flat_map(|node| graph.row(d * node).iter().step_by(d));
        piece.iter_mut().zip(columns).for_each(|(node, &column)| *node = column / d as u32);
    });
    Ok(CrsGraph::trusted((0..=nodes).map(begins).collect(), entries, graph.columns() / d))
}

/// y = alpha A x + beta y over the rows from `first` on: one for each item of y.
#[inline(always)]
pub(super) fn multiply<V: StoredValue, const D: usize>(
    a: Rows<'_, V>,
    first: usize,
    x: &[f64],
    factors: [f64; 2],
    y: &mut [f64],
) {
    // Rows may begin and end inside a slice.
    let (end, mut at) = (first + y.len(), first);
    while at < end {
        let slice = at / (D * SLICE);
        let sums = slice_of_nodes::<V, D>(a, slice, x);
        let behind = ((slice + 1) * D * SLICE).min(end);
        let [from, to] = [at, behind].map(|row| row - slice * D * SLICE);
        put(&sums.as_flattened()[from..to], factors, &mut y[at - first..behind - first]);
        at = behind;
    }
}

/// The products of a slice's rows by node; rows behind the matrix are 0.
#[inline(always)]
fn slice_of_nodes<V: StoredValue, const D: usize>(a: Rows<'_, V>, slice: usize, x: &[f64]) -> [[f64; D]; SLICE] {
    let place = a.layout.slices[slice];
    if place.table == LISTED {
        return listed::<V, D>(a, slice, x);
    }
    let table = a.layout.tables[place.table as usize];
    let offsets = a.layout.offsets(table);
    let (first, columns) = ((slice * SLICE) as i64, (a.graph.columns() / D) as i64);
    let [least, most] = [offsets.first(), offsets.last()].map(|offset| i64::from(offset.copied().unwrap_or(0)));
    let sums = if first + least >= 0 && first + most + SLICE as i64 <= columns {
        tabled::<V, D, false>(a, slice, table, x)
    } else {
        tabled::<V, D, true>(a, slice, table, x)
    };
    let mut rows = [[0.0; D]; SLICE];
    for i in 0..SLICE {
        for c in 0..D {
            rows[i][c] = sums[c][i];
        }
    }
    rows
}

/// The products of a slice with a table, by unknown. `EDGE`: some x at its offsets are outside of the vector; they count as 0.
#[inline(always)]
fn tabled<V: StoredValue, const D: usize, const EDGE: bool>(
    a: Rows<'_, V>,
    slice: usize,
    table: Table,
    x: &[f64],
) -> [[f64; SLICE]; D] {
    let place = a.layout.slices[slice];
    let places = |link: &[usize; 2]| link.map(|link| D * D * place.start.wrapping_sub(link));
    let mirrored = table.mirrored.count_ones() as usize;
    let mut links = a.layout.links[place.links as usize..].iter().take(mirrored).map(places).peekable();
    let line = 64 / size_of::<V>();
    let (mut sums, mut at) = ([[0.0; SLICE]; D], D * D * place.start);
    for (k, &offset) in a.layout.offsets(table).iter().enumerate() {
        let first = (slice * SLICE) as i64 + i64::from(offset);
        let mut by_unknown = [[0.0; SLICE]; D];
        if EDGE {
            for i in 0..SLICE {
                let node = first + i as i64;
                if (0..(a.graph.columns() / D) as i64).contains(&node) {
                    (0..D).for_each(|d| by_unknown[d][i] = x[D * node as usize + d]);
                }
            }
        } else {
            let x = &x[D * first as usize..][..D * SLICE];
            for i in 0..SLICE {
                for d in 0..D {
                    by_unknown[d][i] = x[D * i + d];
                }
            }
        }
        if table.mirrored >> k & 1 == 1
            && let Some([one, two]) = links.next()
        {
            // Values of the first slice were read for the slice before this one; those of the next offset's second slice are fetched.
            let next = links.peek().map_or(two, |next| next[1]);
            let turned = offset.rem_euclid(SLICE as i32) as usize;
            let split = SLICE - turned;
            for c in 0..D {
                // A copy, which stays in registers.
                let mut sum = sums[c];
                for d in 0..D {
                    let transposed = (D * d + c) * SLICE;
                    for part in 0..SLICE / line {
                        prefetch(a.values, next + transposed + part * line);
                    }
                    let (one, two) = (one + transposed + turned, two + transposed - split);
                    let values = V::joined(vector(a.values, one), vector(a.values, two), split);
                    for i in 0..SLICE {
                        sum[i] += values[i].into() * by_unknown[d][i];
                    }
                }
                sums[c] = sum;
            }
        } else {
            for c in 0..D {
                let mut sum = sums[c];
                for d in 0..D {
                    let values = vector(a.values, at);
                    for part in 0..SLICE / line {
                        prefetch(a.values, at + AHEAD + part * line);
                    }
                    for i in 0..SLICE {
                        sum[i] += values[i].into() * by_unknown[d][i];
                    }
                    at += SLICE;
                }
                sums[c] = sum;
            }
        }
    }
    sums
}

/// The products of a slice without a table.
#[inline(always)]
fn listed<V: StoredValue, const D: usize>(a: Rows<'_, V>, slice: usize, x: &[f64]) -> [[f64; D]; SLICE] {
    let (first, mut at) = (slice * SLICE * D, D * D * a.layout.slices[slice].start);
    let mut sums = [[0.0; D]; SLICE];
    for (row, sum) in (first..a.graph.rows()).zip(sums.as_flattened_mut()) {
        let columns = a.graph.row(row);
        *sum = row_sum(columns, &a.values[at..at + columns.len()], x);
        at += columns.len();
    }
    sums
}

impl HostLayout {
    /// Values of each entry of the graph that is laid out: D^2.
    #[inline(always)]
    pub fn unit(&self) -> usize {
        self.dofs * self.dofs
    }
}

#[cfg(test)]
mod tests {
    use super::super::host_tests::{box_columns, of_unknowns, on, whole};
    use super::*;
    use crate::space::Threads;

    #[test]
    fn unknowns_of_nodes_are_found_only_if_all_rows_are_in_groups() {
        let space = Threads::new(2).unwrap();
        let found = |columns, width| dofs(&space, on(columns, width, whole).graph());
        let nodes = box_columns([30, 20, 15], 0);
        assert_eq!(found(nodes.clone(), 9000), 1);
        for d in [2, 3] {
            let (all, width) = (of_unknowns(&nodes, d), 9000 * d as usize);
            assert_eq!(found(all.clone(), width), d as usize);
            assert_eq!(found(of_unknowns(&nodes, 2 * d), 2 * width), if d == 2 { 2 } else { 3 });
            // One row, or the columns of one node, differ; a column more or less than nodes have.
            let (mut one_row, mut one_node) = (all.clone(), all.clone());
            one_row[width - 1].pop_first();
            one_node[width - d as usize..].iter_mut().for_each(|columns| {
                columns.pop_first();
                columns.insert(0);
            });
            assert_eq!((found(one_row, width), found(one_node, width)), (1, 1));
            assert_eq!(found(all.clone(), width + 1), 1);
            assert_eq!(found(all[..width - 1].to_vec(), width), 1);
        }
        assert_eq!(found(vec![Default::default(); 6], 6), 1);
    }

    #[test]
    fn graphs_of_nodes_are_those_of_which_the_unknowns_were_made() {
        let (nodes, space) = (box_columns([30, 20, 15], 57), Threads::new(3).unwrap());
        for d in [2, 3] {
            let all = on(of_unknowns(&nodes, d), 9000 * d as usize, whole);
            let expected = on(nodes.clone(), 9000, whole);
            let found = of_nodes(&space, all.graph(), d as usize).unwrap();
            assert!(found.row_map() == expected.graph().row_map() && found.entries() == expected.graph().entries());
            assert_eq!(found.columns(), 9000);
        }
    }
}
