//! Element matrices of the heat equation in memory, for strategies that sum stored matrices: launches of
//! `kernels/heat.cu` (sum-factorised) and `kernels/fill_contraction.cu` (contractions on tensor cores).
//!
//! Shapes: matrices `[packed(i, j), column]` for i <= j, residuals `[i, column]`. Both kernels read 32 bytes per element
//! and 32 per node, and write 352 per element; nothing between geometry and matrices passes through memory.

use super::gather::Arrays;
use super::scatter::HEAT_THREADS;
use super::windows::Batch;
use crate::Result;
use crate::element::HEX8_NODES;
use crate::error::{check_at_least, check_length};
use crate::fill::kernel_files::{FILL_CONTRACTION, HEAT};
use crate::fill::{HeatInput, Kernel};
use crate::mesh::ElemNode;
use crate::space::Cuda;
use crate::space::cuda::{CudaMemory, Grid, arguments};

/// Threads per block of the contractions, blocks per multiprocessor and elements per warp, as in the kernel.
const THREADS: usize = 384;
const BLOCKS: usize = 1;
const ELEMS: usize = 16;
const WARP: usize = 32;

/// Checks that a table of trilinear hexahedra and the input fit.
pub(super) fn check_input(
    name: &'static str,
    elem_node: &ElemNode<CudaMemory>,
    input: HeatInput<'_, CudaMemory>,
) -> Result<()> {
    let nodes = elem_node.node_count();
    check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), HEX8_NODES)?;
    check_at_least(name, "node_coord", input.node_coord.len(), nodes)?;
    check_at_least(name, "temperature", input.temperature.len(), nodes)
}

/// Stores matrices and residuals of a batch of elements. The caller has checked the input.
pub(super) fn store(
    space: &Cuda,
    kernel: Kernel,
    elem_node: &ElemNode<CudaMemory>,
    input: HeatInput<'_, CudaMemory>,
    batch: Batch,
    arrays: &mut Arrays,
) -> Result<()> {
    let (Batch { first, count, column, capacity }, Arrays { matrices, residuals }) = (batch, arrays);
    let (nodes, HeatInput { node_coord, temperature, conductivity }) = (elem_node.nodes(), input);
    #[rustfmt::skip]
    let arguments = arguments![
        first as u64, count as u64, column as u64, capacity as u64, nodes, node_coord, temperature, conductivity,
        matrices, residuals,
    ];
    match kernel {
        Kernel::Fused => space.launch(&HEAT, "store_heat", Grid::cover(count, HEAT_THREADS), arguments),
        Kernel::Contraction => {
            // Resident blocks walk the elements: each computes the table of reference products once.
            let resident = BLOCKS * space.device().info().multiprocessors as usize;
            let blocks = count.div_ceil(THREADS / WARP * ELEMS).min(resident);
            space.launch(&FILL_CONTRACTION, "contract_heat", Grid::new(blocks, THREADS as u32), arguments)
        }
    }
}
