//! Plans of `contraction_lanes`.

use super::super::kernel_files::CONTRACTION_LANES;
use super::super::plan::{Plan, tiled_warps};
use super::super::work::{Limits, WARP, Work};
use super::{plan, real, side};
use crate::space::cuda::Grid;

/// Cells in lanes.
pub fn lanes(work: &Work, limits: &Limits) -> Plan {
    let [_, left, right] = work.sizes;
    let [outer, middle, inner] = work.terms.extents;
    // 9 x 9 sums of f64 leave room for the operands of one term, 8 x 8 for those of two.
    let most = if left.max(right) <= 8 { 8 } else { 9 };
    let (rows, columns) = (side(left, most), side(right, most));
    let registers = (rows * columns + rows + columns) * work.item / 4;
    let is_large = rows * columns > 16;
    // Large tiles: three or four terms of operands a thread in shared memory.
    let stage = (rows + columns) * 128 * work.item;
    let is_staged = registers >= 72 && work.terms.count() >= 4 && 4 * stage <= limits.shared;
    // As many blocks of 128 as leave a thread registers for sums, operands, the next operands and addresses; staged ones
    // need no next operands.
    let blocks = match registers {
        _ if is_staged => (512 / (registers + 8)).clamp(1, 5),
        ..=24 => 8,
        25..=48 => 5,
        49..=88 => 4,
        _ => 2,
    };
    let stages = if is_staged { ((160 << 10) / blocks / stage).clamp(3, 4) } else { 0 };
    let is_ahead = is_large && !is_staged && registers <= 160;
    // Small tiles have the loads of four terms in flight, large ones those of one term.
    let unroll = if is_large { 1 } else { 4 };
    plan(
        &CONTRACTION_LANES,
        real(work),
        &[
            ("LEFT", left),
            ("RIGHT", right),
            ("OUTER", outer),
            ("MIDDLE", middle),
            ("INNER", inner),
            ("ROWS", rows),
            ("COLUMNS", columns),
            ("AHEAD", usize::from(is_ahead)),
            ("STAGES", stages),
            ("UNROLL", unroll),
            ("THREADS", 128),
            ("BLOCKS", blocks),
        ],
        Grid::cover(tiled_warps(work, rows, columns) * WARP, 128).shared(stages * stage),
    )
}
