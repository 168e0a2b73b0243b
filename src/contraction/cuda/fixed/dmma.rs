//! Plans of `contraction_dmma` and `contraction_dmma_blocked`.

use super::super::kernel_files::{CONTRACTION_DMMA, CONTRACTION_DMMA_BLOCKED};
use super::super::plan::Plan;
use super::super::work::{Family, Limits, WARP, Work};
use super::{NOT_FIELDS, NOT_PACKED, blocks, plan, power_of_two, side};
use crate::space::cuda::Grid;

/// Why a contraction is not for f64 tensor cores.
fn not_for_tensor_cores(work: &Work, limits: &Limits) -> Result<(), &'static str> {
    match () {
        () if work.item != 8 => Err("of f64 only"),
        () if work.family != Family::FieldField => Err(NOT_FIELDS),
        () if !work.terms.are_packed() => Err(NOT_PACKED),
        () if !limits.ampere => Err("f64 tensor cores are of GPUs of capability 8.0 or later"),
        () => Ok(()),
    }
}

/// Tiles of tiles on tensor cores.
pub fn dmma_blocked(work: &Work, limits: &Limits) -> Result<Plan, &'static str> {
    not_for_tensor_cores(work, limits)?;
    let [cells, left, right] = work.sizes;
    // Warps of 32 x 32 outputs, up to 4 x 2 a block, two blocks a multiprocessor; where these are too few, 16 x 16 by 2 x 2.
    let [down, across] = [left.div_ceil(32).min(4), right.div_ceil(32).min(2)];
    let fills_device = cells * left.div_ceil(32 * down) * right.div_ceil(32 * across) >= 2 * limits.multiprocessors;
    let (tiles, down, across, chunk) = if fills_device { (4, down, across, 16) } else { (2, 2, 2, 24) };
    let (height, width) = (8 * tiles * down, 8 * tiles * across);
    let blocks_of_all = cells.saturating_mul(left.div_ceil(height)).saturating_mul(right.div_ceil(width));
    let chunk = work.terms.count().next_multiple_of(8).clamp(8, chunk);
    let depth = if down * across > 4 || !fills_device { 3 } else { 2 };
    let threads = WARP * down * across;
    let bytes = 8 * ((depth + 1) * (height + width) * chunk).max(height * (width + 4));
    Ok(plan(
        &CONTRACTION_DMMA_BLOCKED,
        "double",
        &[
            ("LEFT", left),
            ("RIGHT", right),
            ("TERMS", work.terms.count()),
            ("VECTOR", work.vector()),
            ("ROWS", tiles),
            ("COLUMNS", tiles),
            ("WARPS_DOWN", down),
            ("WARPS_ACROSS", across),
            ("CHUNK", chunk),
            ("DEPTH", depth),
            ("THREADS", threads),
            ("BLOCKS", if fills_device { (512 / threads).min(3) } else { 4 }),
        ],
        Grid::new(blocks_of_all, threads as u32).shared(bytes),
    ))
}

/// On tensor cores.
pub fn dmma(work: &Work, limits: &Limits) -> Result<Plan, &'static str> {
    not_for_tensor_cores(work, limits)?;
    let [cells, left, right] = work.sizes;
    let terms = work.terms.count();
    let vector = work.vector();
    // Up to 4 x 4 products of 8 x 8 a warp: 64 registers of sums.
    let (rows, columns) = (side(left.div_ceil(8), 4), side(right.div_ceil(8), 4));
    let tiles = left.div_ceil(8 * rows) * right.div_ceil(8 * columns);
    let Steps { split, is_ahead, unroll, threads, blocks } = steps(cells * tiles, [rows, columns], terms / 8, limits);
    Ok(plan(
        &CONTRACTION_DMMA,
        "double",
        &[
            ("LEFT", left),
            ("RIGHT", right),
            ("TERMS", terms),
            ("VECTOR", vector),
            ("ROWS", rows),
            ("COLUMNS", columns),
            // Always: without it compilers make other code of tiles that warps share.
            ("CELLS", 1),
            ("SPLIT", split),
            ("PAIRS", usize::from(work.pairs)),
            ("AHEAD", usize::from(is_ahead)),
            ("UNROLL", unroll),
            ("THREADS", threads),
            ("BLOCKS", blocks),
        ],
        Grid::cover(cells * tiles * split * WARP, threads as u32),
    ))
}

/// How the steps of eight terms of a tile are shared out and loaded.
struct Steps {
    /// Warps that share a tile.
    split: usize,
    is_ahead: bool,
    unroll: usize,
    threads: usize,
    blocks: usize,
}

/// Few steps are unrolled, so that their loads are in flight together, as far as registers hold them; many are shared out
/// among warps, four steps each, of which one is loaded ahead. `teams`: cells by tiles of `rows` x `columns` products of 8 x 8.
fn steps(teams: usize, [rows, columns]: [usize; 2], whole: usize, limits: &Limits) -> Steps {
    let size = rows * columns;
    let few =
        |is_ahead, unroll: usize, threads, blocks| Steps { split: 1, is_ahead, unroll: unroll.max(1), threads, blocks };
    match (size, whole) {
        (1, ..=12) => few(false, whole.min(4), 128, 8),
        (2..=4, ..=4) => few(false, whole, 128, 4),
        (5..=9, ..=4) => few(false, whole.min(2), 128, 4),
        (10.., ..=4) => few(true, whole, 128, 3),
        (10.., ..=12) => few(false, whole - 1, 64, 4),
        _ => {
            let most = if teams < 2 * limits.multiprocessors && size <= 4 { 16 } else { 8 };
            // Eight warps of large tiles leave no room for a second block.
            let most = if size > 9 { 4 } else { most };
            let split = power_of_two(whole / 4).min(most);
            let threads = 128.max(WARP * split);
            let unroll = if size == 1 { 2 } else { 1 };
            let blocks = blocks(threads, 32 + 4 * size + 8 * (rows + columns)).min(8);
            Steps { split, is_ahead: true, unroll, threads, blocks }
        }
    }
}
