//! Several degrees of freedom per node on a GPU: launches of `kernels/dofs.cu`. `graph/dofs.rs` defines the numbering.
//!
//! Cost: reads the graph, writes 8 d bytes per row, 4 d^2 per entry, 4 d per element corner and d^2 positions per pair of an element's
//! nodes. Waits once, for the longest row, which decides the type of the positions.

use crate::error::check_at_least;
use crate::graph::dofs::check_dofs;
use crate::graph::elem_graph::{with_position_type, with_positions};
use crate::graph::kernel_files::DOFS;
use crate::graph::{ElemGraph, Graph, Positions, step};
use crate::mesh::ElemNode;
use crate::space::cuda::{Argument, Cuda, CudaMemory, Grid, arguments};
use crate::space::{ExecutionSpace, MemorySpace, StepTimes};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result};

const THREADS: u32 = 256;
const WARP: usize = 32;

impl Graph<CudaMemory> {
    /// Returns the graph of `dofs` degrees of freedom per node, as `Graph::with_dofs` of a host.
    ///
    /// # Errors
    /// Those of the host's, and [`Error::Device`](crate::Error::Device) if the GPU fails.
    pub fn with_dofs(&self, space: &Cuda, dofs: usize) -> Result<Self> {
        let (crs, nodes) = (&self.crs, self.elem.elem_node());
        let (rows, nn, elems) = (crs.rows(), nodes.nodes_per_elem(), nodes.elem_count());
        let slots = elems * nn;
        check_dofs(dofs, crs.columns(), slots)?;
        check_at_least("Graph::with_dofs", "elem_node", nodes.nodes().len(), slots)?;
        let mut step_times = StepTimes::default();
        let (count, each) = (rows as u64, dofs as u32);
        let (mut row_map, mut longest) = (space.unfilled::<u64>(rows * dofs + 1)?, space.zeros::<u32>(1)?);
        let arguments = arguments![count, each, crs.row_map(), &mut row_map, &mut longest];
        space.launch(&DOFS, "dof_rows", Grid::cover(rows + 1, THREADS), arguments)?;
        let of_dofs = crs.of_dofs(dofs, || {
            let nnz = dofs * dofs * crs.nnz();
            let mut entries = space.unfilled::<LocalOrdinal>(nnz)?;
            let arguments = arguments![count, each, crs.row_map(), crs.entries(), &mut entries];
            space.launch(&DOFS, "dof_columns", Grid::cover(rows * WARP, THREADS), arguments)?;
            Ok(CrsGraph::from_parts(rows * dofs, crs.columns() * dofs, nnz, row_map, entries))
        })?;
        let mut all = space.unfilled::<LocalOrdinal>(slots * dofs)?;
        let arguments = arguments![(slots * dofs) as u64, each, nodes.nodes(), &mut all];
        space.launch(&DOFS, "dof_nodes", Grid::cover(slots * dofs, THREADS), arguments)?;
        let mut longest_row = [0];
        space.read(&longest, &mut longest_row)?;
        step_times.mark(step::COLUMNS);
        let count = slots * nn * dofs * dofs;
        let positions = with_position_type!(longest_row[0] as usize * dofs, P => {
            let mut positions: <CudaMemory as MemorySpace>::Array<P> = space.unfilled(count)?;
            let of_nodes: Argument = with_positions!(self.elem.positions(), old => old.into());
            let widths = [self.elem.position_bytes() as u32, size_of::<P>() as u32];
            let arguments = arguments![count as u64, nn as u32, each, widths[0], of_nodes, widths[1], &mut positions];
            space.launch(&DOFS, "dof_positions", Grid::cover(count, THREADS), arguments)?;
            positions
        });
        let table = ElemNode::from_parts(all, elems, nn * dofs, nodes.node_count() * dofs);
        let elem = ElemGraph::from_parts(table, positions, &of_dofs);
        step_times.mark(step::ELEM_GRAPH);
        Ok(Graph { crs: of_dofs, elem, step_times, map_stats: None })
    }
}
