//! Launches of `contraction_rows`.

use super::{NOT_PACKED, side};
use crate::contraction::cuda::kernel_files::CONTRACTION_ROWS;
use crate::contraction::cuda::launch::{Launch, Refusal};
use crate::contraction::cuda::work::{WARP, Work};
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
