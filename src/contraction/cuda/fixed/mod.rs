//! Launches of the kernels that are compiled for the sizes of one contraction: the defines and the grid, from the sizes and
//! strides of the operands.
//!
//! | kernel file | applies to | a thread computes |
//! |---|---|---|
//! | `contraction_lanes` | cells with stride 1 (correct for any strides) | a tile of a cell's outputs |
//! | `contraction_rows` | contiguous terms | a part of the terms of some outputs |
//! | `contraction_staged` | few fields, contiguous terms | a tile of a cell's outputs, or its part of their terms, from shared memory |
//! | `contraction_blocked` | many fields, any strides | a tile within the block's tile, operands in shared memory |
//! | `contraction_dmma` | fields in f64, contiguous terms | its share of 8 x 8 products on tensor cores |
//! | `contraction_dmma_blocked` | many fields in f64, contiguous terms | the same, operands in shared memory |

mod blocked;
mod dmma;
mod lanes;
mod rows;
mod staged;

use super::launch::Refusal;
use super::work::WARP;

pub use blocked::blocked;
pub use dmma::{dmma, dmma_blocked};
pub use lanes::lanes;
pub use rows::rows;
pub use staged::staged;

const NOT_PACKED: Refusal = "the terms of an operand are not side by side in memory";
const NOT_FIELDS: Refusal = "of field_field only";

/// Returns the tile side, at most `most`, that covers `extent` with the fewest tiles and, among those, the least waste.
fn side(extent: usize, most: usize) -> usize {
    extent.div_ceil(extent.div_ceil(most)).max(1)
}

/// Returns the largest power of two up to `n`, at least 1.
fn power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

/// Returns how many blocks of `threads` threads with `registers` registers each fit into a multiprocessor's 65 536 registers,
/// up to 16.
fn blocks(threads: usize, registers: usize) -> usize {
    (65_536 / (threads.next_multiple_of(WARP) * registers).max(1)).clamp(1, 16)
}
