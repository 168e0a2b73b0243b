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

/// The side of a thread's tile of small cells.
fn small_side(extent: usize) -> usize {
    side(extent, if extent <= 16 && extent.is_multiple_of(4) { 4 } else { 8 })
}

/// The largest power of two that is not above `n`, 1 at least.
fn power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

/// Blocks of so many threads that a multiprocessor's registers hold, up to 16.
fn blocks(threads: usize, registers: usize) -> usize {
    (65_536 / (threads * registers).max(1)).clamp(1, 16)
}

/// Cells in shared memory; `is_split`: their terms shared out among groups of threads.
pub fn staged(work: &Work, limits: &Limits, is_split: bool) -> Result<Plan, &'static str> {
    let [cells, left, right] = work.sizes;
    let terms = work.terms.count();
    match () {
        () if work.family != Family::FieldField => return Err(NOT_FIELDS),
        () if !work.terms.are_packed() => return Err(NOT_PACKED),
        () => {}
    }
    let (rows, columns) = (small_side(left), small_side(right));
    let tiles = left.div_ceil(rows) * right.div_ceil(columns);
    if tiles > 512 {
        return Err("a block has not enough threads for a cell");
    }
    let (vector, line) = (work.vector(), 16 / work.item);
    let store = if work.is_output_line && (left * right).is_multiple_of(line) { line } else { 1 };
    // Few cells have more threads each.
    let threads = if cells < 2 * limits.multiprocessors { 256 } else { 128 };
    // Groups cost memory traffic for their sums: at most two thirds of what the operands cost. Each has two vectors.
    let groups = if is_split {
        let most = (2 * (left + right) * terms / (3 * left * right)).min(terms / vector / 2).min(threads / tiles);
        power_of_two(most)
    } else {
        1
    };
    // Bytes of a cell with `chunk` terms, and what its sums take afterwards.
    let of_cell = |chunk: usize, is_flat: bool| {
        let pitch = chunk.div_ceil(vector) | 1;
        let items = |fields: usize| match is_flat {
            true => (fields * terms + 2 * line) / line * line,
            false => ((fields * pitch) | 1) * vector,
        };
        (items(left.div_ceil(rows) * rows) + items(right.div_ceil(columns) * columns)).saturating_mul(work.item)
    };
    let of_sums = (left * right + tiles.next_multiple_of(store)) * groups * work.item;
    // All terms at once where four blocks fit; else parts of which two are there, in whole vectors for each group.
    let is_whole = |is_flat| of_cell(terms, is_flat) <= limits.shared / 4;
    let is_flat = vector == 1 && work.is_line && is_whole(true);
    let chunk = if is_flat || is_whole(false) {
        terms
    } else {
        let most = limits.shared / 6 / (2 * (left + right) * work.item);
        (most / (groups * vector) * (groups * vector)).max(groups * vector)
    };
    let stages = if chunk < terms { 2 } else { 1 };
    let bytes = (stages * of_cell(chunk, is_flat)).max(of_sums);
    if bytes > limits.shared {
        return Err("a block does not hold a cell");
    }
    // Blocks of up to 128 threads, of which shared memory holds six, and two for each multiprocessor.
    let together = (128 / (tiles * groups)).min(limits.shared / 6 / bytes).min(cells / (2 * limits.multiprocessors));
    let together = power_of_two(together);
    let unroll = if stages > 1 || rows * columns > 16 { 1 } else { 2 };
    let threads = tiles * groups * together;
    let registers = 40 + (rows * columns + (rows + columns) * vector) * work.item / 4;
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
            ("GROUPS", groups),
            ("CHUNK", chunk),
            ("FLAT", usize::from(is_flat)),
            ("STORE", store),
            ("UNROLL", unroll),
            ("THREADS", threads),
            ("BLOCKS", blocks(threads, registers)),
        ],
        Grid::new(cells.div_ceil(together), threads as u32).shared(bytes * together),
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

/// Why a contraction is not for f64 tensor cores.
fn not_for_tensor_cores(work: &Work, limits: &Limits) -> Result<(), &'static str> {
    match () {
        () if work.item != 8 => Err("of f64 only"),
        () if work.family != Family::FieldField => Err(NOT_FIELDS),
        () if !work.terms.are_packed() => Err(NOT_PACKED),
        () if !limits.dmma => Err("the device has no f64 tensor cores"),
        () => Ok(()),
    }
}

/// Tiles of tiles on tensor cores.
pub fn dmma_blocked(work: &Work, limits: &Limits) -> Result<Plan, &'static str> {
    not_for_tensor_cores(work, limits)?;
    let [cells, left, right] = work.sizes;
    // Warps of 32 x 32 outputs, up to 4 x 2 a block, two blocks a multiprocessor; where these are too few, 16 x 16 by 2 x 2.
    let [down, across] = [left.div_ceil(32).min(4), right.div_ceil(32).min(2)];
    let is_much = cells * left.div_ceil(32 * down) * right.div_ceil(32 * across) >= 2 * limits.multiprocessors;
    let (tiles, down, across, chunk) = if is_much { (4, down, across, 16) } else { (2, 2, 2, 24) };
    let (height, width) = (8 * tiles * down, 8 * tiles * across);
    let blocks_of_all = cells.saturating_mul(left.div_ceil(height)).saturating_mul(right.div_ceil(width));
    if blocks_of_all > i32::MAX as usize {
        return Err("more tiles than a grid has blocks");
    }
    let chunk = work.terms.count().next_multiple_of(8).clamp(8, chunk);
    let depth = if down * across > 4 || !is_much { 3 } else { 2 };
    let threads = WARP * down * across;
    let bytes = 8 * ((depth + 1) * (height + width) * chunk).max(height * (width + 4));
    Ok(plan(
        "contraction_dmma_blocked",
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
            ("BLOCKS", if is_much { (512 / threads).min(3) } else { 4 }),
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
    let steps = terms.div_ceil(8).max(1);
    // Warps that share a tile have four steps each; a few tiles are shared by more.
    let most = if cells * tiles < 2 * limits.multiprocessors && rows * columns <= 4 { 16 } else { 8 };
    let split = power_of_two(steps / 4).min(most);
    let is_ahead = steps / split > 1 && (rows * columns > 1 || split > 1);
    // Small tiles have the loads of four steps in flight.
    let unroll = match rows * columns {
        1 if is_ahead => 2,
        1 => steps.min(4),
        _ => 1,
    };
    let threads = 128.max(WARP * split);
    let registers = 32 + 4 * rows * columns + 8 * (rows + columns);
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
            ("CELLS", 1),
            ("SPLIT", split),
            ("PAIRS", usize::from(work.pairs)),
            ("AHEAD", usize::from(is_ahead)),
            ("UNROLL", unroll),
            ("THREADS", threads),
            ("BLOCKS", blocks(threads, registers).min(8)),
        ],
        Grid::cover(cells * tiles * split * WARP, threads as u32),
    ))
}
