//! Element matrices of the heat equation on trilinear hexahedra by the fused kernel: launches of `kernels/heat.cu`.
//!
//! Shapes: matrices `[packed(i, j), column]` for i <= j, residuals `[i, column]`. The kernel reads 32 bytes per element
//! and 32 per node, and writes 352 per element.

use super::adds::HEAT_THREADS;
use super::gather::Arrays;
use super::system::EquationInput;
use super::windows::Batch;
use crate::Result;
use crate::element::equations::Heat;
use crate::fill::kernel_files::HEAT;
use crate::space::Cuda;
use crate::space::cuda::{Grid, arguments};

/// Stores matrices and residuals of a batch of elements. The caller has checked the input.
pub(super) fn store_heat(
    space: &Cuda,
    input: EquationInput<'_>,
    heat: Heat,
    batch: Batch,
    arrays: &mut Arrays,
) -> Result<()> {
    let (Batch { first, count, column, capacity }, Arrays { matrices, residuals }) = (batch, arrays);
    #[rustfmt::skip]
    let arguments = arguments![
        first as u64, count as u64, column as u64, capacity as u64, input.elem_node.nodes(), input.node_coord, input.solution, heat,
        matrices, residuals,
    ];
    space.launch(&HEAT, "store_heat", Grid::cover(count, HEAT_THREADS), arguments)
}
