//! Strategy `scatter` on a GPU: all elements at once, hardware additions in no fixed order.
//!
//! Bound by the rate of additions in the second-level cache, one 32-byte sector each. Therefore the lanes of a warp take
//! neighbouring columns of a row, and the elements of a warp that lie in a line along x first sum the rows they share.

use super::system::{ElementMatrices, SystemView, WIDTHS, blocks};
use crate::Result;
use crate::fill::HeatInput;
use crate::fill::kernel_files::{FILL, HEAT};
use crate::space::cuda::{Argument, Grid, arguments};

/// Threads per block, as in `heat.cu`.
pub(super) const HEAT_THREADS: u32 = 64;
/// Threads per block, elements and entries per tile, as in `fill.cu`.
const THREADS: u32 = 256;
const ELEMS: usize = 32;
const ENTRIES: usize = 64;

pub(super) fn heat(mut system: SystemView<'_>, input: HeatInput<'_>) -> Result<()> {
    // Additions need zeros to start from.
    system.clear()?;
    let count = system.elems();
    add_heat(&mut system, input, "scatter_heat", count, Argument::NULL)
}

/// Computes and adds the `count` elements of a list, or all elements without a list.
pub(super) fn add_heat(
    system: &mut SystemView<'_>,
    input: HeatInput<'_>,
    name: &'static str,
    count: usize,
    list: Argument,
) -> Result<()> {
    let (rows, (positions, kind)) = (system.rows() as u64, system.positions());
    let (nodes, row_map) = (system.elem_node().nodes(), system.layout.starts);
    let HeatInput { node_coord, temperature, heat } = input;
    #[rustfmt::skip]
    let arguments = arguments![
        count as u64, rows, WIDTHS[kind], list, nodes, positions, row_map, node_coord, temperature, heat,
        &mut *system.values, &mut *system.residual,
    ];
    system.space.launch(&HEAT, name, Grid::cover(count, HEAT_THREADS), arguments)
}

pub(super) fn matrices(mut system: SystemView<'_>, elements: ElementMatrices<'_>) -> Result<()> {
    system.clear()?;
    let count = system.elems();
    add_matrices(&mut system, elements, ["scatter_u8", "scatter_u16", "scatter_u32"], count, Argument::NULL)
}

/// Adds the `count` elements of a list, or all elements without a list, with the kernel for the type of the positions.
pub(super) fn add_matrices(
    system: &mut SystemView<'_>,
    elements: ElementMatrices<'_>,
    names: [&'static str; 3],
    count: usize,
    list: Argument,
) -> Result<()> {
    let (nn, (positions, kind)) = (system.nodes_per_elem(), system.positions());
    let tiles = count.div_ceil(ELEMS) * (nn * nn).div_ceil(ENTRIES);
    let (elems, rows) = (system.elems() as u64, system.rows() as u64);
    let (nodes, row_map) = (system.elem_node().nodes(), system.layout.starts);
    #[rustfmt::skip]
    let arguments = arguments![
        count as u64, elems, rows, nn as u32, u32::from(elements.symmetric), list, nodes, positions, row_map,
        elements.matrices, elements.residuals, &mut *system.values, &mut *system.residual,
    ];
    system.space.launch(&FILL, names[kind], Grid::new(blocks(tiles)?, THREADS), arguments)
}
