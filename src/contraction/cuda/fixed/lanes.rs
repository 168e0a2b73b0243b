//! Launches of `contraction_lanes`.

use super::side;
use crate::contraction::cuda::kernel_files::CONTRACTION_LANES;
use crate::contraction::cuda::launch::{Launch, tiled_warps};
use crate::contraction::cuda::work::{Limits, WARP, Work};
use crate::space::cuda::Grid;

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
    let is_staged = registers >= 72 && work.terms.count() >= 4 && 4 * stage <= limits.shared;
    // As many blocks of 128 threads as leave each thread registers for sums, operands, the next operands and addresses;
    // staged tiles do not hold the next operands in registers.
    let blocks = match registers {
        _ if is_staged => (512 / (registers + 8)).clamp(1, 5),
        ..=24 => 8,
        25..=48 => 5,
        49..=88 => 4,
        _ => 2,
    };
    let stages = if is_staged { ((160 << 10) / blocks / stage).clamp(3, 4) } else { 0 };
    let prefetches = is_large && !is_staged && registers <= 160;
    // Small tiles keep the loads of four terms in flight, large tiles those of one term.
    let unroll = if is_large { 1 } else { 4 };
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
