//! Plans of `contraction_rows`.

use super::super::kernel_files::CONTRACTION_ROWS;
use super::super::plan::Plan;
use super::super::work::{WARP, Work};
use super::{NOT_PACKED, plan, real, side};
use crate::space::cuda::Grid;

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
    let few_outputs = outputs.saturating_mul(64) < FILLS && vectors > 4 * WARP;
    let group = if few_outputs {
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
        _ if few_outputs => (1, 0),
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
    let (threads, blocks) = if few_outputs { (group, 1024 / group) } else { (256, (256 / needed).clamp(3, 8)) };
    let grid = match () {
        () if few_outputs => Grid::new(outputs, threads as u32),
        () if right > 1 => Grid::cover(cells * left * right.div_ceil(batch) * group, threads as u32),
        () => Grid::cover(outputs.div_ceil(WARP / group * batch) * WARP, threads as u32),
    };
    Ok(plan(
        &CONTRACTION_ROWS,
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
