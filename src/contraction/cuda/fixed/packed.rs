//! Launches of `contraction_rows` and `contraction_staged`, for contiguous terms.

use super::{NOT_FIELDS, NOT_PACKED, blocks, power_of_two, side};
use crate::contraction::cuda::kernel_files::{CONTRACTION_ROWS, CONTRACTION_STAGED};
use crate::contraction::cuda::launch::{Launch, Refusal};
use crate::contraction::cuda::work::{Family, Limits, WARP, Work};
use crate::space::cuda::Grid;

/// About the number of threads that a large GPU holds at once.
const FILLS: usize = 1 << 18;

/// Groups of lanes share the terms of an output.
pub fn rows(work: &Work) -> Result<Launch, Refusal> {
    let [cells, left, right] = work.sizes;
    let terms = work.terms.count();
    if !work.terms.are_packed() {
        return Err(NOT_PACKED);
    }
    let vector = work.vector();
    let (vectors, outputs) = (terms / vector, cells * left * right);
    let registers = vector * work.item / 4;
    // Loads of a row in flight at once: up to 20 registers.
    let most = (20 / registers).clamp(1, 8);
    let few_outputs = outputs.saturating_mul(64) < FILLS && vectors > 4 * WARP;
    let group = if few_outputs {
        // One block per output, with all its vectors in flight; smaller blocks for more outputs.
        let mut threads = vectors.div_ceil(5).next_power_of_two().clamp(64, 1024);
        while threads > 64 && outputs * threads > FILLS {
            threads /= 2;
        }
        threads
    } else {
        // A group loads whole pieces of memory: 64 bytes if they divide the row, else 128 bytes, or a shorter row. Among the
        // groups that have a row in flight at once, choose the fewest idle lanes, then the smallest group.
        let piece = if (terms * work.item).is_multiple_of(64) { 64 } else { 128.min(terms * work.item) };
        let groups = || [1, 2, 4, 8, 16, 32].into_iter().filter(|n| n * vector * work.item >= piece || *n == WARP);
        let whole = groups().filter(|n| vectors.div_ceil(*n) <= most);
        whole.min_by_key(|n| (vectors.next_multiple_of(*n), *n)).unwrap_or(WARP)
    };
    let flight = vectors.div_ceil(group).min(most);
    let row = flight * registers;
    let (batch, needed) = match right {
        _ if few_outputs => (1, 0),
        // Registers for two operands, sums and two pointers.
        1 => {
            let batch = (16 / row).clamp(1, 8);
            (batch, batch * (2 * row + work.item / 4 + 4) + 16)
        }
        _ => {
            let batch = side(right, (28 / row).clamp(1, 9));
            (batch, (batch + 1) * row + batch * work.item / 4 + 20)
        }
    };
    let (threads, blocks) = if few_outputs { (group, 1024 / group) } else { (256, (256 / needed).clamp(3, 8)) };
    let grid = match () {
        () if few_outputs => Grid::new(outputs, threads as u32),
        () if right > 1 => Grid::cover(cells * left * right.div_ceil(batch) * group, threads as u32),
        () => Grid::cover(outputs.div_ceil(WARP / group * batch) * WARP, threads as u32),
    };
    Ok(Launch::specialised(
        &CONTRACTION_ROWS,
        work,
        &[
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

/// Returns the side of a thread's tile for cells with few fields.
fn small_side(extent: usize) -> usize {
    side(extent, if extent <= 16 && extent.is_multiple_of(4) { 4 } else { 8 })
}

/// A block copies cells to shared memory. With `is_split`, groups of threads share the terms of a cell.
pub fn staged(work: &Work, limits: &Limits, is_split: bool) -> Result<Launch, Refusal> {
    let [cells, left, right] = work.sizes;
    let terms = work.terms.count();
    match () {
        () if work.family != Family::FieldField => return Err(NOT_FIELDS),
        () if !work.terms.are_packed() => return Err(NOT_PACKED),
        () if !limits.ampere => return Err("asynchronous copies are of GPUs of capability 8.0 or later"),
        () => {}
    }
    let (rows, columns) = (small_side(left), small_side(right));
    let tiles = left.div_ceil(rows) * right.div_ceil(columns);
    if tiles > 512 {
        return Err("a block has not enough threads for a cell");
    }
    let (vector, line) = (work.vector(), 16 / work.item);
    let store = if work.is_output_line && (left * right).is_multiple_of(line) { line } else { 1 };
    // With few cells, each cell gets more threads.
    let threads = if cells < 2 * limits.multiprocessors { 256 } else { 128 };
    // Each group writes its sums to shared memory: allow at most two thirds of the operands' traffic, and at least two
    // vectors per group.
    let groups = if is_split {
        let most = (2 * (left + right) * terms / (3 * left * right)).min(terms / vector / 2).min(threads / tiles);
        power_of_two(most)
    } else {
        1
    };
    // Shared memory of a cell with `chunk` terms; its sums reuse it afterwards.
    let of_cell = |chunk: usize, is_flat: bool| {
        let pitch = chunk.div_ceil(vector) | 1;
        let items = |fields: usize| match is_flat {
            true => (fields * terms + 2 * line) / line * line,
            false => ((fields * pitch) | 1) * vector,
        };
        (items(left.div_ceil(rows) * rows) + items(right.div_ceil(columns) * columns)).saturating_mul(work.item)
    };
    let of_sums = (left * right + tiles.next_multiple_of(store)) * groups * work.item;
    // All terms at once if four blocks then fit into shared memory; else two chunks at a time, in whole vectors per group.
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
    // Cells per block: up to 128 threads, six blocks in shared memory, and two blocks per multiprocessor.
    let together = (128 / (tiles * groups)).min(limits.shared / 6 / bytes).min(cells / (2 * limits.multiprocessors));
    let together = power_of_two(together);
    let unroll = if stages > 1 || rows * columns > 16 { 1 } else { 2 };
    let threads = tiles * groups * together;
    let registers = 40 + (rows * columns + (rows + columns) * vector) * work.item / 4;
    Ok(Launch::specialised(
        &CONTRACTION_STAGED,
        work,
        &[
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
