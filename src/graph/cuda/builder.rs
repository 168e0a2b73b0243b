//! Shared by all strategies: the input, launches, allocation, positions.

use crate::Result;
use crate::error::check_at_least;
use crate::graph::elem_graph::with_position_type;
use crate::graph::kernel_files::GRAPH;
use crate::graph::{ElemGraph, Positions, step};
use crate::mesh::ElemNode;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, KernelFile, arguments};
use crate::space::{MemorySpace, StepTimes};
use crate::sparse::CrsGraph;

/// Threads per block, as in the kernels.
pub(super) const THREADS: u32 = 256;
/// Threads per block of kernels that sort in shared memory: 4 warps of up to 4 KiB of keys each.
pub(super) const TEAM: u32 = 128;
/// Threads that share a row in the warp-per-row kernels.
pub(super) const WARP: usize = 32;
/// Longest row, in keys, that is sorted in shared memory.
pub(super) const SHARED_KEYS: usize = 1024;

/// The sparsity pattern and the positions of the elements' entries in it.
pub(super) type Built = (CrsGraph<CudaMemory>, ElemGraph<CudaMemory>);

/// The input that all strategies share.
#[derive(Clone, Copy)]
pub(super) struct Builder<'a> {
    pub space: &'a Cuda,
    pub elem_node: &'a ElemNode<CudaMemory>,
    pub nodes: &'a CudaArray<u32>,
    /// Nodes per element.
    pub per_elem: usize,
    /// Length of the element-node table.
    pub slots: usize,
    pub rows: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(space: &'a Cuda, elem_node: &'a ElemNode<CudaMemory>, rows: usize) -> Result<Self> {
        let per_elem = elem_node.nodes_per_elem();
        let slots = elem_node.elem_count() * per_elem;
        elem_node.check_distinct("graph::build")?;
        check_at_least("graph::build", "elem_node", elem_node.nodes().len(), slots)?;
        check_at_least("graph::build", "elem_node (its nodes)", elem_node.node_count(), rows)?;
        Ok(Builder { space, elem_node, nodes: elem_node.nodes(), per_elem, slots, rows })
    }

    /// Launches a kernel with a warp per row and `capacity` keys of shared memory.
    pub(super) fn sorting_warps(
        &self,
        file: &'static KernelFile,
        name: &'static str,
        capacity: usize,
        arguments: &[Argument],
    ) -> Result<()> {
        let shared = TEAM as usize / WARP * capacity * size_of::<u32>();
        self.space.launch(file, name, Grid::cover(self.rows * WARP, TEAM).shared(shared), arguments)
    }

    /// Scans the rows' counts, allocates and fills the entries, then builds the element graph. Waits once, for the
    /// number of entries. `fill` receives the row offsets, the length of the longest row and the entries.
    pub(super) fn finish(
        &self,
        counts: &CudaArray<u32>,
        times: &mut StepTimes,
        fill: impl FnOnce(&CudaArray<u64>, usize, &mut CudaArray<u32>) -> Result<()>,
    ) -> Result<Built> {
        // Waits here, because the allocation needs the number of entries.
        let map = self.space.offsets(self.rows, counts)?;
        times.mark(step::COUNT);
        let mut entries = self.space.unfilled(map.total)?;
        times.mark(step::ALLOCATE);
        fill(&map.offsets, map.longest, &mut entries)?;
        let positions = self.locate(map.longest, &map.offsets, &entries)?;
        let crs = CrsGraph::from_parts(self.rows, self.elem_node.node_count(), map.total, map.offsets, entries);
        let elem = ElemGraph::from_parts(self.elem_node.clone(), positions, &crs);
        Ok((crs, elem))
    }

    /// Finds the position of each pair in its sorted row.
    pub(super) fn locate(
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
                    self.space.graph_items("locate_hex", self.slots, arguments)?;
                }
                bytes => {
                    let name = ["locate_u8", "locate_u16", "locate_u32"][bytes / 2];
                    let arguments = arguments![pairs as u64, nn, rows, self.nodes, row_map, entries, &mut positions];
                    self.space.graph_items(name, pairs, arguments)?;
                }
            }
            positions
        }))
    }
}

impl Cuda {
    /// Launches a kernel of module `graph` with one thread per item.
    pub(super) fn graph_items(&self, name: &'static str, items: usize, arguments: &[Argument]) -> Result<()> {
        self.launch(&GRAPH, name, Grid::cover(items, THREADS), arguments)
    }
}
