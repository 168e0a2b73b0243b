//! Builds graphs on a GPU, with the kernels in `kernels/graph.cu` and `kernels/graph_map.cu`.
//!
//! | strategy | method |
//! |---|---|
//! | gather | tables of 8 nodes per element, rows of at most 8 elements and 32 columns: one thread per row, one pass ([`short`]) |
//! | | up to 1024 gathered nodes per row: one warp per row in shared memory, count and fill ([`gather`]) |
//! | | longer rows: as sort |
//! | map | undirected pairs in a lock-free table that grows and is filled again ([`map`]) |
//! | sort | all pairs, one radix sort ([`sort`]): 1 KiB per element of 8 nodes |
//! | dashmap | not available: the map is a host data structure |
//!
//! The graphs equal the host's, entry for entry. Launches are asynchronous: a step's time is recorded at the next size
//! read-back and covers all launches before it; launches after the last read-back belong to no step. Gather on short
//! rows reads one size at its end, so its step `graph/columns` covers the whole build.

mod gather;
mod groups;
mod lists;
mod map;
mod short;
mod sort;

use super::elem_graph::with_position_type;
use super::kernel_files::GRAPH;
use super::{BuildGraph, ElemGraph, Graph, Positions, Strategy};
use crate::error::check_at_least;
use crate::graph::step;
use crate::mesh::ElemNode;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, KernelFile, arguments};
use crate::space::{MemorySpace, StepTimes};
use crate::sparse::CrsGraph;
use crate::{Error, Result};
use std::sync::Arc;

/// Threads per block, as in the kernels.
const THREADS: u32 = 256;
/// Threads per block of kernels that sort in shared memory: 4 warps of up to 4 KiB of keys each.
const TEAM: u32 = 128;
/// Threads that share a row in the warp-per-row kernels.
const WARP: usize = 32;
/// Longest row, in keys, that is sorted in shared memory.
const SHARED_KEYS: usize = 1024;

impl BuildGraph for Cuda {
    fn build_graph(
        &self,
        elem_node: &ElemNode<CudaMemory>,
        rows: usize,
        strategy: Strategy,
    ) -> Result<Graph<CudaMemory>> {
        let builder = Builder::new(self, elem_node, rows)?;
        let (mut times, mut map_stats) = (StepTimes::default(), None);
        let (crs, elem) = match strategy {
            Strategy::Gather => builder.gather(&mut times)?,
            Strategy::Map => {
                let (built, stats) = builder.map(&mut times)?;
                map_stats = Some(stats);
                built
            }
            Strategy::Sort => builder.sort(&mut times)?,
            #[cfg(feature = "dashmap")]
            Strategy::DashMap => {
                let advice = "available on the host only; choose map, gather or sort on a GPU";
                return Err(Error::Invalid(format!("graph strategy dashmap: {advice}")));
            }
        };
        Ok(Graph { crs: Arc::new(crs), elem, step_times: times, map_stats })
    }

    fn unite_graphs(&self, graphs: Vec<Graph<CudaMemory>>) -> Result<Vec<Graph<CudaMemory>>> {
        groups::unite(self, graphs)
    }
}

/// The sparsity pattern and the positions of the elements' entries in it.
type Built = (CrsGraph<CudaMemory>, ElemGraph<CudaMemory>);

/// The input that all strategies share.
#[derive(Clone, Copy)]
struct Builder<'a> {
    space: &'a Cuda,
    elem_node: &'a ElemNode<CudaMemory>,
    nodes: &'a CudaArray<u32>,
    /// Nodes per element.
    per_elem: usize,
    /// Length of the element-node table.
    slots: usize,
    rows: usize,
}

impl<'a> Builder<'a> {
    fn new(space: &'a Cuda, elem_node: &'a ElemNode<CudaMemory>, rows: usize) -> Result<Self> {
        let per_elem = elem_node.nodes_per_elem();
        let slots = elem_node.elem_count() * per_elem;
        if elem_node.has_repeats() {
            let advice = "an element has a node several times, which hosts accept: expected different nodes on a GPU";
            return Err(Error::Invalid(format!("graph::build: {advice}")));
        }
        check_at_least("graph::build", "elem_node", elem_node.nodes().len(), slots)?;
        check_at_least("graph::build", "elem_node (its nodes)", elem_node.node_count(), rows)?;
        Ok(Builder { space, elem_node, nodes: elem_node.nodes(), per_elem, slots, rows })
    }

    /// Launches a kernel with one thread per item.
    fn items(&self, name: &'static str, items: usize, arguments: &mut [Argument]) -> Result<()> {
        self.space.graph_items(name, items, arguments)
    }

    /// Launches a kernel with one warp per row.
    fn warps(&self, name: &'static str, arguments: &mut [Argument]) -> Result<()> {
        self.items(name, self.rows * WARP, arguments)
    }

    /// Launches a kernel with one warp per row and shared memory for `capacity` keys per warp.
    fn sorting_warps(
        &self,
        file: &'static KernelFile,
        name: &'static str,
        capacity: usize,
        arguments: &mut [Argument],
    ) -> Result<()> {
        let shared = TEAM as usize / WARP * capacity * size_of::<u32>();
        self.space.launch(file, name, Grid::cover(self.rows * WARP, TEAM).shared(shared), arguments)
    }

    /// Scans the rows' counts, allocates and fills the entries, then builds the element graph. Waits once, for the
    /// number of entries. `fill` receives the row offsets, the length of the longest row, the counts and the entries.
    fn finish(
        &self,
        counts: &mut CudaArray<u32>,
        times: &mut StepTimes,
        fill: impl FnOnce(&CudaArray<u64>, usize, &mut CudaArray<u32>, &mut CudaArray<u32>) -> Result<()>,
    ) -> Result<Built> {
        // Waits here, because the allocation needs the number of entries.
        let map = self.space.offsets(self.rows, counts)?;
        times.mark(step::COUNT);
        let mut entries = self.space.unfilled(map.total)?;
        times.mark(step::ALLOCATE);
        fill(&map.offsets, map.longest, counts, &mut entries)?;
        let positions = self.locate(map.longest, &map.offsets, &entries)?;
        let crs = CrsGraph::from_parts(self.rows, self.elem_node.node_count(), map.total, map.offsets, entries);
        let elem = ElemGraph::from_parts(self.elem_node.clone(), positions, &crs);
        Ok((crs, elem))
    }

    /// Finds the position of each pair in its sorted row.
    fn locate(
        &self,
        longest: usize,
        row_map: &CudaArray<u64>,
        entries: &CudaArray<u32>,
    ) -> Result<Positions<CudaMemory>> {
        let pairs = self.slots * self.per_elem;
        let (nn, rows) = (self.per_elem as u32, self.rows as u64);
        Ok(with_position_type!(longest, P => {
            let mut positions: <CudaMemory as MemorySpace>::Array<P> = self.space.unfilled(pairs)?;
            match size_of::<P>() {
                // Hexahedra with short rows, the usual case, store 8 positions at once.
                1 if self.per_elem == 8 => {
                    let arguments = arguments![self.slots as u64, rows, self.nodes, row_map, entries, &mut positions];
                    self.items("locate_hex", self.slots, arguments)?;
                }
                bytes => {
                    let name = ["locate_u8", "locate_u16", "locate_u32"][bytes / 2];
                    let arguments = arguments![pairs as u64, nn, rows, self.nodes, row_map, entries, &mut positions];
                    self.items(name, pairs, arguments)?;
                }
            }
            positions
        }))
    }
}

impl Cuda {
    /// Launches a kernel of module `graph` with one thread per item.
    fn graph_items(&self, name: &'static str, items: usize, arguments: &mut [Argument]) -> Result<()> {
        self.launch(&GRAPH, name, Grid::cover(items, THREADS), arguments)
    }
}
