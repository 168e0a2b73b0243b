//! Launches of `contraction_dmma` and `contraction_dmma_blocked`, on f64 tensor cores.

use super::{NOT_FIELDS, NOT_PACKED, blocks, power_of_two, side};
use crate::contraction::cuda::kernel_files::{CONTRACTION_DMMA, CONTRACTION_DMMA_BLOCKED};
use crate::contraction::cuda::launch::{Launch, Refusal};
use crate::contraction::cuda::work::{Family, Limits, WARP, Work};
use crate::space::cuda::Grid;

/// Refuses a contraction that f64 tensor cores cannot compute.
fn not_for_tensor_cores(work: &Work, limits: &Limits) -> Result<(), Refusal> {
    match () {
        () if work.item != 8 => Err("of f64 only"),
        () if work.family != Family::FieldField => Err(NOT_FIELDS),
        () if !work.terms.are_packed() => Err(NOT_PACKED),
        () if !limits.ampere => Err("f64 tensor cores are of GPUs of capability 8.0 or later"),
        () => Ok(()),
    }
}

/// A block computes a tile of warps' tiles, with the operands in shared memory.
pub fn dmma_blocked(work: &Work, limits: &Limits) -> Result<Launch, Refusal> {
    not_for_tensor_cores(work, limits)?;
    let [cells, left, right] = work.sizes;
    // 32 x 32 outputs per warp, up to 4 x 2 warps per block, two blocks per multiprocessor. If these blocks do not fill the
    // GPU: 16 x 16 outputs per warp, 2 x 2 warps per block.
    let [down, across] = [left.div_ceil(32).min(4), right.div_ceil(32).min(2)];
    let fills_device = cells * left.div_ceil(32 * down) * right.div_ceil(32 * across) >= 2 * limits.multiprocessors;
    let (tiles, down, across, chunk) = if fills_device { (4, down, across, 16) } else { (2, 2, 2, 24) };
    let (height, width) = (8 * tiles * down, 8 * tiles * across);
    let blocks_of_all = cells.saturating_mul(left.div_ceil(height)).saturating_mul(right.div_ceil(width));
    let chunk = work.terms.count().next_multiple_of(8).clamp(8, chunk);
    let depth = if down * across > 4 || !fills_device { 3 } else { 2 };
    let threads = WARP * down * across;
    let bytes = 8 * ((depth + 1) * (height + width) * chunk).max(height * (width + 4));
    Ok(Launch::specialised(
        &CONTRACTION_DMMA_BLOCKED,
        work,
        &[
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

/// Computes tiles of up to 32 x 32 outputs by one or more warps, from global memory.
pub fn dmma(work: &Work, limits: &Limits) -> Result<Launch, Refusal> {
    not_for_tensor_cores(work, limits)?;
    let [cells, left, right] = work.sizes;
    let terms = work.terms.count();
    let vector = work.vector();
    // Up to 4 x 4 products of 8 x 8 per warp: 64 registers of sums.
    let (rows, columns) = (side(left.div_ceil(8), 4), side(right.div_ceil(8), 4));
    let tiles = left.div_ceil(8 * rows) * right.div_ceil(8 * columns);
    let Steps { split, prefetches, unroll, threads, blocks } = steps(cells * tiles, [rows, columns], terms / 8, limits);
    Ok(Launch::specialised(
        &CONTRACTION_DMMA,
        work,
        &[
            ("TERMS", terms),
            ("VECTOR", vector),
            ("ROWS", rows),
            ("COLUMNS", columns),
            // Always defined: without it compilers generate other code for tiles that warps share.
            ("SPLIT", split),
            ("PAIRS", usize::from(work.pairs)),
            ("PREFETCH", usize::from(prefetches)),
            ("UNROLL", unroll),
            ("THREADS", threads),
            ("BLOCKS", blocks),
        ],
        Grid::cover(cells * tiles * split * WARP, threads as u32),
    ))
}

/// How the steps of eight terms of a tile are shared among warps and loaded.
struct Steps {
    /// Warps per tile.
    split: usize,
    /// Whether the operands of the next step are loaded during a step.
    prefetches: bool,
    /// Steps that are unrolled.
    unroll: usize,
    threads: usize,
    blocks: usize,
}

/// Chooses unrolling and sharing. A few steps are unrolled as far as registers hold their loads, which are then in flight
/// together. Many steps are shared among warps, four steps each, with one step prefetched. `teams` is the number of cells times
/// tiles of `rows` x `columns` products of 8 x 8; `whole` is the number of whole steps.
fn steps(teams: usize, [rows, columns]: [usize; 2], whole: usize, limits: &Limits) -> Steps {
    let size = rows * columns;
    let few = |prefetches, unroll: usize, threads, blocks| Steps {
        split: 1,
        prefetches,
        unroll: unroll.max(1),
        threads,
        blocks,
    };
    match (size, whole) {
        (1, ..=12) => few(false, whole.min(4), 128, 8),
        (2..=4, ..=4) => few(false, whole, 128, 4),
        (5..=9, ..=4) => few(false, whole.min(2), 128, 4),
        (10.., ..=4) => few(true, whole, 128, 3),
        (10.., ..=12) => few(false, whole - 1, 64, 4),
        _ => {
            let most = if teams < 2 * limits.multiprocessors && size <= 4 { 16 } else { 8 };
            // With large tiles, the registers of eight warps would leave no room for a second block.
            let most = if size > 9 { 4 } else { most };
            let split = power_of_two(whole / 4).min(most);
            let threads = 128.max(WARP * split);
            let unroll = if size == 1 { 2 } else { 1 };
            let blocks = blocks(threads, 32 + 4 * size + 8 * (rows + columns)).min(8);
            Steps { split, prefetches: true, unroll, threads, blocks }
        }
    }
}
