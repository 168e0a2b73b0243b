//! The union of the patterns of several element groups, row by row.

use crate::graph::{ElemGraph, Graph};
use crate::space::{Threads, even_bounds, offsets, split_at, try_zeroed};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// Gives the graphs the union of their patterns.
pub(super) fn unite(space: &Threads, graphs: Vec<Graph>) -> Result<Vec<Graph>> {
    let patterns: Vec<&CrsGraph> = graphs.iter().map(|graph| &*graph.crs).collect();
    let (rows, columns) = (patterns[0].rows(), patterns[0].columns());
    let mut counts = try_zeroed::<u32>("row lengths", rows)?;
    space.for_each(counts.par_chunks_mut(Threads::CHUNK).enumerate(), |(chunk, counts)| {
        let mut heads = Vec::new();
        for (i, count) in counts.iter_mut().enumerate() {
            *count = merge(&patterns, chunk * Threads::CHUNK + i, &mut heads, |_| ());
        }
    });
    let row_map = offsets(space, &counts)?;
    let union = match graphs.iter().find(|graph| graph.crs.nnz() == row_map[rows] as usize) {
        Some(graph) => graph.crs.clone(),
        None => {
            let mut entries = try_zeroed::<LocalOrdinal>("columns", row_map[rows] as usize)?;
            let bounds = even_bounds(rows, rows.div_ceil(Threads::CHUNK), 1);
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
            false => ElemGraph::locate(space, graph.elem.elem_node(), &union)?,
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
