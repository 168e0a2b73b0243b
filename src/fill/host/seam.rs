//! Rows that more than one block of elements touches: blocks claim rows, and a row that another block has claimed is on a
//! seam.
//!
//! `tests/models` compiles this file with the atomics of a model checker, so it uses no others than those of
//! [`space::atomic`](crate::space::atomic).

use crate::space::atomic::{AtomicU8, AtomicU32};
use std::sync::atomic::Ordering::Relaxed;

/// Claims a row for block `mine` (from 1), or sets `seam` if already claimed.
#[inline(always)]
pub(super) fn claim_row(claim: &AtomicU32, seam: &AtomicU8, mine: u32) {
    // Most rows are claimed already, so a load avoids most of the compare-and-swaps.
    let first = match claim.load(Relaxed) {
        0 => claim.compare_exchange(0, mine, Relaxed, Relaxed).err().unwrap_or(mine),
        first => first,
    };
    if first != mine {
        seam.store(1, Relaxed);
    }
}
