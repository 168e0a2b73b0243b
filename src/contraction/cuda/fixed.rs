//! Kernels compiled for the sizes of one contraction: what the compiler is told, by the sizes and the place of the numbers.
//!
//! | kernel file | for | a thread has |
//! |---|---|---|
//! | `contraction_lanes` | cells side by side; right for any strides | a tile of a cell's outputs |
//! | `contraction_rows` | terms side by side | a part of some outputs' terms |
//! | `contraction_staged` | small cells of fields, terms side by side | a tile of a cell's outputs, from shared memory |
//! | `contraction_blocked` | many fields, any strides | a tile of a block's tile, operands in shared memory |
//! | `contraction_dmma` | fields in f64, terms side by side | its share of 8 x 8 products on tensor cores |

use super::plan::{Plan, tiled_warps};
use super::work::{Family, Limits, WARP, Work};
use crate::space::cuda::Grid;
use std::fmt::Write;

const NOT_PACKED: &str = "the terms of an operand are not side by side in memory";
const NOT_FIELDS: &str = "of field_field only";

fn real(work: &Work) -> &'static str {
    if work.item == 8 { "double" } else { "float" }
}

fn plan(file: &'static str, real: &str, values: &[(&str, usize)], grid: Grid) -> Plan {
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
        "contraction_lanes",
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

/// Threads, about, that a large GPU holds at once.
const FILLS: usize = 1 << 18;

/// Terms in lanes.
pub fn rows(work: &Work) -> Result<Plan, &'static str> {
    let [cells, left, right] = work.sizes;
    let terms = work.terms.count();
    if !work.terms.are_packed() {
        return Err(NOT_PACKED);
    }
    let vector = work.vector();
    let (vectors, outputs) = (terms / vector, cells * left * right);
    let registers = vector * work.item / 4;
    // Steps of a row in flight at once: 20 registers of it.
    let most = (20 / registers).clamp(1, 8);
    let is_few = outputs.saturating_mul(64) < FILLS && vectors > 4 * WARP;
    let group = if is_few {
        // A block an output, with all its vectors in flight; smaller blocks where there are more.
        let mut threads = vectors.div_ceil(5).next_power_of_two().clamp(64, 1024);
        while threads > 64 && outputs * threads > FILLS {
            threads /= 2;
        }
        threads
    } else {
        // Whole pieces of memory: 64 bytes where rows are made of such, else 128, or the row. Of the groups that have a row
        // in flight the one with the fewest idle lanes, and then the smallest.
        let piece = if (terms * work.item).is_multiple_of(64) { 64 } else { 128.min(terms * work.item) };
        let groups = || [1, 2, 4, 8, 16, 32].into_iter().filter(|n| n * vector * work.item >= piece || *n == WARP);
        let whole = groups().filter(|n| vectors.div_ceil(*n) <= most);
        whole.min_by_key(|n| (vectors.next_multiple_of(*n), *n)).unwrap_or(WARP)
    };
    let flight = vectors.div_ceil(group).min(most);
    let row = flight * registers;
    let (batch, needed) = match right {
        _ if is_few => (1, 0),
        // Two operands, sums, two pointers.
        1 => {
            let batch = (16 / row).clamp(1, 8);
            (batch, batch * (2 * row + work.item / 4 + 4) + 16)
        }
        _ => {
            let batch = side(right, (28 / row).clamp(1, 9));
            (batch, (batch + 1) * row + batch * work.item / 4 + 20)
        }
    };
    let (threads, blocks) = if is_few { (group, 1024 / group) } else { (256, (256 / needed).clamp(3, 8)) };
    let grid = match () {
        () if is_few => Grid::new(outputs, threads as u32),
        () if right > 1 => Grid::cover(cells * left * right.div_ceil(batch) * group, threads as u32),
        () => Grid::cover(outputs.div_ceil(WARP / group * batch) * WARP, threads as u32),
    };
    Ok(plan(
        "contraction_rows",
        real(work),
        &[
            ("LEFT", left),
            ("RIGHT", right),
            ("TERMS", terms),
            ("VECTOR", vector),
            ("GROUP", group),
            ("BATCH", batch),
            ("FLIGHT", flight),
            ("THREADS", threads),
            ("BLOCKS", blocks),
        ],
        grid,
    ))
}

/// Cells in shared memory.
pub fn staged(work: &Work, limits: &Limits) -> Result<Plan, &'static str> {
    let [cells, left, right] = work.sizes;
    let terms = work.terms.count();
    match () {
        () if work.family != Family::FieldField => return Err(NOT_FIELDS),
        () if !work.terms.are_packed() => return Err(NOT_PACKED),
        () => {}
    }
    let vector = work.vector();
    let pitch = ((terms / vector) | 1) * vector;
    let (rows, columns) = (side(left, 4), side(right, 4));
    let threads = left.div_ceil(rows) * right.div_ceil(columns);
    let bytes = (left + right).saturating_mul(pitch).saturating_mul(work.item);
    if bytes > limits.shared || threads > 512 {
        return Err("a block does not hold a cell");
    }
    // Blocks of up to 128 threads, and so much shared memory that a multiprocessor has four.
    let together = (128 / threads).min((limits.shared / 4) / bytes.max(1)).max(1);
    let unroll = if vector > 1 { 2 } else { 4 };
    let blocks = if threads * together > 256 { 2 } else { 4 };
    Ok(plan(
        "contraction_staged",
        real(work),
        &[
            ("LEFT", left),
            ("RIGHT", right),
            ("TERMS", terms),
            ("VECTOR", vector),
            ("ROWS", rows),
            ("COLUMNS", columns),
            ("CELLS", together),
            ("UNROLL", unroll),
            ("THREADS", threads * together),
            ("BLOCKS", blocks),
        ],
        Grid::new(cells.div_ceil(together), (threads * together) as u32).shared(bytes * together),
    ))
}

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
    if grid > i32::MAX as usize {
        return Err("more tiles than a grid has blocks");
    }
    // Sums, a term of both operands, a thread's share of the next slab of 8 terms, addresses.
    let loads = (across * rows * 8).div_ceil(threads) + (across * columns * 8).div_ceil(threads);
    let registers = (rows * columns + rows + columns + loads) * work.item / 4 + 40;
    let blocks = (65536 / (threads * registers)).clamp(1, 1024 / threads);
    // Warps are shared out among four schedulers.
    let blocks = if threads == 64 { (blocks / 2 * 2).max(2) } else { blocks };
    Ok(plan(
        "contraction_blocked",
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

/// On tensor cores.
pub fn dmma(work: &Work, limits: &Limits) -> Result<Plan, &'static str> {
    let [cells, left, right] = work.sizes;
    let terms = work.terms.count();
    match () {
        () if work.item != 8 => return Err("of f64 only"),
        () if work.family != Family::FieldField => return Err(NOT_FIELDS),
        () if !work.terms.are_packed() => return Err(NOT_PACKED),
        () if !limits.dmma => return Err("the device has no f64 tensor cores"),
        () => {}
    }
    let vector = work.vector();
    // Up to 4 x 4 products of 8 x 8 a warp: 64 registers of sums.
    let (rows, columns) = (side(left.div_ceil(8), 4), side(right.div_ceil(8), 4));
    let tiles = left.div_ceil(8 * rows) * right.div_ceil(8 * columns);
    let steps = terms.div_ceil(4 * vector).max(1);
    // Some 8 vectors of 16 bytes in flight a lane.
    let flight = (rows + columns) * vector.div_ceil(2);
    let together = (8 / (flight * steps.min(4))).clamp(1, 4);
    let unroll = (8 / (flight * together)).clamp(1, steps);
    let blocks = if rows * columns * together <= 4 { 8 } else { 3 };
    let warps = cells.div_ceil(together) * tiles;
    Ok(plan(
        "contraction_dmma",
        "double",
        &[
            ("LEFT", left),
            ("RIGHT", right),
            ("TERMS", terms),
            ("VECTOR", vector),
            ("ROWS", rows),
            ("COLUMNS", columns),
            ("CELLS", together),
            ("PAIRS", usize::from(work.pairs)),
            ("UNROLL", unroll),
            ("THREADS", 128),
            ("BLOCKS", blocks),
        ],
        Grid::cover(warps * WARP, 128),
    ))
}
