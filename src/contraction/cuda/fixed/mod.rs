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

mod dmma;
mod packed;

use super::kernel_files::{CONTRACTION_BLOCKED, CONTRACTION_LANES};
use super::launch::{Launch, Refusal, tiled_warps};
use super::work::{Family, Limits, WARP, Work};
use crate::space::cuda::Grid;

pub use dmma::{dmma, dmma_blocked};
pub use packed::{rows, staged};

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

/// Most terms whose loads a large tile keeps in flight together: on an H200, 8 x 8 outputs of 8 terms take 0.73 of the time of staging.
const UNROLLED: usize = 8;

/// Each lane computes a tile of outputs of its own cell.
pub fn lanes(work: &Work, limits: &Limits) -> Launch {
    let [_, left, right] = work.sizes;
    let [outer, middle, inner] = work.terms.extents;
    // 9 x 9 sums in f64 leave registers for the operands of one term, 8 x 8 sums for those of two terms.
    let most = if left.max(right) <= 8 { 8 } else { 9 };
    let (rows, columns) = (side(left, most), side(right, most));
    let registers = (rows * columns + rows + columns) * work.item / 4;
    let is_large = rows * columns > 16;
    // Large tiles stage the operands of three or four terms per thread in shared memory.
    let stage = (rows + columns) * 128 * work.item;
    let is_staged = registers >= 72 && work.terms.count() > UNROLLED && 4 * stage <= limits.shared;
    // As many blocks of 128 threads as leave each thread registers for sums, operands, the next operands and addresses;
    // staged tiles do not hold the next operands in registers.
    let is_unrolled = is_large && work.terms.count() <= UNROLLED;
    let blocks = match registers {
        _ if is_staged => (512 / (registers + 8)).clamp(1, 5),
        49..=88 if is_unrolled => 3,
        ..=24 => 8,
        25..=48 => 5,
        49..=88 => 4,
        _ => 2,
    };
    let stages = if is_staged { ((160 << 10) / blocks / stage).clamp(3, 4) } else { 0 };
    let prefetches = is_large && !is_staged && !is_unrolled && registers <= 160;
    // Small tiles keep the loads of four terms in flight, large tiles with many terms those of one.
    let unroll = if is_unrolled {
        UNROLLED
    } else if is_large {
        1
    } else {
        4
    };
    Launch::specialised(
        &CONTRACTION_LANES,
        work,
        &[
            ("OUTER", outer),
            ("MIDDLE", middle),
            ("INNER", inner),
            ("ROWS", rows),
            ("COLUMNS", columns),
            ("PREFETCH", usize::from(prefetches)),
            ("STAGES", stages),
            ("UNROLL", unroll),
            ("THREADS", 128),
            ("BLOCKS", blocks),
        ],
        Grid::cover(tiled_warps(work, rows, columns) * WARP, 128).shared(stages * stage),
    )
}

/// A block computes a tile of tiles, one per thread.
pub fn blocked(work: &Work, limits: &Limits) -> Result<Launch, Refusal> {
    let [cells, left, right] = work.sizes;
    let [outer, middle, inner] = work.terms.extents;
    if work.family != Family::FieldField {
        return Err(NOT_FIELDS);
    }
    // 16 x 16 threads; for up to 64 fields 8 x 8 threads, so that each thread still has a large tile.
    let across = if left.max(right) <= 64 { 8 } else { 16 };
    let tile = |most: usize| [left, right].map(|extent| side(extent.div_ceil(across), most));
    let blocks_of = |[rows, columns]: [usize; 2]| {
        cells.saturating_mul(left.div_ceil(across * rows) * right.div_ceil(across * columns))
    };
    // The largest tiles that still give every multiprocessor a block.
    let fills = [8, 4].map(tile).into_iter().find(|tile| blocks_of(*tile) >= limits.multiprocessors);
    let [rows, columns] = fills.unwrap_or_else(|| tile(2));
    let (threads, grid) = (across * across, blocks_of([rows, columns]));
    // Registers for sums, one term of both operands, the thread's share of the next 8 terms, and addresses.
    let loads = (across * rows * 8).div_ceil(threads) + (across * columns * 8).div_ceil(threads);
    let registers = (rows * columns + rows + columns + loads) * work.item / 4 + 40;
    let blocks = (65536 / (threads * registers)).clamp(1, 1024 / threads);
    // A multiprocessor has four schedulers: with two warps per block, use an even number of blocks.
    let blocks = if threads == 64 { (blocks / 2 * 2).max(2) } else { blocks };
    Ok(Launch::specialised(
        &CONTRACTION_BLOCKED,
        work,
        &[
            ("OUTER", outer),
            ("MIDDLE", middle),
            ("INNER", inner),
            ("ACROSS", across),
            ("ROWS", rows),
            ("COLUMNS", columns),
            ("THREADS", threads),
            ("BLOCKS", blocks),
        ],
        Grid::new(grid, threads as u32),
    ))
}
