//! Element matrices of the heat equation in memory, for strategies that sum stored matrices: launches of `kernels/heat.cu`.
//!
//! Shapes: matrices `[packed(i, j), column]` for i <= j, residuals `[i, column]`. The kernel reads 32 bytes per element
//! and 32 per node, and writes 352 per element.

use super::adds::HEAT_THREADS;
use super::gather::Arrays;
use super::windows::Batch;
use crate::Result;
use crate::element::HEX8_NODES;
use crate::error::{check_at_least, check_length};
use crate::fill::HeatInput;
use crate::fill::kernel_files::HEAT;
use crate::mesh::ElemNode;
use crate::space::Cuda;
use crate::space::cuda::{CudaMemory, Grid, arguments};

/// Checks that a table of trilinear hexahedra and the input fit.
pub(super) fn check_input(name: &'static str, elem_node: &ElemNode<CudaMemory>, input: HeatInput<'_>) -> Result<()> {
    let nodes = elem_node.node_count();
    check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), HEX8_NODES)?;
    check_at_least(name, "node_coord", input.node_coord.len(), nodes)?;
    check_at_least(name, "temperature", input.temperature.len(), nodes)
}

/// Stores matrices and residuals of a batch of elements by the fused kernel. The caller has checked the input.
pub(super) fn store(
    space: &Cuda,
    elem_node: &ElemNode<CudaMemory>,
    input: HeatInput<'_>,
    batch: Batch,
    arrays: &mut Arrays,
) -> Result<()> {
    let (Batch { first, count, column, capacity }, Arrays { matrices, residuals }) = (batch, arrays);
    let (nodes, HeatInput { node_coord, temperature, heat }) = (elem_node.nodes(), input);
    #[rustfmt::skip]
    let arguments = arguments![
        first as u64, count as u64, column as u64, capacity as u64, nodes, node_coord, temperature, heat,
        matrices, residuals,
    ];
    space.launch(&HEAT, "store_heat", Grid::cover(count, HEAT_THREADS), arguments)
}
