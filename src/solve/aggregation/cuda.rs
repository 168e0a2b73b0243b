//! Aggregation on a GPU: launches of `kernels/aggregation.cu`.

use super::rows::Extension;
use super::tentative::{DEPENDENT, Tentative};
use super::{Aggregate, NearNull, STRONG};
use crate::error::check_length;
use crate::solve::kernel_files::{AGGREGATION, ROOTS};
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::space::try_with_capacity;
use crate::sparse::{ByColumn, CrsGraph, CrsMatrix, GraphOf, MatrixOf};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result, RowOffset};
use std::sync::Arc;

/// Threads of a block, and those that share a node or an aggregate, or a row, as in the kernels.
const THREADS: u32 = 256;
const WARP: usize = 32;
const LANES: usize = 8;
/// Words between the queue's counts.
const APART: usize = 32;

fn launch(space: &Cuda, name: &'static str, threads: usize, arguments: &[Argument]) -> Result<()> {
    space.launch(&AGGREGATION, name, Grid::cover(threads, THREADS), arguments)
}

impl Cuda {
    /// Returns ~root for the nodes of aggregates, 0 for others, and the state of each node; 24 bytes per node while it runs.
    fn roots(&self, strong: &GraphOf<Cuda>) -> Result<(CudaArray<u32>, CudaArray<u32>)> {
        let (map, entries, count) = (strong.row_map(), strong.entries(), strong.rows());
        let (mut pointer, mut votes) = (self.unfilled::<u64>(count)?, self.zeros::<u32>(count)?);
        let (mut slots, mut counts) = (self.zeros::<u32>(count)?, self.zeros::<u32>(3 * APART)?);
        let (mut mark, mut state) = (self.zeros(count)?, self.zeros(count)?);
        let (n, all) = (count as u64, Grid::cover(count, THREADS));
        let first = arguments![n, map, entries, &mut pointer, &mut votes, &mut slots, &mut counts];
        self.launch(&ROOTS, "point_first", all, first)?;
        #[rustfmt::skip]
        let rest = arguments![
            n, map, entries, &mut pointer, &mut votes, &mut slots, &mut counts, &mut mark, &mut state,
        ];
        let resident = self.resident_blocks(&ROOTS, "mark_roots", THREADS, 0)?;
        self.launch(&ROOTS, "mark_roots", Grid::new(resident.min(all.blocks as usize), THREADS), rest)?;
        Ok((mark, state))
    }

    /// Returns the aggregate of each node, 2^32 - 1 for nodes that depend on no other one, the number of aggregates, and whether rows are fixed.
    fn aggregates(&self, a: &MatrixOf<Cuda>, dofs: usize) -> Result<(CudaArray<u32>, usize, CudaArray<u8>)> {
        let (graph, values, limit) = (a.graph(), a.values(), STRONG.powi(4));
        let (map, entries, nodes) = (graph.row_map(), graph.entries(), graph.rows() / dofs);
        let (n, wide) = (nodes as u64, dofs as u32);
        let (mut norms, mut counts) = (self.unfilled::<f64>(nodes)?, self.unfilled::<u32>(nodes)?);
        let (mut is_coupled, mut is_fixed) = (self.unfilled::<u8>(nodes)?, self.unfilled::<u8>(nodes * dofs)?);
        launch(self, "node_norms", nodes, arguments![n, wide, map, entries, values, &mut norms])?;
        #[rustfmt::skip]
        let arguments = arguments![
            n, wide, map, entries, values, limit, &norms, &mut counts, &mut is_coupled, &mut is_fixed,
        ];
        launch(self, "strong_count", nodes * WARP, arguments)?;
        let offsets = self.offsets(nodes, &counts)?;
        let mut strong = self.unfilled::<u32>(offsets.total)?;
        let arguments = arguments![n, wide, map, entries, values, limit, &norms, &offsets.offsets, &mut strong];
        launch(self, "strong_fill", nodes * WARP, arguments)?;
        let strong = CrsGraph::from_parts(nodes, nodes, offsets.total, offsets.offsets, strong);
        let (mark, state) = self.roots(&strong)?;
        let (mut roots, mut alone) = (self.unfilled::<u32>(nodes)?, self.unfilled::<u32>(nodes)?);
        let mut joined = self.unfilled::<u32>(nodes)?;
        #[rustfmt::skip]
        let arguments = arguments![
            n, wide, map, entries, strong.row_map(), strong.entries(), &is_coupled, &mark, &state, &mut joined, &mut roots, &mut alone,
        ];
        launch(self, "join_aggregates", nodes * WARP, arguments)?;
        let (of_root, of_alone) = (self.offsets(nodes, &roots)?, self.offsets(nodes, &alone)?);
        let mut of_node = mark;
        let arguments = arguments![n, &joined, &of_root.offsets, &of_alone.offsets, &alone, &mut of_node];
        launch(self, "number_aggregates", nodes, arguments)?;
        Ok((of_node, of_root.total + of_alone.total, is_fixed))
    }
}

impl Aggregate for Cuda {
    fn tentative(&self, a: &MatrixOf<Cuda>, near_null: &NearNull<CudaMemory>) -> Result<Tentative<CudaMemory>> {
        let (of_node, count, is_fixed) = self.aggregates(a, near_null.dofs)?;
        let (rows, width, dofs) = (near_null.rows, near_null.count, near_null.dofs as u32);
        let (n, wide) = (rows as u64, width as u32);
        let mut counts = self.unfilled::<u32>(rows)?;
        launch(self, "tentative_count", rows, arguments![n, dofs, wide, &of_node, &is_fixed, &mut counts])?;
        let offsets = self.offsets(rows, &counts)?;
        let (mut entries, mut values) = (self.unfilled::<u32>(offsets.total)?, self.unfilled::<f64>(offsets.total)?);
        let given = &near_null.values;
        let arguments = arguments![n, dofs, wide, &of_node, &offsets.offsets, given, &mut entries, &mut values];
        launch(self, "tentative_fill", rows, arguments)?;
        let graph = CrsGraph::from_parts(rows, count * width, offsets.total, offsets.offsets, entries);
        let ByColumn { starts, keys } = self.by_column(&graph, width)?;
        let (mut coarse, mut is_empty) = (self.zeros::<f64>(count * width * width)?, self.unfilled(count * width)?);
        let arguments =
            arguments![count as u64, wide, DEPENDENT, &starts, &keys, &mut values, &mut coarse, &mut is_empty];
        launch(self, "orthonormalise", count * WARP, arguments)?;
        let is_empty: Vec<u8> = self.download(&is_empty)?;
        let empty = (0..).zip(&is_empty).filter(|(_, flag)| **flag != 0).map(|(row, _)| row).collect();
        let near_null = NearNull { dofs: width, count: width, rows: count * width, values: coarse };
        Ok(Tentative { prolongator: CrsMatrix::from_parts(Arc::new(graph), values), near_null, empty })
    }

    fn smooth(
        &self,
        p: &mut MatrixOf<Cuda>,
        p0: &MatrixOf<Cuda>,
        inverse: &CudaArray<f64>,
        factor: f64,
        width: usize,
    ) -> Result<()> {
        let ((graph, values), of_p0) = (p.parts_mut(), p0.graph());
        #[rustfmt::skip]
        let arguments = arguments![
            graph.rows() as u64, width as u32, graph.row_map(), graph.entries(), of_p0.row_map(), of_p0.entries(), p0.values(), inverse,
            factor, values,
        ];
        launch(self, "smooth", graph.rows() * LANES, arguments)
    }

    fn invert_diagonal(&self, a: &MatrixOf<Cuda>, inverse: &mut CudaArray<f64>) -> Result<()> {
        let (graph, mut is_bad, mut seen) = (a.graph(), self.zeros::<u32>(1)?, [0]);
        check_length("invert_diagonal", "inverse", inverse.len(), graph.rows())?;
        #[rustfmt::skip]
        let arguments = arguments![
            graph.rows() as u64, graph.row_map(), graph.entries(), a.values(), inverse, &mut is_bad,
        ];
        launch(self, "invert_diagonal", graph.rows(), arguments)?;
        self.read(&is_bad, &mut seen)?;
        if seen[0] == 0 {
            return Ok(());
        }
        // A copy on the host names the row.
        let (row_map, entries) = (self.download(graph.row_map())?, self.download(graph.entries())?);
        let graph = CrsGraph::trusted(row_map, entries, graph.columns());
        let copy = CrsMatrix::new(Arc::new(graph), self.download(a.values())?)?;
        crate::sparse::inverse_of_diagonal(&copy.diagonal()?)?;
        Err(Error::Device("the diagonal of a matrix differs from its copy on the host".into()))
    }

    fn random_start(&self, first: GlobalOrdinal, x: &mut CudaArray<f64>) -> Result<()> {
        launch(self, "random_start", x.len(), arguments![x.len() as u64, first, x])
    }

    fn set_diagonal(&self, rows: &CudaArray<LocalOrdinal>, a: &mut MatrixOf<Cuda>) -> Result<()> {
        let (graph, values) = a.parts_mut();
        let arguments =
            arguments![rows.len() as u64, rows, graph.rows() as u64, graph.row_map(), graph.entries(), values];
        launch(self, "set_diagonal", rows.len(), arguments)
    }

    fn picked(&self, graph: &GraphOf<Cuda>, list: &[LocalOrdinal]) -> Result<(Vec<RowOffset>, CrsGraph)> {
        let (count, n) = (list.len(), list.len() as u64);
        let mut ends = self.unfilled::<u64>(2 * count)?;
        launch(self, "ends_of_rows", count, arguments![n, &self.upload(list)?, graph.row_map(), &mut ends])?;
        let mut starts = try_with_capacity("rows to send", count)?;
        let mut row_map = try_with_capacity("row offsets", count + 1)?;
        row_map.push(0);
        for ends in self.download(&ends)?.as_chunks::<2>().0 {
            starts.push(ends[0]);
            row_map.push(row_map[row_map.len() - 1] + ends[1] - ends[0]);
        }
        let (offsets, mut entries) = (self.upload(&row_map)?, self.unfilled(row_map[count] as usize)?);
        launch(self, "pick_entries", count * LANES, arguments![n, &ends, &offsets, graph.entries(), &mut entries])?;
        Ok((starts, CrsGraph::trusted(row_map, self.download(&entries)?, graph.columns())))
    }

    fn extended(&self, graph: &GraphOf<Cuda>, extension: &Extension) -> Result<GraphOf<Cuda>> {
        let &Extension { rows, kept, columns, owned, width, ref ghosts, ref more } = extension;
        let (all, nnz, kept) = (rows + more.rows(), kept + more.nnz(), kept as u64);
        let (mut row_map, mut entries) = (self.unfilled(all + 1)?, self.unfilled(nnz)?);
        let (added, came, ghosts) = (self.upload(more.row_map())?, self.upload(more.entries())?, self.upload(ghosts)?);
        let arguments = arguments![all as u64 + 1, rows as u64, kept, graph.row_map(), &added, &mut row_map];
        launch(self, "extend_map", all + 1, arguments)?;
        #[rustfmt::skip]
        let arguments = arguments![
            nnz as u64, kept, graph.entries(), &came, owned as u32, width as u32, &ghosts, &mut entries,
        ];
        launch(self, "extend_entries", nnz, arguments)?;
        Ok(CrsGraph::from_parts(all, columns, nnz, row_map, entries))
    }
}
