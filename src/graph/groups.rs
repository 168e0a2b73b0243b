//! Several element groups in one sparsity pattern: tetrahedra beside hexahedra, boundary faces beside both.
//!
//! Each group's graph is built by itself. Then the patterns are united row by row (count, scan, fill of the sorted unions), and
//! the positions of each group are moved to the union. A group whose pattern is the union keeps its graph as it is: the
//! volume elements beside boundary faces.
//!
//! Cost beside the groups' graphs: two merges of each row (4 bytes per entry of every group read, 4 per entry of the union
//! written), then for a group that is moved 8 bytes per entry and a look-up per position.

use super::elem_graph::with_position_type;
use super::{BuildGraph, ElemGraph, Graph, Position, Positions, Strategy, build};
use crate::error::check_length;
use crate::mesh::ElemNode;
use crate::space::{HostSpace, even_bounds, offsets, split_at, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{Error, LocalOrdinal, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// Builds the graphs of several element-node tables with one sparsity pattern in common, of rows `0..rows`. The tables number
/// the same nodes and may have any numbers of nodes per element; each may be empty. Graph g of the result has the elements
/// of `tables[g]`; a plan of the assembly is made for each.
///
/// ```
/// use minifenl::contraction::Sum;
/// use minifenl::fill::{Fill, Parts, Strategy, element_fn};
/// use minifenl::{graph, mesh::ElemNode, space::Threads, sparse::CrsMatrix};
///
/// // A triangle, and a segment at its edge 1-2 that continues to node 3.
/// let space = Threads::new(2)?;
/// let (triangles, segments) = (ElemNode::new(vec![0, 1, 2], 3, 4)?, ElemNode::new(vec![1, 2, 2, 3], 2, 4)?);
/// let graphs = graph::build_groups(&space, &[&triangles, &segments], 4, graph::Strategy::default())?;
/// assert_eq!((graphs[0].crs.row(0), graphs[1].crs.row(2)), (&[0, 1, 2][..], &[0, 1, 2, 3][..]));
///
/// let (mut matrix, mut rhs) = (CrsMatrix::zero(graphs[0].crs.clone()), vec![0.0; 4]);
/// let inside = element_fn(|_| ([[1.0; 3]; 3], [1.0; 3]));
/// Fill::<3>::new(&space, Strategy::Gather, &graphs[0])?.assemble(&space, &inside, &mut matrix, &mut rhs)?;
/// let edges = element_fn(|_| ([[10.0; 2]; 2], [10.0; 2]));
/// let parts = Parts::Both(&mut matrix, &mut rhs);
/// Fill::<2>::new(&space, Strategy::Gather, &graphs[1])?.assemble_parts(&space, &edges, Sum::Into, parts)?;
/// assert_eq!((matrix.get(1, 2), matrix.get(2, 2), rhs), (Some(11.0), Some(21.0), vec![1.0, 11.0, 21.0, 10.0]));
/// # Ok::<(), minifenl::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] without a table, [`Error::Shape`] when the tables have different numbers of nodes, and those of [`build`].
pub fn build_groups<S: HostSpace>(
    space: &S,
    tables: &[&ElemNode],
    rows: usize,
    strategy: Strategy,
) -> Result<Vec<Graph>> {
    let Some((first, others)) = tables.split_first() else {
        return Err(Error::Invalid("graph::build_groups: there is no table: expected 1 or more".into()));
    };
    for table in others {
        check_length("graph::build_groups", "tables (their nodes)", table.node_count(), first.node_count())?;
    }
    let graphs: Result<Vec<Graph>> = tables.iter().map(|table| build(space, table, rows, strategy)).collect();
    if others.is_empty() { graphs } else { unite(space, graphs?) }
}

/// Gives the graphs the union of their patterns.
fn unite<S: HostSpace + BuildGraph>(space: &S, graphs: Vec<Graph>) -> Result<Vec<Graph>> {
    let patterns: Vec<&CrsGraph> = graphs.iter().map(|graph| &*graph.crs).collect();
    let (rows, columns) = (patterns[0].rows(), patterns[0].columns());
    let mut counts = try_zeroed::<u32>("row lengths", rows)?;
    space.for_each(counts.par_chunks_mut(S::CHUNK).enumerate(), |(chunk, counts)| {
        let mut heads = Vec::new();
        for (i, count) in counts.iter_mut().enumerate() {
            *count = merge(&patterns, chunk * S::CHUNK + i, &mut heads, |_| ());
        }
    });
    let row_map = offsets(space, &counts)?;
    let union = match graphs.iter().find(|graph| graph.crs.nnz() == row_map[rows] as usize) {
        Some(graph) => graph.crs.clone(),
        None => {
            let mut entries = try_zeroed::<LocalOrdinal>("columns", row_map[rows] as usize)?;
            let bounds = even_bounds(rows, rows.div_ceil(S::CHUNK), 1);
            let pieces = split_at(&mut entries, bounds.iter().map(|&row| row_map[row] as usize));
            space.for_each(pieces.into_par_iter().zip(bounds.par_windows(2)), |(entries, rows)| {
                let (mut heads, mut entries) = (Vec::new(), entries.iter_mut());
                let mut put = |column| {
                    if let Some(entry) = entries.next() {
                        *entry = column;
                    }
                };
                (rows[0]..rows[1]).for_each(|row| _ = merge(&patterns, row, &mut heads, &mut put));
            });
            Arc::new(CrsGraph::trusted(row_map, entries, columns))
        }
    };
    let united = graphs.into_iter().map(|graph| {
        // Of as many entries as the union: the union.
        let elem = match graph.crs.nnz() == union.nnz() {
            true => graph.elem.clone().in_equal(&union),
            false => moved(space, &graph, &union)?,
        };
        Ok(Graph { crs: union.clone(), elem, ..graph })
    });
    united.collect()
}

/// Calls `found` with each column of a row of the union, in ascending order, and returns their number.
fn merge<'a>(
    patterns: &[&'a CrsGraph],
    row: usize,
    heads: &mut Vec<&'a [LocalOrdinal]>,
    mut found: impl FnMut(LocalOrdinal),
) -> u32 {
    heads.clear();
    heads.extend(patterns.iter().map(|pattern| pattern.row(row)).filter(|row| !row.is_empty()));
    // Most rows have columns of one group only.
    if let [only] = heads[..] {
        only.iter().for_each(|&column| found(column));
        return only.len() as u32;
    }
    let mut count = 0;
    while let Some(column) = heads.iter().filter_map(|head| head.first()).min().copied() {
        found(column);
        count += 1;
        for head in heads.iter_mut().filter(|head| head.first() == Some(&column)) {
            *head = &head[1..];
        }
    }
    count
}

/// Returns the elements of a graph with their positions in the union.
fn moved<S: HostSpace>(space: &S, graph: &Graph, union: &CrsGraph) -> Result<ElemGraph> {
    let (crs, elem) = (&*graph.crs, &graph.elem);
    // Position in the union of each entry of the graph.
    let mut places = try_zeroed::<u32>("positions in the union", crs.nnz())?;
    let bounds = even_bounds(crs.rows(), crs.rows().div_ceil(S::CHUNK), 1);
    let pieces = split_at(&mut places, bounds.iter().map(|&row| crs.row_map()[row] as usize));
    space.for_each(pieces.into_par_iter().zip(bounds.par_windows(2)), |(places, rows)| {
        let mut places = places.iter_mut();
        for row in rows[0]..rows[1] {
            let mut all = (0..).zip(union.row(row));
            for (column, place) in crs.row(row).iter().zip(&mut places) {
                // The union has every column, and both ascend.
                *place = all.find(|(_, other)| *other == column).map_or(0, |(at, _)| at);
            }
        }
    });
    let positions = with_position_type!(union.longest_row(), P => match elem.positions() {
        Positions::U8(old) => place_all::<S, u8, P>(space, elem.elem_node(), crs, old, &places)?,
        Positions::U16(old) => place_all::<S, u16, P>(space, elem.elem_node(), crs, old, &places)?,
        Positions::U32(old) => place_all::<S, u32, P>(space, elem.elem_node(), crs, old, &places)?,
    });
    Ok(ElemGraph::from_parts(elem.elem_node().clone(), positions, union))
}

fn place_all<S: HostSpace, A: Position, P: Position>(
    space: &S,
    table: &ElemNode,
    crs: &CrsGraph,
    old: &[A],
    places: &[u32],
) -> Result<Vec<P>> {
    let nodes_per_elem = table.nodes_per_elem();
    let mut positions = try_zeroed::<P>("positions of elements", old.len())?;
    let rows = positions.par_chunks_mut(nodes_per_elem * S::CHUNK).zip(old.par_chunks(nodes_per_elem * S::CHUNK));
    space.for_each(rows.zip(table.as_slice().par_chunks(S::CHUNK)), |((positions, old), nodes)| {
        let rows = positions.chunks_exact_mut(nodes_per_elem).zip(old.chunks_exact(nodes_per_elem));
        for ((positions, old), &row) in rows.zip(nodes) {
            if row as usize >= crs.rows() {
                positions.fill(P::NONE);
                continue;
            }
            let places = &places[crs.row_range(row as usize)];
            positions.iter_mut().zip(old).for_each(|(new, old)| *new = P::new(places[old.get()] as usize));
        }
    });
    Ok(positions)
}

#[cfg(test)]
mod tests;
