//! Strategy `scatter` on a GPU: all elements at once, hardware additions in no fixed order.
//!
//! Bound by the rate of additions in the second-level cache, one 32-byte sector each. So the lanes of a warp take
//! neighbouring columns of a row, and elements of a warp that lie in a line along x add up the rows they share before.

use super::{ElementMatrices, Heat, Target, WIDTHS, blocks};
use crate::Result;
use crate::fill::kernel_files::{FILL, HEAT};
use crate::space::cuda::{Argument, Grid, arguments};

/// Threads of a block of `heat.cu`.
pub(super) const HEAT_THREADS: u32 = 64;
/// Threads of a block of `fill.cu`, elements and entries of its tile.
const THREADS: u32 = 256;
const ELEMS: usize = 32;
const ENTRIES: usize = 64;

pub(super) fn heat(mut target: Target<'_>, heat: Heat<'_>) -> Result<()> {
    target.clear()?;
    let (elems, rows, (positions, kind)) = (target.elems(), target.rows(), target.positions());
    let grid = Grid::cover(elems, HEAT_THREADS);
    let (nodes, row_map) = (target.elem_node.nodes(), target.graph.crs.row_map());
    let Heat { node_coord, temperature, conductivity } = heat;
    #[rustfmt::skip]
    let arguments = arguments![
        elems as u64, rows as u64, WIDTHS[kind], nodes, positions, row_map, node_coord, temperature, conductivity,
        target.values, target.residual,
    ];
    target.space.launch(&HEAT, "scatter_heat", grid, arguments)
}

pub(super) fn matrices(mut target: Target<'_>, elements: ElementMatrices<'_>) -> Result<()> {
    target.clear()?;
    let count = target.elems();
    add_matrices(&mut target, elements, ["scatter_u8", "scatter_u16", "scatter_u32"], count, Argument::NULL)
}

/// Adds `count` elements of a list (all, without one) with the kernel for the type of the positions.
pub(super) fn add_matrices(
    target: &mut Target<'_>,
    elements: ElementMatrices<'_>,
    names: [&'static str; 3],
    count: usize,
    list: Argument,
) -> Result<()> {
    let (nn, (positions, kind)) = (target.nodes_per_elem(), target.positions());
    let tiles = count.div_ceil(ELEMS) * (nn * nn).div_ceil(ENTRIES);
    let (elems, rows) = (target.elems() as u64, target.rows() as u64);
    let (nodes, row_map) = (target.elem_node.nodes(), target.graph.crs.row_map());
    #[rustfmt::skip]
    let arguments = arguments![
        count as u64, elems, rows, nn as u32, u32::from(elements.symmetric), list, nodes, positions, row_map,
        elements.matrices, elements.residuals, &mut *target.values, &mut *target.residual,
    ];
    target.space.launch(&FILL, names[kind], Grid::new(blocks(tiles)?, THREADS), arguments)
}
