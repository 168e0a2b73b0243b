//! Kernels compiled for the sizes of one contraction: what the compiler is told, by the sizes and the place of the numbers.
//!
//! | kernel file | for | a thread has |
//! |---|---|---|
//! | `contraction_lanes` | cells side by side; right for any strides | a tile of a cell's outputs |
//! | `contraction_rows` | terms side by side | a part of some outputs' terms |
//! | `contraction_staged` | small cells of fields, terms side by side | a tile of a cell's outputs, or its part of their terms, from shared memory |
//! | `contraction_blocked` | many fields, any strides | a tile of a block's tile, operands in shared memory |
//! | `contraction_dmma` | fields in f64, terms side by side | its share of 8 x 8 products on tensor cores |
//! | `contraction_dmma_blocked` | many fields in f64, terms side by side | the same, operands in shared memory |

mod blocked;
mod dmma;
mod lanes;
mod rows;
mod staged;

use super::plan::Plan;
use super::work::{WARP, Work};
use crate::space::cuda::{Grid, KernelFile};
use std::fmt::Write;

pub use blocked::blocked;
pub use dmma::{dmma, dmma_blocked};
pub use lanes::lanes;
pub use rows::rows;
pub use staged::staged;

const NOT_PACKED: &str = "the terms of an operand are not side by side in memory";
const NOT_FIELDS: &str = "of field_field only";

fn real(work: &Work) -> &'static str {
    if work.item == 8 { "double" } else { "float" }
}

fn plan(file: &'static KernelFile, real: &str, values: &[(&str, usize)], grid: Grid) -> Plan {
    let mut defines = format!("#define REAL {real}\n");
    for (name, value) in values {
        // Writing to a string cannot fail.
        let _ = writeln!(defines, "#define {name} {value}");
    }
    Plan { file, defines: Some(defines), kernel: "contract", grid, option: 0, clears: false }
}

/// The side of the tiles, at most `most`, that cover a side with the fewest and then with the least waste.
fn side(extent: usize, most: usize) -> usize {
    extent.div_ceil(extent.div_ceil(most)).max(1)
}

/// The largest power of two that is not above `n`, 1 at least.
fn power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

/// Blocks of so many threads that a multiprocessor's registers hold, up to 16.
fn blocks(threads: usize, registers: usize) -> usize {
    (65_536 / (threads.next_multiple_of(WARP) * registers).max(1)).clamp(1, 16)
}
