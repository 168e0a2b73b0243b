//! Launches of `contraction_staged`.

use super::{NOT_FIELDS, NOT_PACKED, blocks, power_of_two, side};
use crate::contraction::cuda::kernel_files::CONTRACTION_STAGED;
use crate::contraction::cuda::launch::{Launch, Refusal};
use crate::contraction::cuda::work::{Family, Limits, Work};
use crate::space::cuda::Grid;

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
