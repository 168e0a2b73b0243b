//! Launches of `contraction_blocked`.

use super::{NOT_FIELDS, side};
use crate::contraction::cuda::kernel_files::CONTRACTION_BLOCKED;
use crate::contraction::cuda::launch::{Launch, Refusal};
use crate::contraction::cuda::work::{Family, Limits, Work};
use crate::space::cuda::Grid;

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
