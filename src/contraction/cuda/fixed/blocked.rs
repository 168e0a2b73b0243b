//! Plans of `contraction_blocked`.

use super::super::kernel_files::CONTRACTION_BLOCKED;
use super::super::plan::Plan;
use super::super::work::{Family, Limits, Work};
use super::{NOT_FIELDS, plan, real, side};
use crate::space::cuda::Grid;

/// Tiles of tiles.
pub fn blocked(work: &Work, limits: &Limits) -> Result<Plan, &'static str> {
    let [cells, left, right] = work.sizes;
    let [outer, middle, inner] = work.terms.extents;
    if work.family != Family::FieldField {
        return Err(NOT_FIELDS);
    }
    // 16 x 16 threads; of up to 64 fields 8 x 8, so that a thread still has a large tile.
    let across = if left.max(right) <= 64 { 8 } else { 16 };
    let tile = |most: usize| [left, right].map(|extent| side(extent.div_ceil(across), most));
    let blocks_of = |[rows, columns]: [usize; 2]| {
        cells.saturating_mul(left.div_ceil(across * rows) * right.div_ceil(across * columns))
    };
    // The largest tiles that leave every multiprocessor a block.
    let fills = [8, 4].map(tile).into_iter().find(|tile| blocks_of(*tile) >= limits.multiprocessors);
    let [rows, columns] = fills.unwrap_or_else(|| tile(2));
    let (threads, grid) = (across * across, blocks_of([rows, columns]));
    // Sums, a term of both operands, a thread's share of the next slab of 8 terms, addresses.
    let loads = (across * rows * 8).div_ceil(threads) + (across * columns * 8).div_ceil(threads);
    let registers = (rows * columns + rows + columns + loads) * work.item / 4 + 40;
    let blocks = (65536 / (threads * registers)).clamp(1, 1024 / threads);
    // Warps are shared out among four schedulers.
    let blocks = if threads == 64 { (blocks / 2 * 2).max(2) } else { blocks };
    Ok(plan(
        &CONTRACTION_BLOCKED,
        real(work),
        &[
            ("LEFT", left),
            ("RIGHT", right),
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
