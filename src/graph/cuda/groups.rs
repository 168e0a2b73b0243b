//! The union of the patterns of several element groups, on a GPU: one sort of all entries, duplicates dropped.

use super::builder::{Builder, THREADS, WARP};
use crate::Result;
use crate::graph::kernel_files::GRAPH_MAP;
use crate::graph::{ElemGraph, Graph};
use crate::space::cuda::{Argument, Cuda, CudaMemory, Grid, arguments, bits_of};
use crate::sparse::CrsGraph;
use std::sync::Arc;

/// Gives the graphs the union of their patterns. Waits once, for the number of entries.
pub(super) fn unite(space: &Cuda, graphs: Vec<Graph<CudaMemory>>) -> Result<Vec<Graph<CudaMemory>>> {
    let (rows, columns) = (graphs[0].crs.rows(), graphs[0].crs.columns());
    let total = graphs.iter().map(|graph| graph.crs.nnz()).sum();
    let (mut keys, mut first) = (space.unfilled::<u64>(total)?, 0);
    for crs in graphs.iter().map(|graph| &graph.crs) {
        let part = Argument::from_item(&keys, first);
        let arguments = &mut [(rows as u64).into(), crs.row_map().into(), crs.entries().into(), part];
        space.launch(&GRAPH_MAP, "entry_keys", Grid::cover(rows * WARP, THREADS), arguments)?;
        first += crs.nnz();
    }
    // The column is in the lower half: a stable sort by column, then by row.
    keys = space.sort_keys(keys, 0..bits_of(columns))?;
    keys = space.sort_keys(keys, 32..32 + bits_of(rows))?;
    let mut starts = space.unfilled::<u64>(rows + 1)?;
    space.graph_items("row_starts", rows + 1, arguments![rows as u64, total as u64, 32u32, &keys, &mut starts])?;
    let mut counts = space.unfilled::<u32>(rows)?;
    space.graph_items("count_unique", rows * WARP, arguments![rows as u64, &keys, &starts, &mut counts])?;
    let map = space.offsets(rows, &counts)?;
    let mut entries = space.unfilled(map.total)?;
    let arguments = arguments![rows as u64, 32u32, &keys, &starts, &map.offsets, &mut entries];
    space.graph_items("fill_unique", rows * WARP, arguments)?;
    let union = Arc::new(CrsGraph::from_parts(rows, columns, map.total, map.offsets, entries));
    let united = graphs.into_iter().map(|graph| {
        // Of as many entries as the union: the union.
        let elem = match graph.crs.nnz() == union.nnz() {
            true => graph.elem.clone().in_equal(&union),
            false => {
                let table = graph.elem.elem_node();
                let positions =
                    Builder::new(space, table, rows)?.locate(map.longest, union.row_map(), union.entries())?;
                ElemGraph::from_parts(table.clone(), positions, &union)
            }
        };
        Ok(Graph { crs: union.clone(), elem, ..graph })
    });
    united.collect()
}
