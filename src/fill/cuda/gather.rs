//! Strategy `gather` on a GPU: element matrices are stored, elements side by side, then one thread per row sums its own.
//!
//! Bitwise reproducible: elements ascend in each row. A block sums its rows in shared memory, in the layout of the
//! matrix, so that each value is written once and stores coalesce; blocks of longer rows are summed in device memory.

use super::scatter::HEAT_THREADS;
use super::system::{ElementMatrices, SystemView};
use crate::Result;
use crate::element::HEX8_NODES;
use crate::fill::HeatInput;
use crate::fill::kernel_files::{FILL, HEAT};
use crate::graph::{Graph, NodeElem};
use crate::mesh::ElemNode;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};

/// Rows per block, one per thread.
const ROWS: u32 = 128;
/// Entries of a symmetric element matrix.
const PAIRS: usize = HEX8_NODES * (HEX8_NODES + 1) / 2;

/// Returns the number of stored items of `elems` elements of the heat equation.
pub(super) fn stored_len(elems: usize) -> usize {
    (PAIRS + HEX8_NODES) * elems
}

/// Lists of each row's elements, and the heat equation's element arrays, which the first call allocates.
#[derive(Debug)]
pub(super) struct Gather {
    lists: NodeElem<CudaMemory>,
    /// Number of matrix entries that a block's shared memory holds.
    capacity: u32,
    arrays: Option<Arrays>,
}

/// `[packed(i, j), elem]` and `[i, elem]`.
#[derive(Debug)]
struct Arrays {
    matrices: CudaArray<f64>,
    residuals: CudaArray<f64>,
}

impl Gather {
    pub(super) fn new(space: &Cuda, elem_node: &ElemNode<CudaMemory>, graph: &Graph<CudaMemory>) -> Result<Self> {
        let rows = graph.crs.rows();
        let lists = NodeElem::on_device(space, elem_node, rows)?;
        // Shared memory that a block may have on every GPU of this compute capability.
        let bytes = if space.device().info().capability >= (8, 0) { 96 << 10 } else { 48 << 10 };
        let limit = bytes / size_of::<f64>();
        let mut largest = space.zeros::<u32>(1)?;
        let grid = Grid::cover(rows.div_ceil(ROWS as usize), 256);
        let row_map = graph.crs.row_map();
        space.launch(&FILL, "largest_span", grid, arguments![rows as u64, limit as u64, row_map, &mut largest])?;
        let mut capacity = [0];
        space.read(&largest, &mut capacity)?;
        Ok(Gather { lists, capacity: capacity[0], arrays: None })
    }

    pub(super) fn heat(&mut self, system: SystemView<'_>, input: HeatInput<'_, CudaMemory>) -> Result<()> {
        let (space, elems) = (system.space, system.elems());
        // Taken out while `matrices` borrows all of `self`, and put back below.
        let mut arrays = match self.arrays.take() {
            Some(arrays) => arrays,
            None => {
                let matrices = space.unfilled(PAIRS * elems)?;
                Arrays { matrices, residuals: space.unfilled(HEX8_NODES * elems)? }
            }
        };
        let HeatInput { elem_node: _, node_coord, temperature, conductivity } = input;
        let Arrays { matrices, residuals } = &mut arrays;
        let nodes = system.elem_node.nodes();
        #[rustfmt::skip]
        let arguments =
            arguments![elems as u64, nodes, node_coord, temperature, conductivity, &mut *matrices, &mut *residuals];
        space.launch(&HEAT, "store_heat", Grid::cover(elems, HEAT_THREADS), arguments)?;
        let done = self.matrices(system, ElementMatrices { matrices, residuals, symmetric: true });
        self.arrays = Some(arrays);
        done
    }

    pub(super) fn matrices(&self, system: SystemView<'_>, elements: ElementMatrices<'_>) -> Result<()> {
        let (rows, nn, (positions, kind)) = (system.rows(), system.nodes_per_elem(), system.positions());
        let names = match (nn, elements.symmetric) {
            (HEX8_NODES, true) => ["gather_symmetric8_u8", "gather_symmetric8_u16", "gather_symmetric8_u32"],
            (HEX8_NODES, false) => ["gather_full8_u8", "gather_full8_u16", "gather_full8_u32"],
            _ => ["gather_any_u8", "gather_any_u16", "gather_any_u32"],
        };
        let grid = Grid::cover(rows, ROWS).shared(self.capacity as usize * size_of::<f64>());
        let (slot_map, slots) = (self.lists.row_map(), self.lists.slots_array());
        #[rustfmt::skip]
        let arguments = arguments![
            rows as u64, system.elems() as u64, nn as u32, self.capacity, u32::from(elements.symmetric), slot_map,
            slots, positions, system.graph.crs.row_map(), elements.matrices, elements.residuals, system.values,
            system.residual,
        ];
        system.space.launch(&FILL, names[kind], grid, arguments)
    }
}
